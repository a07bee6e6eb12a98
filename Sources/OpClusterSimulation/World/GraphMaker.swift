// Random graphs with every kind of template, edge and policy of a submission. Graphs are meant to
// be accepted: a refusal comes of something that has changed since, such as a removed queue. Edges
// lead forward only, so that none closes a cycle inside the graph.

import OpClusterModel
import OpClusterWire

struct GraphMaker {
  var chance: Chance
  let plan: Plan

  /// `earlier` are operations of other graphs that it may depend on, `queues` names of queues. From
  /// half to twice `plan.size` operations, in at most 24 templates.
  mutating func graph(
    key: String, earlier: [OperationID], queues: [String]
  ) -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey(key), name: "g-\(key)")
    addQueues(queues, to: &submission)
    var left = chance.between(max(plan.size / 2, 1), plan.size * 2)
    while left > 0, submission.templates.count < 24 {
      let count = chance.percent(35) ? chance.between(1, min(left, 9)) : 1
      submission.templates.append(template(submission, count))
      left -= count
    }
    addGroupEdges(&submission)
    addElementEdges(&submission)
    for from in earlier where chance.percent(25) {
      submission.externalEdges.append(
        ExternalEdge(
          from: from, to: UInt32(chance.below(submission.operationCount)), policy: policy()))
    }
    if chance.percent(30) { submission.failurePolicy = chance.pick(FailurePolicy.allCases) }
    if chance.percent(10) { submission.maximumFailures = UInt32(chance.below(3)) }
    addFailureScopes(&submission)
    submission.isSuspended = chance.percent(5)
    submission.isDeclaredOnly = chance.percent(6)
    return submission
  }

  /// Without queues everything goes to `default`. A queue of the graph's own has the name `own`,
  /// which `someQueue` knows.
  private mutating func addQueues(_ names: [String], to submission: inout GraphSubmission) {
    if chance.percent(40) { return }
    submission.queues = [.named("default")]
    for name in names where chance.percent(50) { submission.queues.append(.named(name)) }
    if chance.percent(40) {
      var own = QueueSettings(name: "own", qos: chance.pick(QualityOfService.allCases))
      if chance.percent(70) { own.maximumConcurrent = UInt32(chance.between(1, 3)) }
      if plan.poolPercent > 0, chance.percent(plan.poolPercent) { own.pool = Plan.pool }
      submission.queues.append(.own(own))
    }
  }

  /// One template. An array has up to nine elements: enough for whole-array edges and gates.
  private mutating func template(
    _ submission: GraphSubmission, _ count: Int
  ) -> OperationTemplate {
    let name = "t\(submission.templates.count)"
    var template = OperationTemplate(
      name: name, count: UInt32(count), work: .call(Plan.plainType))
    switch chance.below(10) {
    case 0: template.work = .nothing
    case 1, 2: template.work = .command
    // A type that only some workers have.
    case 3: template.work = .call(Plan.rareType)
    case 4: template.work = .blocks([Plan.plainType])
    default: break
    }
    if template.work == .command { template.payload = command() }
    if case .blocks = template.work {
      if chance.percent(50) { template.payload = [UInt8(chance.below(100)), 1] }
    } else if chance.percent(20) {
      for at in 0..<count { template.elementArguments.append([UInt8(at & 255), 7]) }
    }
    template.queue = UInt32(chance.below(max(submission.queues.count, 1)))
    template.priority = chance.pick(Priority.allCases)
    addDemand(&template)
    if chance.percent(30) {
      template.retry = RetryPolicy(maximum: UInt32(chance.between(1, 3)))
      if chance.percent(50) { template.retry.backoff = chance.milliseconds(1, 3_000) }
    }
    if chance.percent(15) { template.maximumLosses = UInt32(chance.below(3)) }
    if chance.percent(15) { template.maximumParallel = UInt32(chance.between(1, 2)) }
    if chance.percent(10) { template.allowedFailures = .all }
    template.isFinal = chance.percent(5)
    // Admission takes barriers of one operation alone.
    template.isBarrier = count == 1 && chance.percent(6)
    template.wantsInputs = chance.percent(25)
    if plan.contentPercent > 0, chance.percent(60) {
      template.isReproducible = chance.percent(90)
      if chance.percent(25) { template.replicas = UInt8(chance.between(2, 3)) }
      template.wantsInputs = true
      template.inputFiles = submission.templates.map { dependency in
        InputFile(
          operation: dependency.name, file: SimulatedStore.fileName, folder: dependency.name,
          isByIndex: dependency.isArray)
      }
    }
    template.isHeld = chance.percent(5)
    template.isExclusive = template.work != .nothing && chance.percent(plan.exclusivePercent)
    return template
  }

  /// Fractions and several kinds of resources.
  private mutating func addDemand(_ template: inout OperationTemplate) {
    switch chance.below(12) {
    case 0: template.demand.cpus = ResourceAmount(2)
    case 1: template.demand.cpus = ResourceAmount(tenThousandths: 5_000)
    case 2: template.demand.gpus = ResourceAmount(tenThousandths: 5_000)
    case 3: template.demand.memoryBytes = 1 << 29
    case 4:
      template.demand.custom = [
        Resources.NamedAmount(name: "seat", amount: ResourceAmount(1))
      ]
    case 5: template.demand = .none
    default: break
    }
    if chance.percent(10) {
      template.requirements = [LabelRequirement(key: "zone", values: ["a", "b"])]
    }
  }

  /// Time limits may be shorter than what the seed lets the process last.
  private mutating func command() -> [UInt8] {
    var command = CommandSpecification(form: .arguments([CommandText("/bin/true")]))
    if chance.percent(30) { command.timeout = chance.milliseconds(5, 2_000) }
    if chance.percent(30) { command.grace = chance.milliseconds(1, 3_000) }
    return Wire.encode(command: command)
  }

  /// Adds groups with `on_failure` and `max_failures` of their own.
  private mutating func addFailureScopes(_ submission: inout GraphSubmission) {
    guard chance.percent(25) else { return }
    for _ in 0..<chance.between(1, 2) {
      let first = chance.below(submission.templates.count)
      let count = chance.between(1, submission.templates.count - first)
      submission.failureScopes.append(
        FailureScope(
          first: UInt32(first), count: UInt32(count),
          maximumFailures: UInt32(chance.below(2)), cancelsRunning: chance.percent(50)))
    }
  }

  /// Mostly success, as of manifests; the others make skips and compensation.
  private mutating func policy() -> EdgePolicy {
    chance.percent(60) ? .succeeded : chance.pick(EdgePolicy.allCases)
  }

  /// At most about three edges for each template, so that later templates are not all blocked by
  /// the first failure.
  private mutating func addGroupEdges(_ submission: inout GraphSubmission) {
    let share = chance.pick([0, 10, 25, 50])
    for to in submission.templates.indices {
      for from in 0..<to where chance.percent(min(share, 300 / max(to, 1))) {
        let same = submission.templates[from].count == submission.templates[to].count
        submission.groupEdges.append(
          GroupEdge(
            from: UInt32(from), to: UInt32(to), policy: policy(),
            match: same && chance.percent(60) ? .sameIndex : .all))
      }
    }
  }

  private mutating func addElementEdges(_ submission: inout GraphSubmission) {
    let count = submission.operationCount
    guard count > 1, chance.percent(45) else { return }
    for to in 1..<count where chance.percent(50) {
      // Mostly chains of neighbours, which workers unblock by themselves.
      let from = chance.percent(70) ? to - 1 : chance.below(to)
      submission.elementEdges.from.append(UInt32(from))
      submission.elementEdges.to.append(UInt32(to))
      submission.elementEdges.policies.append(policy())
    }
    avoidConflicts(&submission)
  }

  /// Two edges between the same operations must agree: those of the templates win.
  private func avoidConflicts(_ submission: inout GraphSubmission) {
    var templates: [Int] = []
    for (at, template) in submission.templates.enumerated() {
      templates += Array(repeating: at, count: Int(template.count))
    }
    for at in 0..<submission.elementEdges.count {
      let from = templates[Int(submission.elementEdges.from[at])]
      let to = templates[Int(submission.elementEdges.to[at])]
      guard let whole = submission.groupEdges.first(where: { $0.from == from && $0.to == to })
      else { continue }
      submission.elementEdges.policies[at] = whole.policy
    }
  }
}
