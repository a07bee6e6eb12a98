// What is measured: few operations, since a test waits for them.

package import OpClusterModel

/// `small` is for a machine that is imitated, where all takes a hundred times as long.
package enum WorkloadSize: String, Sendable {
  case usual, small
}

/// What is run, as in `opbench` and small.
package enum Workload: String, CaseIterable, Sendable {
  case independent, layers, submissions

  package func graphs(_ size: WorkloadSize = .usual) -> [GraphSubmission] {
    let isUsual = size == .usual
    switch self {
    case .independent: return [Self.graph([Self.noop("x", isUsual ? 4_000 : 60)])]
    case .layers: return [Self.layers(of: isUsual ? 50 : 20, count: isUsual ? 20 : 3)]
    case .submissions:
      return (0..<(isUsual ? 300 : 20)).map { _ in Self.graph([Self.noop("x", 1)]) }
    }
  }

  package func operations(_ size: WorkloadSize = .usual) -> Int {
    graphs(size).reduce(0) { $0 + $1.operationCount }
  }

  private static func noop(_ name: String, _ count: UInt32) -> OperationTemplate {
    OperationTemplate(name: name, count: count, work: .call(OperationType(name: "noop")))
  }

  private static func graph(_ templates: [OperationTemplate]) -> GraphSubmission {
    var graph = GraphSubmission(name: "cost")
    graph.templates = templates
    return graph
  }

  /// Each operation waits for three of the layer before.
  private static func layers(of width: UInt32, count: UInt32) -> GraphSubmission {
    var layers = graph([noop("x", width * count)])
    for index in width..<(width * count) {
      let layer = index / width - 1
      for offset in [0, 7, 19] as [UInt32] {
        let from = layer * width + (index + offset) % width
        layers.elementEdges.from.append(from)
        layers.elementEdges.to.append(index)
        layers.elementEdges.policies.append(.succeeded)
      }
    }
    return layers
  }
}
