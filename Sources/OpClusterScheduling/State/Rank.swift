// The order of ready operations beyond their place: the quality of service of the queue, and inside
// a queue the level. Levels of different queues are not comparable (S50).

import OpClusterModel

/// Higher ones go first, also among the operations that one worker was given (S47, S60).
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

/// Counts by rank. The memory is proportional to the number of queues among them; of one queue they
/// allocate nothing.
struct RankCounts: Equatable, Sendable {
  private var byService = SIMD8<UInt32>()
  /// Of all queues.
  private var byLevel = SIMD8<UInt32>()
  /// The levels of one queue,
  private var queue: UInt32 = 0
  private var levels = SIMD8<UInt32>()
  /// and of the others. Looked up, never iterated.
  private var others: [UInt32: SIMD8<UInt32>] = [:]

  mutating func add(_ rank: Rank) {
    byService[rank.service] += 1
    byLevel[rank.level] += 1
    if levels == .zero, others.isEmpty { queue = rank.queue }
    if queue == rank.queue {
      levels[rank.level] += 1
    } else {
      others[rank.queue, default: .zero][rank.level] += 1
    }
  }

  mutating func remove(_ rank: Rank) {
    byService[rank.service] -= 1
    byLevel[rank.level] -= 1
    if queue == rank.queue {
      levels[rank.level] -= 1
    } else {
      others[rank.queue]?[rank.level] -= 1
      if others[rank.queue] == .zero { others[rank.queue] = nil }
    }
  }

  @inline(__always)
  var isEmpty: Bool { byLevel == .zero }

  /// The lowest level of an entry of any queue; the highest number if there is none.
  @inline(__always)
  var lowestLevel: UInt8 {
    for level in 0..<Line.levelCount where byLevel[level] > 0 { return UInt8(level) }
    return .max
  }

  /// The lowest service of an entry; the highest number if there is none.
  @inline(__always)
  var lowestService: UInt8 {
    for service in 0..<Rank.services where byService[service] > 0 { return UInt8(service) }
    return .max
  }

  private func levels(of queue: UInt32) -> SIMD8<UInt32> {
    if queue == self.queue { return levels }
    return others.isEmpty ? .zero : others[queue] ?? .zero
  }

  /// Counts the entries of a queue under another service.
  mutating func move(
    queue: UInt32, from before: QualityOfService, to service: QualityOfService
  ) {
    let count = levels(of: queue).wrappedSum()
    byService[Int(before.rawValue)] -= count
    byService[Int(service.rawValue)] += count
  }

  /// The number of entries after a rank: of lower services, and of lower levels of its own queue.
  func count(below rank: Rank) -> UInt32 {
    if isEmpty { return 0 }
    var count: UInt32 = 0
    for service in 0..<rank.service { count += byService[service] }
    if rank.level == 0 { return count }
    let levels = levels(of: rank.queue)
    for level in 0..<rank.level { count += levels[level] }
    return count
  }

  static func == (one: RankCounts, other: RankCounts) -> Bool {
    one.byService == other.byService && one.byLevel == other.byLevel && one.queues == other.queues
  }

  /// The levels by queue, wherever they are kept.
  private var queues: [UInt32: SIMD8<UInt32>] {
    var queues = others
    if levels != .zero { queues[queue] = levels }
    return queues
  }
}
