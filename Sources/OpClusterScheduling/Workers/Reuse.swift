// What was done before in the same way need not be done again: an operation whose work and inputs
// are those of one that has succeeded ends with what that one left. Only where it is asked for.

import OpClusterModel

extension Scheduler {
  /// What an operation does, as a digest of its work and of all that it reads; nil: what it depends
  /// on cannot be told, or it is not reusable. Call it when all that it depends on has ended. Costs
  /// its argument and its single dependencies; what a stage has in common is reckoned once.
  mutating func reuseKey(of id: OperationID, _ stage: Int) -> ContentDigest? {
    let graph = id.graph.number
    guard graphs[graph].stages[stage].template.isReusable,
      let common = commonDigest(graph, stage)
    else { return nil }
    var text = KeyText()
    text.add(common.bytes)
    text.add(argument(of: id, stage))
    if graphs[graph].stages[stage].template.ownFiles.count > 1 {
      let element = Int(graphs[graph].stages[stage].element(id.index))
      text.add(graphs[graph].stages[stage].template.ownFiles(of: element))
    }
    text.add(shownIndex(of: id, stage))
    guard describeDependencies(of: id, to: &text, depth: 0) else { return nil }
    return SecretDigest.digest(of: text.bytes)
  }

  /// What all operations of a stage do and read alike.
  private mutating func commonDigest(_ graph: UInt32, _ stage: Int) -> ContentDigest? {
    if let known = reuseDigests.common(graph, stage) { return known }
    var text = KeyText()
    graphs[graph].stages[stage].template.describeWork(
      to: &text, secrets: graphs[graph].submission.secrets)
    text.add(graphs[graph].submission.submitter)
    if graphs[graph].stages[stage].template.ownFiles.count == 1 {
      text.add(graphs[graph].stages[stage].template.ownFiles(of: 0))
    }
    let isKnown = describeStages(before: stage, graph, to: &text, depth: 0)
    let digest = isKnown ? SecretDigest.digest(of: text.bytes) : nil
    reuseDigests.noteCommon(digest, graph, stage)
    return digest
  }

  // Each of these is false where something left nothing to be told by, or is too much.

  private mutating func describeStages(
    before stage: Int, _ graph: UInt32, to text: inout KeyText, depth: Int
  ) -> Bool {
    for edge in graphs[graph].stages[stage].incoming where edge.match == .all {
      guard let digest = leavings(graph, edge.stage, depth: depth) else { return false }
      text.add(digest.bytes)
    }
    return true
  }

  /// What the operations of a stage left that has ended.
  private mutating func leavings(
    _ graph: UInt32, _ stage: Int, depth: Int
  ) -> ContentDigest? {
    if let known = reuseDigests.leavings(graph, stage) { return known }
    var text = KeyText()
    let indices = graphs[graph].stages[stage].indices
    var isKnown = indices.count <= Limits.reuseDependencies
    for index in indices where isKnown {
      isKnown = describe(graphs[graph].operation(index), to: &text, depth: depth)
    }
    let digest = isKnown ? SecretDigest.digest(of: text.bytes) : nil
    reuseDigests.noteLeavings(digest, graph, stage)
    return digest
  }

  private mutating func describeDependencies(
    of id: OperationID, to text: inout KeyText, depth: Int
  ) -> Bool {
    var dependencies: [OperationID] = []
    graphs[id.graph.number].forEachDependency(of: id.index) { on, _ in
      if dependencies.count <= Limits.reuseDependencies { dependencies.append(on) }
    }
    if dependencies.count > Limits.reuseDependencies { return false }
    for on in dependencies where !describe(on, to: &text, depth: depth) { return false }
    return true
  }

  /// A dependency is what it left, or what it did; a joint is what it joins.
  private mutating func describe(
    _ id: OperationID, to text: inout KeyText, depth: Int
  ) -> Bool {
    guard let outcome = state.knownEnding(of: id)?.outcome else { return false }
    text.add(UInt32(outcome.rawValue))
    let graph = id.graph.number
    guard graphs.contains(graph) else {
      guard let output = ended[id.graph]?.output(of: id.index), !output.isEmpty else {
        return false
      }
      text.add(output)
      return true
    }
    let stage = graphs[graph].stageNumber(of: id.index)
    text.add(graphs[graph].stages[stage].template.name)
    text.add(shownIndex(of: id, stage))
    if let output = graphs[graph].outputs[id.index], !output.isEmpty {
      text.add(outputDigest(output, of: id).bytes)
      return true
    }
    if let key = graphs[graph].reuseKeys[id.index] {
      text.add(key.bytes)
      return true
    }
    guard graphs[graph].stages[stage].template.work == .nothing, depth < Self.mostJoints else {
      return false
    }
    return describeStages(before: stage, graph, to: &text, depth: depth + 1)
      && describeDependencies(of: id, to: &text, depth: depth + 1)
  }

  /// Joints one behind the other that are looked through.
  private static var mostJoints: Int { 64 }

  /// Many may read one output.
  private mutating func outputDigest(_ output: [UInt8], of id: OperationID) -> ContentDigest {
    if let known = reuseDigests.output(of: id) { return known }
    let digest = SecretDigest.digest(of: output)
    reuseDigests.noteOutput(digest, of: id)
    return digest
  }

  /// nil: a plain operation.
  private func shownIndex(of id: OperationID, _ stage: Int) -> UInt32? {
    let graph = id.graph.number
    guard graphs[graph].stages[stage].template.isArray else { return nil }
    let element = graphs[graph].stages[stage].element(id.index)
    return graphs[graph].stages[stage].template.shownIndex(ofElement: element)
  }

  /// Notes that a reusable operation has just succeeded. Call it in the turn of its end, before its
  /// graph leaves.
  mutating func noteReusable(_ id: OperationID, into turn: inout SchedulingTurn) {
    guard graphs.contains(id.graph.number) else { return }
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    guard graphs[id.graph.number].stages[stage].template.isReusable,
      graphs[id.graph.number].cell(id.index).ending.outcome == .succeeded,
      let key = reuseKey(of: id, stage)
    else { return }
    commit(.madeReusable(id, key: key), into: &turn)
  }

  /// What an operation like this one has left, if all of it can still be had.
  private mutating func earlierOutcome(of id: OperationID, _ stage: Int) -> ReusableOutcome? {
    guard let key = reuseKey(of: id, stage), let known = state.reusable[key] else { return nil }
    let isThere = OperationOutput.contents(of: known.output).allSatisfy { content in
      holders.workers(with: content.digest).contains { isReadable($0) }
    }
    return isThere ? known : nil
  }

  /// Ends an operation with what one like it has left, without an attempt. False: there is none.
  mutating func reuse(
    _ id: OperationID, _ stage: Int, into turn: inout SchedulingTurn
  ) -> Bool {
    guard graphs[id.graph.number].stages[stage].template.isReusable,
      let known = earlierOutcome(of: id, stage)
    else { return false }
    var result = AttemptResult.success
    result.output = known.output
    if known.output.isEmpty {
      commit(.succeeded, id, into: &turn)
    } else {
      commit(.finished(id, state.withinRoom(result, of: id)), into: &turn)
    }
    noteReusable(id, into: &turn)
    guard graphs[id.graph.number].cell(id.index).ending.outcome == .succeeded else { return true }
    result.endedAt = turn.wall
    result.diagnostic = "reused: \(shownEarlier(known.operation)) has done the same before"
    // As of an operation that ended without an attempt: no attempt could report it.
    var line = AttemptHistory(
      attempt: AttemptID(operation: id, attempt: 0), outcome: .succeeded, reason: nil,
      workerName: "", result: result)
    line.run = 0
    turn.history.append(line)
    return true
  }

  /// By its name, as long as its graph lives.
  private func shownEarlier(_ id: OperationID) -> String {
    graphs.contains(id.graph.number)
      ? "operation \(state.shown(id))"
      : "operation \(id.index) of graph \(id.graph.number)"
  }
}

extension OperationTemplate {
  /// What its work is, without what only says when and where it runs.
  fileprivate func describeWork(to text: inout KeyText, secrets values: [String]) {
    switch work {
    case .nothing: text.add("nothing")
    case .command: text.add("command")
    case .call(let type): text.add("call \(type.name)/\(type.version)")
    case .blocks(let types):
      text.add("blocks")
      text.add(UInt32(clamping: types.count))
      for type in types { text.add("\(type.name)/\(type.version)") }
    }
    text.add(payload)
    text.add(fillsInput ? 1 : 0)
    text.add(UInt32(clamping: secrets.count))
    for secret in secrets where Int(secret) < values.count { text.add(values[Int(secret)]) }
    text.add(UInt32(clamping: inputFiles.count))
    for file in inputFiles {
      for part in [file.operation, file.file, file.folder] { text.add(part) }
      text.add(file.isByIndex ? 1 : 0)
    }
  }
}

/// Bytes from which each part can be told again: it begins with its length.
private struct KeyText {
  private(set) var bytes: [UInt8] = []

  mutating func add(_ part: [UInt8]) {
    add(UInt32(clamping: part.count))
    bytes += part
  }
  mutating func add(_ part: String) { add(Array(part.utf8)) }
  mutating func add(_ number: UInt32) {
    for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
  }
  mutating func add(_ number: UInt32?) {
    bytes.append(number == nil ? 0 : 1)
    if let number { add(number) }
  }
}
