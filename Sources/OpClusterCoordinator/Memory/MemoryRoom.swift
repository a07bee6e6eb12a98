// Decides whether the available memory has room for another graph (G29): by the expected use of
// unfinished graphs, and as a second brake by the use of the process. Pure; on the loop's thread.

import OpClusterModel

struct MemoryRoom {
  /// The approximate memory of a living graph, measured at full size (row G29-MEMORY), including
  /// temporary use for acceptance, hand-over and snapshots.
  enum Cost {
    static let template = 1_536
    static let operation = 96
    /// Per byte of its message: in its templates, and again while workers are told.
    static let messageByte = 2
    /// The use of the process besides graphs.
    static let process = 48 << 20
  }

  private let bound: MemoryBound?
  private var costs: [GraphID: Int] = [:]
  /// The sum over all living graphs.
  private(set) var cost = 0
  private(set) var use: MemoryUse?
  private var lastTrim: Instant?

  /// - Parameter bound: nil if the available memory is unknown.
  init(_ bound: MemoryBound?) { self.bound = bound }

  /// The memory for all graphs together.
  private var costBound: Int? {
    bound.map { max(Cost.template, Int(clamping: $0.resident / 10 * 6) - Cost.process) }
  }

  /// The bytes of messages that may wait to be heard.
  var waitingBytes: Int {
    min(Limits.waitingBytes, bound.map { Int(clamping: $0.resident / 8) } ?? .max)
  }

  // MARK: - Graphs

  /// The expected memory of a graph. The decoder has limited the numbers; saturates.
  static func cost(templates: Int, operations: Int, bytes: Int) -> Int {
    let most = 1 << 50
    var sum = 0
    for (count, each) in [
      (templates, Cost.template), (operations, Cost.operation), (bytes, Cost.messageByte),
    ] {
      let (product, overflow) = max(count, 0).multipliedReportingOverflow(by: each)
      if overflow { return most }
      sum = min(sum + min(product, most), most)
    }
    return sum
  }

  mutating func began(_ graph: GraphID, cost: Int) {
    guard bound != nil, costs[graph] == nil else { return }
    costs[graph] = cost
    self.cost += cost
  }

  mutating func ended(_ graph: GraphID) {
    if let cost = costs.removeValue(forKey: graph) { self.cost -= cost }
  }

  /// The refusal of a graph of this cost; nil if there is room.
  ///
  /// - Parameter taken: The cost of admitted graphs that have not begun.
  func lackOfRoom(for wanted: Int, beside taken: Int = 0) -> Refusal? {
    guard let bound, let most = costBound else { return nil }
    if wanted > most {
      return Refusal(
        .limitExceeded,
        "the graph needs about \(wanted >> 20) MiB of memory; the coordinator may have "
          + "\(bound.resident >> 20) MiB, of which graphs may take \(most >> 20)",
        hint: "give the coordinator more memory, or submit the graph in parts")
    }
    let cost = cost + taken
    // Without living graphs waiting would not help: a small graph is accepted.
    if isTight, cost > 0 || wanted > most / 8 {
      return Self.noRoom(
        "the coordinator takes \((use?.resident ?? 0) >> 20) MiB of the \(bound.resident >> 20) "
          + "MiB of memory that it may have")
    }
    guard cost > 0, cost + wanted > most else { return nil }
    return Self.noRoom(
      "operations that have not ended take about \(cost >> 20) MiB; with \(wanted >> 20) MiB more "
        + "they would have over \(most >> 20), and the coordinator may have "
        + "\(bound.resident >> 20) MiB of memory")
  }

  private static func noRoom(_ message: String) -> Refusal {
    Refusal(
      .busy, message, hint: "wait until some have ended, or give the coordinator more memory",
      retryAfter: .seconds(5), lacksRoom: true)
  }

  // MARK: - What the process takes

  /// Notes the memory use of the process; called from time to time.
  mutating func note(_ use: MemoryUse) { self.use = use }

  /// Whether the process uses more than four fifths of its memory.
  var isTight: Bool {
    guard let bound, let use else { return false }
    return use.resident > bound.resident / 5 * 4
      || bound.address.map { use.address > $0 / 5 * 4 } ?? false
  }

  /// Whether freed memory should be returned to the system now: the C library keeps it.
  mutating func shouldTrim(at now: Instant) -> Bool {
    guard isTight, lastTrim.map({ now - $0 >= Self.trimPause }) ?? true else { return false }
    lastTrim = now
    return true
  }

  static let trimPause = Span.seconds(10)
}
