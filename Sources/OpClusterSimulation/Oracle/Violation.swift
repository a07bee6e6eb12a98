// What the oracles find: a rule that the world has broken.

public import OpClusterModel

/// The violation of a rule.
public struct Violation: Hashable, Sendable {
  /// The invariant of Simulation.md, or the rule: `I4`, `S91`…
  public var rule: String
  public var text: String
  /// Virtual time.
  public var at: Instant
}

/// What the ledger complains of; it knows no time.
struct Problem: Hashable, Sendable {
  /// The invariant or rule: I4, S91…
  var rule: String
  var text: String
}
