// What a setting does and what it gives back: the narrow door between the one body of a scenario
// and the three places where it is run. No I/O here.

public import OpClusterModel

/// A place where scenarios are run: a scheduler in the hand, threads of one process, processes.
public protocol ScenarioSetting {
  /// Runs the scenario to its end and tells what came of it.
  func run(_ scenario: Scenario) async throws -> ScenarioReport
}

/// What came of a scenario.
public struct ScenarioReport: Sendable {
  /// How the graph ended.
  public var state: GraphRow.State
  /// Failures that it was allowed.
  public var allowedFailures: UInt32
  /// How each element ended, in the order of `Scenario.elements`; nil: it has not.
  public var outcomes: [Outcome?]
  /// What the operations themselves saw, in the order in which it happened. The attempts that the
  /// scheduler counts are no measure of runs: one that is taken back unstarted (S148) has a number.
  public var moments: [Moment]

  public init(
    state: GraphRow.State, allowedFailures: UInt32, outcomes: [Outcome?], moments: [Moment]
  ) {
    self.state = state
    self.allowedFailures = allowedFailures
    self.outcomes = outcomes
    self.moments = moments
  }

  /// A run of an element began or ended.
  public struct Moment: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: String, Hashable, Sendable {
      case start = "+"
      case end = "-"
    }
    /// What people call the element: `left-1`.
    public var element: String
    public var kind: Kind
    public init(_ element: String, _ kind: Kind) {
      self.element = element
      self.kind = kind
    }
    public var description: String { element + kind.rawValue }
  }

  /// How often an element was run.
  func runs(of element: Scenario.Element) -> Int {
    moments.count { $0 == Moment(element.description, .start) }
  }
}

/// Moments as they come in, for settings whose operations tell them one by one.
public struct ScenarioWitness: Sendable {
  public private(set) var moments: [ScenarioReport.Moment] = []
  public init() {}

  /// A run begins; the answer is its number among the runs of this element, from 1.
  public mutating func start(_ element: Scenario.Element) -> Int {
    moments.append(ScenarioReport.Moment(element.description, .start))
    return moments.count { $0 == ScenarioReport.Moment(element.description, .start) }
  }

  /// The run that began last has ended.
  public mutating func end(_ element: Scenario.Element) {
    moments.append(ScenarioReport.Moment(element.description, .end))
  }
}
