// A graph as far as it follows from its submission alone: stages, edges, blockers, cells. It is
// made before the graph has a number and without the state of the cluster, so that another thread
// can make it (`PreparedSubmission`); `GraphLifetime` then places it. A replay makes it from the
// journaled submission.

import OpClusterModel

struct GraphPlan: Sendable {
  /// The graph without number, time, place in line, queues and demand classes.
  var graph: Graph
  /// The demand classes of its stages, each once, and the number of stages of each; a stage names
  /// the position of its own.
  private(set) var demands: [StagesOfDemand] = []
  /// What its queues count when it joins them.
  private(set) var joinings: [Joining] = []
  /// The stages with elements that wait for nothing in the graph, ascending.
  private(set) var openings: [Opening] = []
  private(set) var outline = Outline()
  /// How many of its demand classes the graph takes in when it is placed,
  let demandsAtOnce: Int
  /// and the stages of the others, ascending: they have one gate more, until a later turn takes in
  /// their class (`LaterStages`).
  private(set) var laterStages: [Int] = []

  /// What admission asks about.
  struct Outline: Sendable {
    var operationCount: UInt32 = 0
    /// The templates that do not start before a moment, ascending.
    var delayed: [Int] = []
    /// The first exclusive template.
    var exclusive: Int?
    /// The number of secrets that the templates refer to: one more than the highest reference.
    var secrets: UInt32 = 0
    /// Whether an operation reads the outputs of others.
    var wantsInputs = false

    init() {}

    /// That of a submission whose plan nobody needs.
    init(_ submission: GraphSubmission) {
      operationCount = UInt32(clamping: submission.operationCount)
      for at in submission.templates.indices { gather(submission.templates[at], at) }
    }

    fileprivate mutating func gather(_ template: OperationTemplate, _ at: Int) {
      if template.notBefore != nil { delayed.append(at) }
      if template.isExclusive, exclusive == nil { exclusive = at }
      if template.wantsInputs { wantsInputs = true }
      for secret in template.secrets { secrets = max(secrets, secret.saturatingAdd(1)) }
    }
  }

  /// Operations that a queue counts together: all of the graph up to its next barrier there.
  struct Joining: Sendable {
    /// The position of the queue's reference in the submission.
    var queue: Int
    /// The index of the first operation.
    var first: UInt32
    var count: UInt32
    var isBarrier: Bool
  }

  /// Neighbouring stages with elements that wait for nothing in the graph.
  struct Opening: Sendable {
    var stages: Range<Int>
    /// Whether they are alike, and nothing but a barrier can keep them from being ready: then they
    /// open together.
    var isPlain = false
  }

  /// Expects a submission whose indices are within bounds, as `SubmissionChecks` finds out. Costs
  /// templates, edges and operations with own edges, not plain array elements.
  init(
    _ submission: GraphSubmission, _ edges: TemplateEdges, pageBits: UInt32,
    demandsAtOnce: Int
  ) {
    self.demandsAtOnce = demandsAtOnce
    let lowered = LoweredEdges(submission, edges)
    let count = UInt32(submission.operationCount)
    graph = Graph(
      id: GraphID(0), submission: submission.withoutParts, fingerprint: 0,
      submittedAt: .unknown, basePlace: 0, stages: [],
      cells: CellTable(count: count, pageBits: pageBits), dependents: lowered.dependents,
      dependencies: lowered.dependencies, changes: PlaceTable(pageBits: pageBits),
      enqueuedIn: PlaceTable(pageBits: pageBits),
      reasons: ReasonTable(count: count, pageBits: pageBits), unfinished: count,
      isSuspended: submission.isSuspended)
    if !submission.failureScopes.isEmpty {
      graph.scopeFailures = submission.failureScopes.map { _ in 0 }
      graph.stoppedScopes = submission.failureScopes.map { _ in false }
    }
    graph.edgesAscend = lowered.ascend
    outline.operationCount = count
    makeStages(submission)
    connect(lowered.groupEdges)
    graph.stageNames = StageNames(graph.stages)
    for edge in submission.externalEdges {
      graph.extraDependencies[edge.to, default: []].append(
        Graph.ExtraDependency(on: edge.from, policy: edge.policy, isOriginal: true))
    }
    if !graph.dependencies.isEmpty {
      for index in 0..<count {
        let own = graph.dependencies.range(of: index).count
        if own > 0 { graph.update(index) { $0.blockers += UInt32(own) } }
      }
    }
    graph.delayedStages = outline.delayed
    findOpenings(submission)
  }

  init(_ submission: GraphSubmission, pageBits: UInt32, demandsAtOnce: Int) {
    self.init(
      submission, TemplateEdges(submission), pageBits: pageBits, demandsAtOnce: demandsAtOnce)
  }

  /// Whether it is the same as one for another number of demand classes at once.
  func isFor(demandsAtOnce other: Int) -> Bool {
    other == demandsAtOnce || demands.count <= min(other, demandsAtOnce)
  }

  // MARK: - Stages

  /// Makes one stage for each template, with first indices that add up. Its elements share the cell
  /// `pristine` until something happens to one of them, so that an array of a million costs one
  /// cell here.
  private mutating func makeStages(_ submission: GraphSubmission) {
    var first: UInt32 = 0
    var demandNumbers = DemandNumbers()
    var queues = QueueCounts(submission)
    graph.stages.reserveCapacity(submission.templates.count)
    for at in submission.templates.indices {
      let template = submission.templates[at]
      outline.gather(template, at)
      if !template.ownFiles.isEmpty { graph.stagesWithContents.append(at) }
      // Mostly they are those of the one before.
      if at == 0 || template.labels != submission.templates[at - 1].labels {
        graph.stageLabels.formUnion(template.labels)
      }
      var pristine = OperationCell()
      pristine.phase = submission.isDeclaredOnly ? .declared : .waiting
      if template.isHeld { pristine.flags.insert(.held) }
      var stage = Stage(
        template: template, firstIndex: first,
        demandPosition: demandNumbers.number(of: template, &demands), pristine: pristine,
        unfinished: template.count)
      stage.counts[pristine.word] = template.count
      graph.counts[pristine.word] += template.count
      // Whether a declared operation is ready is not told anew when its gate opens.
      if stage.demandPosition >= demandsAtOnce, !submission.isDeclaredOnly {
        stage.gates = 1
        laterStages.append(at)
      }
      graph.stages.append(stage)
      queues.count(template, from: first, &joinings)
      first += template.count
    }
  }

  /// An edge on an array without elements opens no gate, so it closes none (S32).
  private mutating func connect(_ edges: [GroupEdge]) {
    for edge in edges {
      let (from, to) = (Int(edge.from), Int(edge.to))
      graph.stages[from].outgoing.append(
        StageEdge(stage: to, policy: edge.policy, match: edge.match))
      graph.stages[to].incoming.append(
        StageEdge(stage: from, policy: edge.policy, match: edge.match))
      switch edge.match {
      case .all: if graph.stages[from].template.count > 0 { graph.stages[to].gates += 1 }
      // Counted once for all elements, which have equal cells until one of them changes.
      case .sameIndex: graph.stages[to].pristine.blockers += 1
      }
    }
  }
}

extension GraphPlan {
  private mutating func findOpenings(_ submission: GraphSubmission) {
    for at in graph.stages.indices where graph.mayOpen(stage: at) {
      let isPlain = graph.isPlain(stage: at)
      if isPlain, let last = openings.last, last.isPlain, last.stages.upperBound == at,
        graph.standTogether(at - 1, at)
      {
        openings[openings.count - 1].stages = last.stages.lowerBound..<(at + 1)
      } else {
        openings.append(Opening(stages: at..<(at + 1), isPlain: isPlain))
      }
    }
  }
}

extension Graph {
  /// Whether a stage without gates has elements that are not known to be blocked by others. A short
  /// step for each element that is.
  fileprivate func mayOpen(stage: Int) -> Bool {
    if stages[stage].gates > 0 { return false }
    var index = stages[stage].firstIndex
    let end = stages[stage].indices.upperBound
    while index < end {
      guard cells.hasPage(of: index) else { return true }
      let open = cells.firstUnblocked(from: index, before: end)
      let next = cells.pageBoundary(after: index, before: end)
      if open < next { return true }
      index = next
    }
    return false
  }

  /// Whether all elements of a stage without gates become ready with it, unless a barrier is ahead.
  fileprivate func isPlain(stage: Int) -> Bool {
    stages[stage].pristine.phase == .waiting && stages[stage].pristine.blockers == 0
      && !stages[stage].pristine.isHeld && !stages[stage].template.isBarrier
      && stages[stage].template.notBefore == nil
      && !cells.hasPages(in: stages[stage].indices)
  }

  /// Whether two stages stand in the same line, in the same class and level.
  fileprivate func standTogether(_ one: Int, _ other: Int) -> Bool {
    stages[one].template.queue == stages[other].template.queue
      && stages[one].demandPosition == stages[other].demandPosition
      && stages[one].template.priority == stages[other].template.priority
  }
}

/// Numbers the demand classes of a submission.
private struct DemandNumbers {
  /// Empty as long as there is one: most submissions have no other.
  private var numbers: [DemandClass: Int] = [:]
  /// The latest template: most equal the one before them.
  private var last: (demand: Resources, requirements: [LabelRequirement], work: Work, number: Int)?

  mutating func number(
    of template: OperationTemplate, _ known: inout [StagesOfDemand]
  ) -> Int {
    if let last, last.demand == template.demand, last.work == template.work,
      last.requirements == template.requirements
    {
      known[last.number].stages += 1
      return last.number
    }
    let demandClass = DemandClass(template)
    if numbers.isEmpty, let only = known.first { numbers[only.demandClass] = 0 }
    let number = numbers[demandClass] ?? known.count
    if number == known.count {
      if number > 0 { numbers[demandClass] = number }
      known.append(StagesOfDemand(demandClass: demandClass, stages: 0))
    }
    known[number].stages += 1
    last = (template.demand, template.requirements, template.work, number)
    return number
  }
}

/// Gathers what is counted together in each queue of a submission.
private struct QueueCounts {
  /// For each entry of the submission's queues, the first that is the same queue.
  private let queues: [Int]
  /// By queue: the position of what can still grow; nil at the beginning and behind a barrier.
  private var open: [Int?]

  init(_ submission: GraphSubmission) {
    queues = submission.distinctQueues
    open = queues.map { _ in nil }
  }

  mutating func count(
    _ template: OperationTemplate, from first: UInt32, _ joinings: inout [GraphPlan.Joining]
  ) {
    // An array without elements is in no queue.
    if template.count == 0 { return }
    let queue = queues[Int(template.queue)]
    if !template.isBarrier, let at = open[queue] {
      joinings[at].count += template.count
      return
    }
    open[queue] = template.isBarrier ? nil : joinings.count
    joinings.append(
      GraphPlan.Joining(
        queue: queue, first: first, count: template.count, isBarrier: template.isBarrier))
  }
}
