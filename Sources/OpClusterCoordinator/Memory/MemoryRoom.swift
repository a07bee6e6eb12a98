// Whether there is room for another graph in the memory that this coordinator really has (G29): by
// what graphs that have not ended will take, and as a second brake by what the process takes. Pure;
// on the loop's thread.

import OpClusterModel

struct MemoryRoom {
  /// What a graph takes while it lives, about: measured at full size (row G29-MEMORY), with what
  /// comes and goes while it is accepted, handed out and written into a snapshot.
  enum Cost {
    static let template = 1_536
    static let operation = 96
    /// Of its message: in its templates, and again while it is told to workers.
    static let messageByte = 2
    /// What the process takes beside graphs.
    static let process = 48 << 20
  }

  private let bound: MemoryBound?
  private var costs: [GraphID: Int] = [:]
  /// Of all that live.
  private(set) var cost = 0
  private(set) var use: MemoryUse?
  private var lastTrim: Instant?

  /// - Parameter bound: nil: nobody says how much there is.
  init(_ bound: MemoryBound?) { self.bound = bound }

  /// What graphs may take together.
  private var costBound: Int? {
    bound.map { max(Cost.template, Int(clamping: $0.resident / 10 * 6) - Cost.process) }
  }

  /// Bytes of messages that may wait to be heard.
  var waitingBytes: Int {
    min(Limits.waitingBytes, bound.map { Int(clamping: $0.resident / 8) } ?? .max)
  }

  // MARK: - Graphs

  /// What a graph will take. Numbers have been bounded where they were decoded; saturates.
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

  static func cost(of graph: GraphSubmission, bytes: Int) -> Int {
    cost(templates: graph.templates.count, operations: graph.operationCount, bytes: bytes)
  }

  mutating func began(_ graph: GraphID, cost: Int) {
    guard bound != nil, costs[graph] == nil else { return }
    costs[graph] = cost
    self.cost += cost
  }

  mutating func ended(_ graph: GraphID) {
    if let cost = costs.removeValue(forKey: graph) { self.cost -= cost }
  }

  /// Why a graph of this cost cannot be taken now; nil: it can.
  ///
  /// - Parameter taken: What graphs will take that were let through and have not begun.
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
    // Where nothing lives, waiting would not help: a small one is taken.
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

  /// Now and then: what the process takes.
  mutating func note(_ use: MemoryUse) { self.use = use }

  /// The process takes more than four fifths of what it may have.
  var isTight: Bool {
    guard let bound, let use else { return false }
    return use.resident > bound.resident / 5 * 4
      || bound.address.map { use.address > $0 / 5 * 4 } ?? false
  }

  /// Whether memory that was let go of should be given back now: the C library keeps it.
  mutating func shouldTrim(at now: Instant) -> Bool {
    guard isTight, lastTrim.map({ now - $0 >= Self.trimPause }) ?? true else { return false }
    lastTrim = now
    return true
  }

  static let trimPause = Span.seconds(10)
}
