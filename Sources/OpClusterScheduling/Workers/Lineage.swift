// What is lost with the last store that had it is made again (S153): the operation that left it
// runs once more, in a graph of its own, with the inputs that it had. If these are lost as well,
// what left them runs again first, as far back as it takes. `Recomputations` has the state of it,
// and `RecomputationEnds` what follows.

import OpClusterModel

/// What can be done about a content that nobody has.
private enum Lineage {
  /// This operation left it, and runs again already.
  case isRecomputed(OperationID)
  /// This operation left it, and may run again.
  case mayRecompute(OperationID)
  /// Nobody may make it again, for this reason.
  case ends(String)
}

extension Scheduler {
  /// Decides about operations that have waited long enough for a content: what left it runs again,
  /// or they fail. Costs their inputs; what is over a turn's measure is left to the next one.
  mutating func missContents(into turn: inout SchedulingTurn) {
    for wait in contentWaits.takeDue(at: turn.now, atMost: Limits.lineagesPerTurn) {
      let id = wait.operation
      guard graphs.contains(id.graph.number), graphs[id.graph.number].cell(id.index).isInLine
      else { continue }
      seek(id, into: &turn)
    }
  }

  private mutating func seek(_ id: OperationID, into turn: inout SchedulingTurn) {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let inputs = self.inputs(of: id, stage)
    let contents = contentsRead(from: inputs, id.graph.number, stage)
    guard let content = contents.first(where: { !canBeHad($0.digest) }) else {
      return state.enterLine(id, stage)
    }
    // First what decides: what runs again for an operation may be before it in its queue, and then
    // it is not in line any more, if it is a barrier.
    switch lineage(of: content.digest, among: inputs, of: id, stage) {
    case .isRecomputed(let origin):
      recomputeOthers(than: content, of: contents, inputs, id, stage, into: &turn)
      contentWaits.wait(id, for: content.digest, untilRecomputed: origin)
    case .mayRecompute(let origin):
      // Without room for another graph it waits, as for a worker.
      guard recompute(origin, into: &turn) else { return awaitContent(id, content, at: turn.now) }
      recomputeOthers(than: content, of: contents, inputs, id, stage, into: &turn)
      contentWaits.wait(id, for: content.digest, untilRecomputed: origin)
    case .ends(let reason):
      refuseInputs(
        id, .inputUnavailable,
        "what it needs (\(content.digest.short)) lay in the store of a worker that is gone, and "
          + "nobody else has it; \(reason)", into: &turn)
    }
  }

  /// Begins with the rest of what is lost as well: one after the other would take so long that the
  /// first is lost again. Costs the inputs for each that is.
  private mutating func recomputeOthers(
    than first: StoredContent, of contents: [StoredContent], _ inputs: [DependencyInput],
    _ id: OperationID, _ stage: Int, into turn: inout SchedulingTurn
  ) {
    var begun = 0
    for content in contents
    where content.digest != first.digest && holders.workers(with: content.digest).isEmpty {
      guard begun < Self.recomputedAtOnce,
        case .mayRecompute(let origin) = lineage(
          of: content.digest, among: inputs, of: id, stage)
      else { continue }
      begun += 1
      _ = recompute(origin, into: &turn)
    }
  }
  private static var recomputedAtOnce: Int { 64 }

  private func canBeHad(_ digest: ContentDigest) -> Bool {
    holders.workers(with: digest).contains { isReadable($0) }
  }

  private func lineage(
    of digest: ContentDigest, among inputs: [DependencyInput], of id: OperationID, _ stage: Int
  ) -> Lineage {
    let needs = graphs[id.graph.number].stages[stage].template.contentNeeds
    var reason = "submit it again"
    for input in inputs
    where input.contents(needs).contains(where: { $0.digest == digest }) {
      if input.name == InputFile.submitter {
        reason = "it is a file of the submitter: submit it again"
        continue
      }
      let origin = input.operation
      if state.recomputations[origin] != nil { return .isRecomputed(origin) }
      if let objection = objection(toRecomputing: origin) {
        reason = objection
        continue
      }
      return .mayRecompute(origin)
    }
    return .ends(reason)
  }

  /// The reason why an operation that has succeeded must not run again; nil: it may.
  private func objection(toRecomputing id: OperationID) -> String? {
    let name = state.shown(id)
    guard let graph = graphs.find(id.graph.number) else {
      return "graph \(id.graph.number), which made it, has ended: run that again"
    }
    let template = graph.stages[graph.stageNumber(of: id.index)].template
    if !template.isReproducible { return "\(name) made it, and is not reproducible" }
    if template.isExclusive || template.maximumLosses == 0 {
      return "\(name) made it, and must not run twice"
    }
    let queue = graph.queue(of: id.index, stage: graph.stageNumber(of: id.index)).number
    if queues.contains(queue), queues[queue].settings.name.utf8.count > Limits.nameBytes {
      return "\(name) made it, in a queue whose name with that of its graph is too long"
    }
    if template.isBarrier { return "\(name) made it, and is a barrier" }
    switch template.work {
    case .command, .call: break
    // Blocks that were added are not kept.
    case .blocks, .nothing: return "\(name) made it, and cannot run again by itself"
    }
    guard let before = graph.recomputations[id.index] else { return nil }
    if before.areInVain {
      return "\(name) made it, and did not succeed when it ran again"
    }
    return before.areTooMany(unfinished: graph.unfinished)
      ? "\(name) made it, and has run again for it \(before.count) times already" : nil
  }

  /// Submits a graph in which an operation runs again. False: there is no room for it now.
  private mutating func recompute(_ origin: OperationID, into turn: inout SchedulingTurn) -> Bool {
    let submission = graphAgain(for: origin)
    do { try checkNumbersAreLeft(for: submission, operations: 1) } catch { return false }
    let graph = GraphID(counters.lastGraph + 1)
    turn.submissions.append(
      AcceptedSubmission(graph: graph, submission: submission, at: turn.wall))
    let fingerprint = turn.keepsRecords ? submission.contentHash : 0
    commit(
      .submitted(graph, submission, fingerprint: fingerprint, at: turn.wall), into: &turn)
    if let owner = state.outputAccounts.owner(of: origin.graph) { state.own(graph, by: owner) }
    return true
  }

  private func graphAgain(for id: OperationID) -> GraphSubmission {
    let graph = graphs[id.graph.number]
    let stage = graph.stageNumber(of: id.index)
    var template = graph.stages[stage].template.alone(
      Int(graph.stages[stage].element(id.index)), argument: state.argument(of: id, stage))
    template.priority = graph.priority(of: id.index, stage: stage)
    // A journal takes no longer name back.
    var name = template.name
    while name.utf8.count > Limits.nameBytes - Self.nameSuffix.utf8.count { name.removeLast() }
    var submission = GraphSubmission(name: name + Self.nameSuffix)
    submission.templates = [template]
    submission.recomputes = id
    submission.secrets = graph.submission.secrets
    submission.origin = graph.submission.origin
    submission.isSuspended = graph.isSuspended
    submission.labels = graph.submission.labels.filter { $0.key != Self.recomputesLabel }
    if submission.labels.count < Limits.labelsPerThing {
      submission.labels.append(Label(key: Self.recomputesLabel, value: graph.shown(id.index)))
    }
    // The same limits hold for it; a queue of its graph stays until both have ended.
    let queue = graph.queue(of: id.index, stage: stage).number
    if queues.contains(queue) { submission.queues = [.named(queues[queue].settings.name)] }
    return submission
  }

  private static var nameSuffix: String { " again" }

  /// So that people see why there is such a graph.
  private static var recomputesLabel: String { "recomputes" }

  /// The reason why an operation in line waits for a content; nil if it does not. Visits the
  /// contents that are waited for, and the inputs of the operation.
  func contentLine(_ id: OperationID) -> String? {
    guard let digest = contentWaits.digest(of: id) else { return nil }
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    let lineage = lineage(of: digest, among: inputs(of: id, stage), of: id, stage)
    if case .isRecomputed(let origin) = lineage, let graph = state.recomputations[origin] {
      return "what it needs (\(digest.short)) is lost; \(state.shown(origin)) runs again, as graph "
        + "\(graph.number)"
    }
    return "what it needs (\(digest.short)) lies in the store of a worker that is not connected; "
      + "it is waited for"
  }
}

extension OperationTemplate {
  /// One element of it, as an operation by itself with the same numbers and the same work.
  fileprivate func alone(_ element: Int, argument: [UInt8]) -> OperationTemplate {
    var alone = self
    alone.count = 1
    if isArray {
      let shown = shownIndex(ofElement: UInt32(element))
      alone.indexRuns = [IndexRun(first: shown, count: 1)]
    }
    if !elementArguments.isEmpty {
      alone.elementArguments = ElementArguments()
      alone.elementArguments.append(argument)
    }
    if ownFiles.count > 1 {
      alone.ownFiles = ElementArguments()
      alone.ownFiles.append(ownFiles(of: element))
    }
    alone.queue = 0
    alone.maximumParallel = 0
    alone.isHeld = false
    alone.notBefore = nil
    alone.isReusable = false
    return alone
  }
}
