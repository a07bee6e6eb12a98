// The order of ready operations beyond their place: the quality of service of the queue, and inside
// a queue the level. Levels of different queues are not comparable (S50).

import OpClusterModel

/// Higher ones go first, also among the operations that one worker holds (S47, S60).
struct Rank: Hashable, Sendable {
  let service: Int
  let queue: UInt32
  let level: Int
  static let services = QualityOfService.allCases.count

  init(_ service: QualityOfService, queue: UInt32, level: Int) {
    (self.service, self.queue, self.level) = (Int(service.rawValue), queue, level)
  }

  /// The rank of a service without a queue: above all lower services, and above nothing else.
  init(_ service: QualityOfService) {
    self.init(service, queue: .max, level: 0)
  }
}

/// Counts by rank. The memory is proportional to the number of queues among them.
struct RankCounts: Equatable, Sendable {
  private var byService: [UInt32] = []
  private var byLevel: [UInt32: [UInt32]] = [:]
  /// Of all queues.
  private var levels: [UInt32] = []

  mutating func add(_ rank: Rank) {
    if byService.isEmpty {
      byService = Array(repeating: 0, count: Rank.services)
      levels = Array(repeating: 0, count: Line.levelCount)
    }
    byService[rank.service] += 1
    levels[rank.level] += 1
    byLevel[rank.queue, default: Array(repeating: 0, count: Line.levelCount)][rank.level] += 1
  }

  mutating func remove(_ rank: Rank) {
    byService[rank.service] -= 1
    levels[rank.level] -= 1
    byLevel[rank.queue]?[rank.level] -= 1
    if byLevel[rank.queue]?.allSatisfy({ $0 == 0 }) == true { byLevel[rank.queue] = nil }
    if byLevel.isEmpty { (byService, levels) = ([], []) }
  }

  var isEmpty: Bool { byLevel.isEmpty }

  /// The lowest level of an entry of any queue; the highest number if there is none.
  var lowestLevel: UInt8 { levels.firstIndex { $0 > 0 }.map { UInt8($0) } ?? .max }

  /// Counts the entries of a queue under another service.
  mutating func move(
    queue: UInt32, from before: QualityOfService, to service: QualityOfService
  ) {
    guard let levels = byLevel[queue] else { return }
    let count = levels.reduce(0, +)
    byService[Int(before.rawValue)] -= count
    byService[Int(service.rawValue)] += count
  }

  /// The number of entries after a rank: of lower services, and of lower levels of its own queue.
  func count(below rank: Rank) -> UInt32 {
    if byService.isEmpty { return 0 }
    var count: UInt32 = 0
    for service in 0..<rank.service { count += byService[service] }
    if let levels = byLevel[rank.queue] {
      for level in 0..<rank.level { count += levels[level] }
    }
    return count
  }
}
