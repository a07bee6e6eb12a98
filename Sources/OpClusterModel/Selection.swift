// The graphs and operations that a request concerns: `12`, `12,14-20`, `last~1`, `active`,
// `12/align`, `12/align/1-10:2`, with filters. The client parses the text, the coordinator finds
// the things.

public struct Selection: Hashable, Sendable {
  public var graphs: Graphs
  /// A template's name, or a `NamePattern` of several (S97); nil: every operation of the graphs.
  public var operation: String?
  /// The shown indices of elements; empty: all.
  public var elements: [IndexRun]
  /// Selects operations (for lists of graphs, graphs) in one of these states; empty: any.
  public var states: [StateWord]
  /// Selects graphs or operations with all of these labels.
  public var labels: [Label]
  /// Selects operations of this queue.
  public var queue: String?
  /// Selects operations of this priority.
  public var priority: Priority?

  public init(
    graphs: Graphs, operation: String? = nil, elements: [IndexRun] = [],
    states: [StateWord] = [], labels: [Label] = [], queue: String? = nil,
    priority: Priority? = nil
  ) {
    self.graphs = graphs
    self.operation = operation
    self.elements = elements
    self.states = states
    self.labels = labels
    self.queue = queue
    self.priority = priority
  }

  public enum Graphs: Hashable, Sendable {
    case numbers([ClosedRangeOfGraphs])
    /// The submission `back` before the newest; 0 is the newest.
    case last(back: UInt32)
    /// The graphs that have not ended.
    case active
    case all
  }

  /// first…last, inclusive.
  public struct ClosedRangeOfGraphs: Hashable, Sendable {
    public var first: GraphID
    public var last: GraphID
    public init(_ first: GraphID, _ last: GraphID) {
      self.first = first
      self.last = last
    }
  }
  public static func graph(_ graph: GraphID) -> Selection {
    Selection(graphs: .numbers([ClosedRangeOfGraphs(graph, graph)]))
  }
}
