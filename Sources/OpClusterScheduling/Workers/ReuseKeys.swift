// What an operation does and reads, as a key by which another that does the same is found. Follows
// from the state alone.

import OpClusterModel

extension ReuseDigests {
  /// What an operation does, as a digest of its work and of all that it reads; nil: what it depends
  /// on cannot be told, or it is not reusable. Call it when all that it depends on has ended. Costs
  /// its argument and its single dependencies; what a stage has in common is reckoned once.
  mutating func key(of id: OperationID, _ stage: Int, in state: ClusterState) -> ContentDigest? {
    let graph = id.graph.number
    guard state.graphs[graph].stages[stage].template.isReusable,
      let common = commonDigest(graph, stage, in: state)
    else { return nil }
    var text = KeyText()
    text.add(common.bytes)
    text.add(state.argument(of: id, stage))
    if state.graphs[graph].stages[stage].template.ownFiles.count > 1 {
      let element = Int(state.graphs[graph].stages[stage].element(id.index))
      text.add(state.graphs[graph].stages[stage].template.ownFiles(of: element))
    }
    text.add(shownIndex(of: id, stage, in: state))
    guard describeDependencies(of: id, to: &text, depth: 0, in: state) else { return nil }
    return SecretDigest.digest(of: text.bytes)
  }

  /// What all operations of a stage do and read alike.
  private mutating func commonDigest(
    _ graph: UInt32, _ stage: Int, in state: ClusterState
  ) -> ContentDigest? {
    if let known = common(graph, stage) { return known }
    var text = KeyText()
    state.graphs[graph].stages[stage].template.describeWork(
      to: &text, secrets: state.graphs[graph].submission.secrets)
    text.add(state.graphs[graph].submission.submitter)
    if state.graphs[graph].stages[stage].template.ownFiles.count == 1 {
      text.add(state.graphs[graph].stages[stage].template.ownFiles(of: 0))
    }
    let isKnown = describeStages(before: stage, graph, to: &text, depth: 0, in: state)
    let digest = isKnown ? SecretDigest.digest(of: text.bytes) : nil
    noteCommon(digest, graph, stage)
    return digest
  }

  // Each of these is false where something left nothing to be told by, or is too much.

  private mutating func describeStages(
    before stage: Int, _ graph: UInt32, to text: inout KeyText, depth: Int, in state: ClusterState
  ) -> Bool {
    for edge in state.graphs[graph].stages[stage].incoming where edge.match == .all {
      guard let digest = leavings(graph, edge.stage, depth: depth, in: state) else { return false }
      text.add(digest.bytes)
    }
    return true
  }

  /// What the operations of a stage left that has ended.
  private mutating func leavings(
    _ graph: UInt32, _ stage: Int, depth: Int, in state: ClusterState
  ) -> ContentDigest? {
    if let known = leavings(graph, stage) { return known }
    var text = KeyText()
    let indices = state.graphs[graph].stages[stage].indices
    var isKnown = indices.count <= Limits.reuseDependencies
    for index in indices where isKnown {
      isKnown = describe(state.graphs[graph].operation(index), to: &text, depth: depth, in: state)
    }
    let digest = isKnown ? SecretDigest.digest(of: text.bytes) : nil
    noteLeavings(digest, graph, stage)
    return digest
  }

  private mutating func describeDependencies(
    of id: OperationID, to text: inout KeyText, depth: Int, in state: ClusterState
  ) -> Bool {
    var dependencies: [OperationID] = []
    state.graphs[id.graph.number].forEachDependency(of: id.index) { on, _ in
      if dependencies.count <= Limits.reuseDependencies { dependencies.append(on) }
    }
    if dependencies.count > Limits.reuseDependencies { return false }
    for on in dependencies where !describe(on, to: &text, depth: depth, in: state) { return false }
    return true
  }

  /// A dependency is what it left, or what it did; a joint is what it joins.
  private mutating func describe(
    _ id: OperationID, to text: inout KeyText, depth: Int, in state: ClusterState
  ) -> Bool {
    guard let outcome = state.knownEnding(of: id)?.outcome else { return false }
    text.add(UInt32(outcome.rawValue))
    let graph = id.graph.number
    guard state.graphs.contains(graph) else {
      guard let output = state.ended[id.graph]?.output(of: id.index), !output.isEmpty else {
        return false
      }
      text.add(output)
      return true
    }
    let stage = state.graphs[graph].stageNumber(of: id.index)
    text.add(state.graphs[graph].stages[stage].template.name)
    text.add(shownIndex(of: id, stage, in: state))
    if let output = state.graphs[graph].outputs[id.index], !output.isEmpty {
      text.add(outputDigest(output, of: id).bytes)
      return true
    }
    if let key = state.graphs[graph].reuseKeys[id.index] {
      text.add(key.bytes)
      return true
    }
    guard depth < Self.mostJoints, state.graphs[graph].stages[stage].template.work == .nothing
    else { return false }
    return describeStages(before: stage, graph, to: &text, depth: depth + 1, in: state)
      && describeDependencies(of: id, to: &text, depth: depth + 1, in: state)
  }

  /// Joints one behind the other that are looked through.
  private static var mostJoints: Int { 64 }

  /// Many may read one output.
  private mutating func outputDigest(_ output: [UInt8], of id: OperationID) -> ContentDigest {
    if let known = self.output(of: id) { return known }
    let digest = SecretDigest.digest(of: output)
    noteOutput(digest, of: id)
    return digest
  }

  /// nil: a plain operation.
  private func shownIndex(
    of id: OperationID, _ stage: Int, in state: ClusterState
  ) -> UInt32? {
    let graph = id.graph.number
    guard state.graphs[graph].stages[stage].template.isArray else { return nil }
    let element = state.graphs[graph].stages[stage].element(id.index)
    return state.graphs[graph].stages[stage].template.shownIndex(ofElement: element)
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
