// Credit in bytes (G27): limits the bytes of the operations that are assigned to a worker, in
// addition to their number, for any size of arguments, inputs and payloads. Pure.

import OpClusterModel

extension Scheduler {
  /// The maximum of bytes that an operation of a stage brings along, without a look at each.
  func mostBytes(graph: UInt32, _ stage: Int) -> Int {
    var bytes = graphs[graph].stages[stage].template.payload.count
    if !graphs[graph].stages[stage].template.elementArguments.isEmpty {
      bytes += Limits.elementArgumentBytes
    }
    if graphs[graph].stages[stage].template.wantsInputs, mayHaveDependencies(graph, stage) {
      bytes += Limits.inputBytes
    }
    if !graphs[graph].stages[stage].template.ownFiles.isEmpty { bytes += Limits.ownFilesBytes }
    // Added blocks arrived in one message.
    if !graphs[graph].addedBlocks.isEmpty { bytes += Limits.messageBytes }
    return bytes
  }

  private func mayHaveDependencies(_ graph: UInt32, _ stage: Int) -> Bool {
    !graphs[graph].dependencies.isEmpty || !graphs[graph].stages[stage].incoming.isEmpty
      || !graphs[graph].extraDependencies.isEmpty
  }
}

extension Dispatch {
  /// The bytes that it brings along.
  var bytes: Int { inputs.reduce(argument.count) { $0 + ($1.output?.count ?? 0) } }
}
