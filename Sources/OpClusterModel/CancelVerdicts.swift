// What became of the members of a cancellation, one by one and in numbers.

public struct CancelVerdict: Hashable, Sendable {
  public var operation: OperationID
  public var verdict: Verdict
  public init(operation: OperationID, verdict: Verdict) {
    self.operation = operation
    self.verdict = verdict
  }
  public enum Verdict: UInt8, Sendable, CaseIterable {
    case cancelled = 1
    case alreadyFinished, alreadyCancelled, executing
  }
}

/// How many operations got each verdict of a cancellation.
public struct VerdictCounts: Hashable, Sendable {
  /// In the order of `CancelVerdict.Verdict.allCases`.
  public private(set) var counts: [UInt32]
  public init() { counts = Array(repeating: 0, count: CancelVerdict.Verdict.allCases.count) }
  /// Returns nil if these are not as many as there are verdicts.
  public init?(_ counts: [UInt32]) {
    guard counts.count == CancelVerdict.Verdict.allCases.count else { return nil }
    self.counts = counts
  }
  public init(of verdicts: [CancelVerdict]) {
    self.init()
    for verdict in verdicts { self[verdict.verdict] = self[verdict.verdict].saturatingAdd(1) }
  }
  public subscript(verdict: CancelVerdict.Verdict) -> UInt32 {
    get { counts[Int(verdict.rawValue) - 1] }
    set { counts[Int(verdict.rawValue) - 1] = newValue }
  }
  public var total: UInt32 { counts.reduce(0) { $0.saturatingAdd($1) } }
  public mutating func add(_ other: VerdictCounts) {
    for at in counts.indices { counts[at] = counts[at].saturatingAdd(other.counts[at]) }
  }
  /// Counts up to so many under another verdict.
  public mutating func move(
    _ count: Int, from: CancelVerdict.Verdict, to: CancelVerdict.Verdict
  ) {
    let moved = UInt32(min(max(0, count), Int(self[from])))
    self[from] -= moved
    self[to] = self[to].saturatingAdd(moved)
  }
}
