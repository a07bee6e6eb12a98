// The outputs that are kept for later readers: dependents, graphs that cite an operation (S27,
// S138), graphs that run again (S11). Their bytes are limited (G29): an output without room is not
// kept. Its operation still succeeds, and the history shows the output; an operation that would
// read it as input gets the reason as an error. Changed by facts and reports, on the thread that
// holds the scheduler.

import DequeModule
import OpClusterModel

extension Graph {
  /// The bytes of its outputs beyond the allowance of its operations.
  var outputExcess: Int { outputExcess(of: outputBytes) }

  fileprivate func outputExcess(of bytes: Int) -> Int {
    max(0, bytes - Int(operationCount) * Limits.keptOutputBytesPerOperation)
  }

  /// In how many stores the contents of an operation's output are to lie.
  func replicas(of index: UInt32) -> UInt8 { stages[stageNumber(of: index)].template.replicas }

  fileprivate mutating func keep(_ output: [UInt8], of index: UInt32) {
    let before = outputs.updateValue(output, forKey: index)
    outputBytes += outputWeight(output) - (before.map { outputWeight($0) } ?? 0)
  }
}

/// The memory of an output, including its entry in the table.
private func outputWeight(_ output: [UInt8]) -> Int { output.count + 64 }

extension EndedGraph {
  /// The memory of its outputs and of its secrets, which are kept equally long.
  var outputBytes: Int {
    secrets.reduce(outputs.reduce(0) { $0 + outputWeight($1.output) }) { $0 + $1.utf8.count }
  }

  /// The output of an operation; nil if it left none, or all outputs were dropped.
  func output(of index: UInt32) -> [UInt8]? { place(of: index).map { outputs[$0].output } }

  /// In how many stores the contents of that output are to lie.
  func replicas(of index: UInt32) -> UInt8 {
    guard let place = place(of: index), place < outputReplicas.count else { return 1 }
    return outputReplicas[place]
  }

  private func place(of index: UInt32) -> Int? {
    var (low, high) = (0, outputs.count)
    while low < high {
      let middle = (low + high) / 2
      if outputs[middle].index < index { low = middle + 1 } else { high = middle }
    }
    return low < outputs.count && outputs[low].index == index ? low : nil
  }
}

extension OperationTemplate {
  /// The contents of the submitter's files, for each entry.
  var ownContents: [StoredContent] {
    if ownFiles.isEmpty { return [] }
    return (0..<ownFiles.count).flatMap { OperationOutput.contents(of: ownFiles[$0]) }
  }
}

extension ClusterState {
  // MARK: - Living graphs

  /// Keeps the output of an operation; an empty one notes that there was an output that is not
  /// kept.
  mutating func keep(_ output: [UInt8], of id: OperationID) {
    let graph = id.graph.number
    let copies = graphs[graph].replicas(of: id.index)
    pins.pinAll(OperationOutput.contents(of: output), copies: copies)
    if let before = graphs[graph].outputs[id.index] {
      pins.unpinAll(OperationOutput.contents(of: before), copies: copies)
    }
    let before = graphs[graph].outputExcess
    graphs[graph].keep(output, of: id.index)
    outputAccounts.change(id.graph, by: graphs[graph].outputExcess - before)
  }

  /// Whether an output may be kept. Beyond `Limits.keptOutputBytesPerOperation` for each operation,
  /// the bytes are limited per client and in total.
  func hasRoom(for output: [UInt8], of id: OperationID) -> Bool {
    let before = graphs[id.graph.number].outputExcess
    let bytes = graphs[id.graph.number].outputBytes + outputWeight(output)
    let more = graphs[id.graph.number].outputExcess(of: bytes) - before
    if more == 0 { return true }
    let own = outputAccounts.owner(of: id.graph).map { outputAccounts.owned(by: $0) } ?? before
    return own + more <= Limits.keptOutputBytesPerPrincipal && hasRoom(forBytes: more)
  }

  /// Whether the total limit allows more bytes. Ended graphs that living ones cite stay in memory
  /// beyond their own limit, and use room of this one.
  private func hasRoom(forBytes bytes: Int) -> Bool {
    let cited = max(0, outputAccounts.remembered - Limits.rememberedOutputBytes)
    return outputAccounts.living + cited + bytes <= Limits.keptOutputBytes
  }

  /// The end of an attempt as it is journaled: without the output if there is no room for it.
  func withinRoom(_ result: AttemptResult, of id: OperationID) -> AttemptResult {
    guard result.isSuccess, !hasRoom(for: result.output, of: id) else { return result }
    var short = result
    short.output = []
    return short
  }

  /// Sets the owner of a graph, for this life of the coordinator; counts its outputs with those of
  /// the owner's other graphs (G29).
  mutating func own(_ graph: GraphID, by owner: GraphOwner) {
    guard graphs.contains(graph.number) else { return }
    outputAccounts.own(graph, by: owner, bytes: graphs[graph.number].outputExcess)
  }

  /// The refusal of a repeated graph whose taken-over outputs lack room (S11, G29); nil if there is
  /// room.
  func lackOfRoom(
    forOutputsOf submission: GraphSubmission, by owner: GraphOwner
  ) -> Refusal? {
    guard let continued = submission.continued, let known = ended[continued.graph] else {
      return nil
    }
    let bytes = known.outputBytes
    let more = bytes - submission.operationCount * Limits.keptOutputBytesPerOperation
    let own = outputAccounts.owned(by: owner)
    let fits = own == 0 || own + more <= Limits.keptOutputBytesPerPrincipal
    if more <= 0 || fits && hasRoom(forBytes: more) { return nil }
    return Refusal(
      .busy,
      "there is no room for the \(bytes >> 20) MiB of outputs of graph \(known.graph.number): of "
        + "graphs that have not ended at most \(Limits.keptOutputBytesPerPrincipal >> 20) MiB are "
        + "kept for one client and \(Limits.keptOutputBytes >> 20) for all",
      hint: "wait until other graphs have ended", retryAfter: .seconds(5), lacksRoom: true)
  }

  /// Lets go of the contents that the outputs of an ended graph name, but for those that other
  /// graphs will read. The rest may still be read for as long as somebody has it.
  mutating func letGoContents(of graph: Graph) {
    if pins.isEmpty { return }
    let naming = graph.outputs.filter { !OperationOutput.contents(of: $0.value).isEmpty }
    // Holders are told in this order, which must not come from hashing.
    for (index, output) in naming.sorted(by: { $0.key < $1.key })
    where !citations.contains(graph.operation(index)) {
      pins.unpinAll(OperationOutput.contents(of: output), copies: graph.replicas(of: index))
    }
  }

  mutating func takePinChanges() -> ContentPins.Changes { pins.takeChanges() }

  // MARK: - Ended graphs

  /// Drops remembered graphs beyond the limits in number and bytes, oldest first: over the byte
  /// limit only their outputs, over the number limit all of them. Graphs that a living one cites
  /// stay.
  mutating func forgetEnded() {
    let isTooMuch = outputAccounts.remembered > Limits.rememberedOutputBytes
    guard isTooMuch || endedOrder.count > Limits.endedGraphsRemembered else { return }
    let cited = citedGraphs()
    if isTooMuch { forgetOutputs(except: cited) }
    var stay: [GraphID] = []
    while endedOrder.count + stay.count > Limits.endedGraphsRemembered,
      let oldest = endedOrder.popFirst()
    {
      if cited.contains(oldest) {
        stay.append(oldest)
      } else if let known = ended.removeValue(forKey: oldest) {
        outputAccounts.remembered -= known.outputBytes
      }
    }
    endedOrder.prepend(contentsOf: stay)
  }

  /// Drops outputs down to three quarters of the limit, so that not every turn has to do it.
  private mutating func forgetOutputs(except cited: Set<GraphID>) {
    for graph in endedOrder where !cited.contains(graph) {
      if outputAccounts.remembered <= Limits.rememberedOutputBytes / 4 * 3 { return }
      guard let known = ended[graph], !known.outputs.isEmpty || !known.secrets.isEmpty else {
        continue
      }
      outputAccounts.remembered -= known.outputBytes
      ended[graph]?.outputs = []
      ended[graph]?.outputReplicas = []
      ended[graph]?.secrets = []
      ended[graph]?.outputsAreForgotten = true
    }
  }

  /// The graphs that living ones cite. Visits only living graphs that may cite something: others
  /// are many, and every end of a graph asks.
  mutating func citedGraphs() -> Set<GraphID> {
    citing.removeAll { !graphs.contains($0) || graphs[$0].extraDependencies.isEmpty }
    var cited: Set<GraphID> = []
    for number in citing {
      for extra in graphs[number].extraDependencies.values.joined() { cited.insert(extra.on.graph) }
    }
    return cited
  }

  /// Notes that a graph has a dependency on another one.
  mutating func noteCiting(_ graph: UInt32) {
    // Usually the graph is the newest.
    let at = (citing.lastIndex { $0 < graph } ?? -1) + 1
    if at == citing.count || citing[at] != graph { citing.insert(graph, at: at) }
  }

  // MARK: - Reading

  /// Whether the output of an operation is not kept, so that nobody can read it.
  func lacksOutput(_ id: OperationID) -> Bool {
    if graphs.contains(id.graph.number) {
      return graphs[id.graph.number].outputs[id.index]?.isEmpty ?? false
    }
    guard let known = ended[id.graph], id.index < known.operationCount,
      OperationCell.Ending(rawValue: known.outcome(of: id.index)).outcome == .succeeded
    else { return false }
    return known.outputsAreForgotten || known.output(of: id.index)?.isEmpty ?? false
  }

  /// Refuses a dependency on an output that is not kept (S27).
  func checkOutput(of id: OperationID) throws(Refusal) {
    guard lacksOutput(id) else { return }
    throw Refusal(
      .expired, "the output of \(shown(id)) is not kept any more, so nothing can read it",
      hint: "run it again, or let it leave a file and read that", operations: [id])
  }
}
