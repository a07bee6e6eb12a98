// What is measured: few operations, since a test waits for them.

package import OpClusterModel

/// What is run, as in `opbench` and small.
package enum Workload: String, CaseIterable, Sendable {
  case independent, layers, submissions

  package var graphs: [GraphSubmission] {
    switch self {
    case .independent: [Self.graph([Self.noop("x", 4_000)])]
    case .layers:
      [Self.layers(of: 50, count: 20)]
    case .submissions: (0..<300).map { _ in Self.graph([Self.noop("x", 1)]) }
    }
  }

  package var operations: Int { graphs.reduce(0) { $0 + $1.operationCount } }

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
