// Credit in bytes (G27): what a worker holds unstarted is bounded in bytes as well as in number,
// whatever arguments, inputs and payloads come to. Pure.

import OpClusterModel

extension Scheduler {
  /// At most what an operation of a stage brings along, without looking at each.
  func mostBytes(graph: UInt32, _ stage: Int) -> Int {
    var bytes = graphs[graph].stages[stage].template.payload.count
    if !graphs[graph].stages[stage].template.elementArguments.isEmpty {
      bytes += Limits.elementArgumentBytes
    }
    if graphs[graph].stages[stage].template.wantsInputs, mayHaveDependencies(graph, stage) {
      bytes += Limits.inputBytes
    }
    // Blocks that were added came in one message.
    if !graphs[graph].addedBlocks.isEmpty { bytes += Limits.messageBytes }
    return bytes
  }

  private func mayHaveDependencies(_ graph: UInt32, _ stage: Int) -> Bool {
    !graphs[graph].dependencies.isEmpty || !graphs[graph].stages[stage].incoming.isEmpty
      || !graphs[graph].extraDependencies.isEmpty
  }
}

extension Dispatch {
  /// What it brings along.
  var bytes: Int { inputs.reduce(argument.count) { $0 + ($1.output?.count ?? 0) } }
}
