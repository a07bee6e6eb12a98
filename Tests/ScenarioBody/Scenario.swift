// The one scenario that is run in every setting (house habit 18): what its operations are, how each
// run of them ends, and what the scheduler is told of them. Values only; used by the tests of
// three targets, each of which brings a setting of its own.

public import OpClusterModel

/// Some operations, what they wait for, and how each of their runs ends.
public struct Scenario: Sendable {
  /// How the runs of each element of an operation end.
  public enum Ending: Sendable {
    /// Every run succeeds.
    case success
    /// Every run ends with this exit status, which is not 0.
    case failure(status: Int32)
    /// The first run ends with this exit status, those after it succeed.
    case secondRunSucceeds(status: Int32)
  }

  /// One name in the graph: a plain operation, or an array.
  public struct Operation: Sendable {
    public var name: String
    /// Elements of an array, shown as 1…count; nil: a plain operation.
    public var count: UInt32?
    /// Names of earlier operations, and when they let this one go on.
    public var needs: [(name: String, policy: EdgePolicy)]
    /// Further runs after a failed one.
    public var retries: UInt32
    /// Its failures do not count against the graph.
    public var mayFail: Bool
    public var ending: Ending

    init(
      _ name: String, count: UInt32? = nil, needs: [(name: String, policy: EdgePolicy)] = [],
      retries: UInt32 = 0, mayFail: Bool = false, ending: Ending = .success
    ) {
      self.name = name
      self.count = count
      self.needs = needs
      self.retries = retries
      self.mayFail = mayFail
      self.ending = ending
    }

    /// What people call its elements: `left-1`…`left-4`, or the name alone.
    public var elements: [Element] {
      guard let count else { return [Element(name: name, index: nil)] }
      return (1...count).map { Element(name: name, index: $0) }
    }

    /// The exit status of a run of one element, counted from 1; 0 is a success.
    public func status(ofRun run: Int) -> Int32 {
      switch ending {
      case .success: 0
      case .failure(let status): status
      case .secondRunSucceeds(let status): run == 1 ? status : 0
      }
    }
  }

  /// One thing that runs: a plain operation, or an element of an array.
  public struct Element: Hashable, Sendable, CustomStringConvertible {
    public var name: String
    /// The index that people see; nil for a plain operation.
    public var index: UInt32?
    public init(name: String, index: UInt32?) {
      self.name = name
      self.index = index
    }
    public var description: String { index.map { "\(name)-\($0)" } ?? name }
  }

  public var name: String
  public var operations: [Operation]

  /// In the order of their indices in the graph.
  public var elements: [Element] { operations.flatMap(\.elements) }

  public subscript(name: String) -> Operation? { operations.first { $0.name == name } }

  /// The scenario as a client submits it, every operation a call of this registered type.
  public func submission(calling type: OperationType) -> GraphSubmission {
    var graph = GraphSubmission(name: name)
    for (position, operation) in operations.enumerated() {
      var template = OperationTemplate(
        name: operation.name, count: operation.count ?? 1, work: .call(type))
      template.isArray = operation.count != nil
      template.retry.maximum = operation.retries
      template.allowedFailures = operation.mayFail ? .all : .none
      graph.templates.append(template)
      for need in operation.needs {
        guard let from = operations.firstIndex(where: { $0.name == need.name }) else {
          preconditionFailure("\(operation.name) needs \(need.name), which the scenario lacks")
        }
        graph.groupEdges.append(
          GroupEdge(from: UInt32(from), to: UInt32(position), policy: need.policy))
      }
    }
    return graph
  }
}
