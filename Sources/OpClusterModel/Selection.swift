// Which graphs and operations a request means: `12`, `12,14-20`, `last~1`, `active`, `12/align`,
// `12/align/1-10:2`, with filters. The client parses the text, the coordinator finds the things.

public struct Selection: Hashable, Sendable {
  public var graphs: Graphs
  /// A template's name, or a `NamePattern` of several (S97); nil: every operation of the graphs.
  public var operation: String?
  /// Shown indices of the elements; empty: all of them.
  public var elements: [IndexRun]
  /// Only operations (or, where graphs are meant, graphs) in one of these states; empty: any.
  public var states: [StateWord]
  /// Only graphs or operations that carry all of these labels.
  public var labels: [Label]
  /// Only operations of this queue.
  public var queue: String?
  /// Only operations of this priority.
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
    /// The newest submission, or so many before it.
    case last(back: UInt32)
    /// Those that have not ended.
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
