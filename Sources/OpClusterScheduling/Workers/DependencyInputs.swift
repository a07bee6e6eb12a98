// The inputs of an attempt beyond its template: its argument, and the outputs of its dependencies.

import OpClusterModel

extension ClusterState {
  /// The element's argument, followed by added blocks: joined, they are one list (S120).
  func argument(of id: OperationID, _ stage: Int) -> [UInt8] {
    let graph = id.graph.number
    let blocks =
      graphs[graph].addedBlocks.isEmpty ? [] : graphs[graph].addedBlocks[id.index] ?? []
    if graphs[graph].stages[stage].template.elementArguments.isEmpty { return blocks }
    let element = Int(graphs[graph].stages[stage].element(id.index))
    return graphs[graph].stages[stage].template.elementArguments[element] + blocks
  }
}

extension Scheduler {
  /// The reason why these inputs cannot be delivered; nil if they can.
  func lack(of inputs: [DependencyInput]) -> String? {
    if let missing = inputs.first(where: { $0.output?.isEmpty ?? false }) {
      return
        "the output of \(state.shown(missing.operation)) had no room in the coordinator's memory: "
        + "beyond \(Limits.keptOutputBytesPerOperation) bytes an operation, "
        + "\(Limits.keptOutputBytesPerPrincipal >> 20) MiB are kept for one client and "
        + "\(Limits.keptOutputBytes >> 20) for all; leave what is large in a file and say where"
    }
    return inputs.reduce(0, { $0 + ($1.output?.count ?? 0) }) > Limits.inputBytes
      ? "the outputs of its dependencies exceed \(Limits.inputBytes) bytes together" : nil
  }

  /// The outputs of its finished dependencies (S135, S138): of whole stages only existing outputs,
  /// and of output files only those that it reads. Costs its dependencies and the files that they
  /// left.
  func inputs(of id: OperationID, _ stage: Int) -> [DependencyInput] {
    let graph = id.graph.number
    if let origin = graphs[graph].submission.recomputes,
      state.recomputations[origin] == id.graph
    {
      // What runs again reads what it read before.
      let stage = graphs[origin.graph.number].stageNumber(of: origin.index)
      return self.inputs(of: origin, stage)
    }
    var inputs = ownInput(of: id, stage).map { [$0] } ?? []
    guard graphs[graph].stages[stage].template.wantsInputs,
      graphs[graph].hasDependencies(id.index, stage)
    else { return inputs }
    let first = inputs.count
    for edge in graphs[graph].stages[stage].incoming where edge.match == .all {
      for index in graphs[graph].stages[edge.stage].indices
      where graphs[graph].outputs[index] != nil {
        if let input = input(from: graphs[graph].operation(index)) { inputs.append(input) }
      }
    }
    graphs[graph].forEachDependency(of: id.index) { on, _ in
      if let input = input(from: on) { inputs.append(input) }
    }
    graphs[graph].stages[stage].template.contentNeeds.narrow(&inputs[first...])
    return inputs
  }

  /// The submitter's files, in the form of an output.
  private func ownInput(of id: OperationID, _ stage: Int) -> DependencyInput? {
    let graph = id.graph.number
    if graphs[graph].stages[stage].template.ownFiles.isEmpty { return nil }
    let element = Int(graphs[graph].stages[stage].element(id.index))
    return DependencyInput(
      operation: id, name: InputFile.submitter, index: nil, outcome: .succeeded,
      output: graphs[graph].stages[stage].template.ownFiles(of: element))
  }

  /// nil: it has not ended, or its graph is no longer remembered.
  private func input(from id: OperationID) -> DependencyInput? {
    guard let outcome = state.knownEnding(of: id)?.outcome else { return nil }
    guard graphs.contains(id.graph.number) else {
      let output = state.lacksOutput(id) ? [] : ended[id.graph]?.output(of: id.index)
      return DependencyInput(
        operation: id, name: "", index: nil, outcome: outcome, output: output)
    }
    let stage = graphs[id.graph.number].stages[
      graphs[id.graph.number].stageNumber(of: id.index)]
    let shown =
      stage.template.isArray
      ? stage.template.shownIndex(ofElement: stage.element(id.index)) : nil
    return DependencyInput(
      operation: id, name: stage.template.name, index: shown, outcome: outcome,
      output: outcome == .succeeded ? graphs[id.graph.number].outputs[id.index] : nil)
  }
}

extension Graph {
  /// Whether an operation has, or had, any dependency.
  fileprivate func hasDependencies(_ index: UInt32, _ stage: Int) -> Bool {
    !dependencies.range(of: index).isEmpty || !stages[stage].incoming.isEmpty
      || (!extraDependencies.isEmpty && extraDependencies[index] != nil)
  }
}
