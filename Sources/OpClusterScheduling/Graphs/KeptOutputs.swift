// What is kept of outputs for those who read them later: dependents, graphs that cite an operation
// (S27, S138), graphs that run again (S11). Bounded in bytes (G29): an output without room is not
// kept. Its operation succeeds all the same and the history shows it; who would read it as an input
// is told why it cannot. Stepped by facts and reports, on the thread that holds the scheduler.

import DequeModule
public import OpClusterModel

/// Who is counted together: what one client may take is bounded over all of its graphs (G29).
public enum GraphOwner: Hashable, Sendable, CustomStringConvertible {
  /// Nobody said who it is: the connection counts for itself.
  case connection(PeerID)
  /// All connections of one key.
  case key(String)

  public var description: String {
    switch self {
    case .connection: "this connection"
    case .key(let name): "key \(name)"
    }
  }
}

/// Bytes of outputs in memory.
struct OutputAccounts: Sendable {
  /// Of living graphs, beyond what their operations may have.
  private(set) var living = 0
  /// Of ended graphs that are remembered, all of them.
  var remembered = 0
  /// Not durable: graphs of earlier lives of the coordinator have no owner, each counts for itself.
  private var owners: [GraphID: GraphOwner] = [:]
  private var byOwner: [GraphOwner: Int] = [:]

  func owned(by owner: GraphOwner) -> Int { byOwner[owner] ?? 0 }
  func owner(of graph: GraphID) -> GraphOwner? { owners[graph] }

  mutating func own(_ graph: GraphID, by owner: GraphOwner, bytes: Int) {
    owners[graph] = owner
    if bytes > 0 { byOwner[owner, default: 0] += bytes }
  }

  mutating func change(_ graph: GraphID, by bytes: Int) {
    living += bytes
    if bytes != 0, let owner = owners[graph] { byOwner[owner, default: 0] += bytes }
  }

  mutating func end(_ graph: GraphID, bytes: Int) {
    change(graph, by: -bytes)
    if let owner = owners.removeValue(forKey: graph), byOwner[owner] == 0 { byOwner[owner] = nil }
  }
}

extension Graph {
  /// Bytes of its outputs beyond what its operations may have.
  var outputExcess: Int { outputExcess(of: outputBytes) }

  fileprivate func outputExcess(of bytes: Int) -> Int {
    max(0, bytes - Int(operationCount) * Limits.keptOutputBytesPerOperation)
  }

  fileprivate mutating func keep(_ output: [UInt8], of index: UInt32) {
    let before = outputs.updateValue(output, forKey: index)
    outputBytes += outputWeight(output) - (before.map { outputWeight($0) } ?? 0)
  }
}

/// What an output takes in memory, with its entry in the table.
private func outputWeight(_ output: [UInt8]) -> Int { output.count + 64 }

extension EndedGraph {
  /// What its outputs take in memory.
  /// Its secrets count as well: they are kept as long.
  var outputBytes: Int {
    secrets.reduce(outputs.reduce(0) { $0 + outputWeight($1.output) }) { $0 + $1.utf8.count }
  }

  /// nil: the operation left none, or all of them were let go.
  func output(of index: UInt32) -> [UInt8]? {
    var (low, high) = (0, outputs.count)
    while low < high {
      let middle = (low + high) / 2
      if outputs[middle].index < index { low = middle + 1 } else { high = middle }
    }
    return low < outputs.count && outputs[low].index == index ? outputs[low].output : nil
  }
}

extension ClusterState {
  // MARK: - Living graphs

  /// Keeps what an operation left; an empty one says that it left something which is not kept.
  mutating func keep(_ output: [UInt8], of id: OperationID) {
    let graph = id.graph.number
    let before = graphs[graph].outputExcess
    graphs[graph].keep(output, of: id.index)
    outputAccounts.change(id.graph, by: graphs[graph].outputExcess - before)
  }

  /// Whether an output may be kept: what one client's graphs have, and all together, is bounded
  /// beyond `Limits.keptOutputBytesPerOperation` for each of their operations.
  func hasRoom(for output: [UInt8], of id: OperationID) -> Bool {
    let before = graphs[id.graph.number].outputExcess
    let bytes = graphs[id.graph.number].outputBytes + outputWeight(output)
    let more = graphs[id.graph.number].outputExcess(of: bytes) - before
    if more == 0 { return true }
    let own = outputAccounts.owner(of: id.graph).map { outputAccounts.owned(by: $0) } ?? before
    return own + more <= Limits.keptOutputBytesPerPrincipal && hasRoom(forBytes: more)
  }

  /// What is cited by living graphs stays in memory beyond its bound, and takes room from these.
  private func hasRoom(forBytes bytes: Int) -> Bool {
    let cited = max(0, outputAccounts.remembered - Limits.rememberedOutputBytes)
    return outputAccounts.living + cited + bytes <= Limits.keptOutputBytes
  }

  /// The end of an attempt as the journal has it: without an output for which there is no room.
  func kept(_ result: AttemptResult, of id: OperationID) -> AttemptResult {
    guard result.isSuccess, !hasRoom(for: result.output, of: id) else { return result }
    var short = result
    short.output = []
    return short
  }

  /// Says whose graph it is, in this life of the coordinator; counts its outputs with those of its
  /// owner's others (G29).
  mutating func own(_ graph: GraphID, by owner: GraphOwner) {
    guard graphs.contains(graph.number) else { return }
    outputAccounts.own(graph, by: owner, bytes: graphs[graph.number].outputExcess)
  }

  /// Why there is no room for what a graph that is run again would take over (S11, G29); nil where
  /// there is.
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

  // MARK: - Ended graphs

  /// Drops what later submissions could cite beyond its bounds in number and bytes, oldest first:
  /// of a graph its outputs, then all. What a living graph cites stays.
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

  /// More than is needed, so that it is not looked for in every turn.
  private mutating func forgetOutputs(except cited: Set<GraphID>) {
    for graph in endedOrder where !cited.contains(graph) {
      if outputAccounts.remembered <= Limits.rememberedOutputBytes / 4 * 3 { return }
      guard let known = ended[graph], !known.outputs.isEmpty || !known.secrets.isEmpty else {
        continue
      }
      outputAccounts.remembered -= known.outputBytes
      ended[graph]?.outputs = []
      ended[graph]?.secrets = []
      ended[graph]?.outputsAreForgotten = true
    }
  }

  /// Of living graphs only those are looked at that may cite something: others are many, and this
  /// is asked whenever a graph ends.
  mutating func citedGraphs() -> Set<GraphID> {
    citing.removeAll { graphs.find($0)?.extraDependencies.isEmpty ?? true }
    var cited: Set<GraphID> = []
    for number in citing {
      for extra in graphs[number].extraDependencies.values.joined() { cited.insert(extra.on.graph) }
    }
    return cited
  }

  /// A graph has a dependency on another one.
  mutating func noteCiting(_ graph: UInt32) {
    // The newest, as a rule.
    let at = (citing.lastIndex { $0 < graph } ?? -1) + 1
    if at == citing.count || citing[at] != graph { citing.insert(graph, at: at) }
  }

  // MARK: - Reading

  /// Whether an operation left an output that is not kept, so that nobody can be given it.
  func lacksOutput(_ id: OperationID) -> Bool {
    if graphs.contains(id.graph.number) {
      return graphs[id.graph.number].outputs[id.index]?.isEmpty ?? false
    }
    guard let known = ended[id.graph], id.index < known.operationCount,
      OperationCell.Ending(rawValue: known.outcome(of: id.index)).outcome == .succeeded
    else { return false }
    return known.outputsAreForgotten || known.output(of: id.index)?.isEmpty ?? false
  }

  /// Refuses what would wait for an output that is not kept (S27).
  func checkOutput(of id: OperationID) throws(Refusal) {
    guard lacksOutput(id) else { return }
    throw Refusal(
      .expired, "the output of \(shown(id)) is not kept any more, so nothing can read it",
      hint: "run it again, or let it leave a file and read that", operations: [id])
  }
}

// What the coordinator's loop asks and says of outputs.
extension Scheduler {
  /// Says whose graph it is, in this life of the coordinator; counts its outputs with those of its
  /// owner's others (G29).
  public mutating func own(_ graph: GraphID, by owner: GraphOwner) {
    state.own(graph, by: owner)
  }

  /// Why there is no room for what a graph that is run again would take over (S11, G29); nil where
  /// there is.
  public func lackOfRoom(
    forOutputsOf submission: GraphSubmission, by owner: GraphOwner
  ) -> Refusal? {
    state.lackOfRoom(forOutputsOf: submission, by: owner)
  }
}
