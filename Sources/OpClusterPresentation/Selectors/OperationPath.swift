// The names of operations for people, `12/align/3`, from the numbers of the cluster.
// `SelectorParser` reads what is written here, so a shown name can be typed back.

public import OpClusterModel

/// `12`, `12/align`, `12/align/3`.
/// The number of the element is the shown one, not the index in the graph.
public struct OperationPath: Hashable, Sendable, CustomStringConvertible {
  public var graph: GraphID
  public var name: String?
  public var element: UInt32?
  public init(graph: GraphID, name: String? = nil, element: UInt32? = nil) {
    self.graph = graph
    self.name = name
    self.element = element
  }
  public init(_ row: OperationRow) {
    self.init(graph: row.id.graph, name: row.name, element: row.index)
  }
  /// Names come from others, so they are made safe (G38).
  public var description: String {
    guard let name else { return "\(graph.number)" }
    return StageName(graph: graph, name: safe(name)).path(element: element)
  }
}

/// Finds the stage and the path of an operation index. Cheap enough for every event.
/// O(log stages) for a path; a follower of a large graph asks it for each event.
public struct StageIndex: Sendable {
  private let graph: GraphID
  private let stages: [GraphStructure.Stage]
  /// Positions of the stages that have elements, by first index.
  /// Stages without elements are left out: they have the first index of their neighbour.
  private let order: [Int]
  private let firsts: [UInt32]

  /// O(n log n) in the stages, once per structure.
  public init(_ structure: GraphStructure) {
    graph = structure.row.graph
    stages = structure.stages
    order = stages.indices.filter { structure.stages[$0].count > 0 }
      .sorted { structure.stages[$0].firstIndex < structure.stages[$1].firstIndex }
    firsts = order.map { structure.stages[$0].firstIndex }
  }

  /// The position in `GraphStructure.stages`; nil for an index that the graph does not have.
  public func stage(of index: UInt32) -> Int? {
    // The last stage that begins at or before the index.
    var low = 0
    var high = firsts.count
    while low < high {
      let middle = (low + high) / 2
      if firsts[middle] <= index { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let stage = stages[order[low - 1]]
    return index - stage.firstIndex < stage.count ? order[low - 1] : nil
  }

  /// The last index of the stage at a position that `stage(of:)` has returned; no index is beyond
  /// the last one that there can be.
  func lastIndex(of position: Int) -> UInt32 {
    stages[position].firstIndex.saturatingAdd(stages[position].count - 1)
  }

  /// Returns `12/align/3`; `12/#70` for an index that the graph does not have.
  public func path(of index: UInt32) -> String {
    guard let at = stage(of: index) else { return OperationID(graph: graph, index: index).numbered }
    let stage = stages[at]
    let element = stage.isArray ? stage.shownIndex(ofElement: index - stage.firstIndex) : nil
    return OperationPath(graph: graph, name: stage.name, element: element).description
  }
}

extension GraphStructure.Stage {
  /// The shown number of an element, counted from 0 inside the stage.
  public func shownIndex(ofElement element: UInt32) -> UInt32 {
    indexRuns.number(ofElement: element)
  }
}
