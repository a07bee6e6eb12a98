// One living graph: its stages, cells and edges. It knows only its own operations, not queues or
// workers; the scheduler changes it.

import OpClusterModel

struct Graph: Blankable {
  var id: GraphID
  /// Without templates, which the stages have, and without edges between operations, which the
  /// tables have.
  var submission: GraphSubmission
  var fingerprint: UInt64
  var submittedAt: WallTime
  /// The place in line of operation 0; the others follow in order of addition.
  var basePlace: UInt64
  var stages: [Stage]
  var stageNames = StageNames()
  /// The labels that any of its stages has.
  var stageLabels: Set<Label> = []
  /// The states of all its operations.
  var counts = StateCounts()
  /// The stages that do not start before a moment, ascending.
  var delayedStages: [Int] = []
  /// The stages that read files of the submitter, ascending.
  var stagesWithContents: [Int] = []
  /// The stages with a demand class of their own.
  var stagesApart: [Int] = []
  /// The queue of each reference of the submission.
  var queues: [QueueID] = []
  var demandClasses = UsedDemandClasses()
  var cells: CellTable
  /// The dependents of each operation.
  var dependents: EdgeTable
  /// The dependencies of each operation, in order of addition.
  var dependencies: EdgeTable
  /// Whether every edge within the graph leads to a higher index, late ones included: what waits
  /// for an operation is then behind it.
  var edgesAscend = true
  /// Operations of other graphs that wait for one of this graph.
  var externalDependents: [UInt32: [ExternalDependent]] = [:]
  /// Dependencies beyond the table: on other graphs, and late ones.
  var extraDependencies: [UInt32: [ExtraDependency]] = [:]
  /// What reusable operations did that have succeeded.
  var reuseKeys: [UInt32: ContentDigest] = [:]
  /// How often operations ran again because what they left was lost.
  var recomputations: [UInt32: Recomputations] = [:]
  /// The living graphs that run one of its operations again. Until they have ended it lives.
  var recomputing: UInt32 = 0
  /// Edges of the tables that were removed (S37).
  var removedDependencies: [UInt32: [OperationID]] = [:]
  /// The own priority or place of single operations (S52).
  var changes: PlaceTable<PlaceChange>
  /// The queues of operations that were enqueued individually, or moved.
  var enqueuedIn: PlaceTable<Enqueueing>
  /// The outputs of operations (`keep`); an empty one is not kept.
  var outputs: [UInt32: [UInt8]] = [:]
  /// The memory of the outputs.
  var outputBytes = 0
  /// Blocks that were added to block operations after their submission (S120).
  var addedBlocks: [UInt32: [UInt8]] = [:]
  /// Workers that could not start an operation, at most `Limits.workersThatAgree` of each. Not
  /// durable.
  var unable: [UInt32: [UInt32]] = [:]
  /// Workers that an operation avoids, because it failed there, at most `Limits.workersAvoided` of
  /// each. Not durable.
  var avoided: [UInt32: [UInt32]] = [:]
  /// The pauses after failed attempts, each until the next attempt is handed over.
  var pauses: [UInt32: Pause] = [:]
  /// By page: when its operations became ready together, if they did; empty: of none. The times of
  /// single operations are in `ClusterState.timestamps`. Not durable, and only for people.
  var readyTimes: [WallTime] = []
  var reasons: ReasonTable
  /// The queues that belong to the graph and are removed with it.
  var ownQueues: [QueueID] = []
  var unfinished: UInt32
  /// Operations that are to be skipped, and have not been yet.
  var impossible: UInt32 = 0
  /// Its operations that have ended and of which edges are yet to be resolved.
  var openEdges: Int32 = 0
  /// Whether the ends of its operations have yet consequences in it.
  var hasPendingEnds: Bool { impossible > 0 || openEdges > 0 }
  /// Operations handed over or executing.
  var inFlight: UInt32 = 0
  /// Failures except allowed ones.
  var failures: UInt32 = 0
  var allowedFailures: UInt32 = 0
  var sawCancelled = false
  var failurePolicyTookEffect = false
  /// The failures in each of `submission.failureScopes`.
  var scopeFailures: [UInt32] = []
  /// The scopes that have begun to stop their part, in this life.
  var stoppedScopes: [Bool] = []
  /// Whether its own failure policy has begun to stop it, in this life.
  var isStoppedAsAWhole = false
  var isSuspended: Bool
  /// The failure policies that are ending it, or parts of it. Not durable.
  var stoppingPolicies: Int32 = 0
  var isStopping: Bool { stoppingPolicies > 0 }
  /// Whether nothing of it is handed over.
  var isHalted: Bool { isSuspended || isStopping }
  /// Ready runs that wait until it is not halted any more.
  var parked: [LinePlace] = []

  struct ExternalDependent: Sendable {
    var operation: OperationID
    var policy: EdgePolicy
  }
  struct ExtraDependency: Sendable {
    var on: OperationID
    var policy: EdgePolicy
    /// Whether it came with the submission rather than later.
    var isOriginal: Bool
  }
  struct PlaceChange: Placed {
    var priority: Priority
    var place: UInt64
  }
  struct Enqueueing: Placed {
    var queue: QueueID
    /// Its position among the barriers, independent of later changes of its place in line.
    var place: UInt64
  }
  /// The pause between two attempts: it ends `length` after `since`.
  struct Pause: Sendable {
    var since: WallTime
    var length: Span
    /// The rest of the pause: at most its length, whatever the clock shows.
    func rest(at wall: WallTime) -> Span { max(.zero, length - max(.zero, wall - since)) }
  }

  /// Forgets the pause of an operation, if there is one. In place: to read a table from outside
  /// copies the graph.
  mutating func endPause(of index: UInt32) {
    if !pauses.isEmpty { pauses[index] = nil }
  }

  /// Notes that whole pages became ready. A step for each.
  mutating func noteReady(_ span: OperationSpan, at time: WallTime) {
    if readyTimes.isEmpty {
      readyTimes = Array(repeating: .unknown, count: Int(operationCount >> cells.pageBits) + 1)
    }
    let last = (span.range.upperBound - 1) >> cells.pageBits
    for page in (span.first >> cells.pageBits)...last { readyTimes[Int(page)] = time }
  }

  /// When an operation became ready with its page or its stage.
  func commonReadyTime(of index: UInt32, stage: Int) -> WallTime {
    let time = readyTimes.isEmpty ? .unknown : readyTimes[Int(index >> cells.pageBits)]
    return time == .unknown ? stages[stage].readyAt : time
  }

  /// Forgets what the operations of a span have no use for after their end.
  mutating func forgetNotes(of span: OperationSpan) {
    guard span.isSingle else {
      // Only an operation that ran has the others.
      if addedBlocks.isEmpty { return }
      for index in span.range.members(of: addedBlocks) { addedBlocks[index] = nil }
      return
    }
    if !addedBlocks.isEmpty { addedBlocks[span.first] = nil }
    if !avoided.isEmpty { avoided[span.first] = nil }
    endPause(of: span.first)
  }

  var operationCount: UInt32 { cells.count }

  // What is read at each step is inlined: a call of its own would copy the graph.

  /// The number of an operation's stage.
  @inline(__always)
  func stageNumber(of index: UInt32) -> Int {
    stages.count == 1 ? 0 : Self.stageNumber(of: index, in: stages, operationCount)
  }

  private static func stageNumber(
    of index: UInt32, in stages: [Stage], _ operationCount: UInt32
  ) -> Int {
    // If every stage has one operation, the numbers are equal.
    if stages.count == Int(operationCount), stages[Int(index)].firstIndex == index,
      stages[Int(index)].template.count == 1
    {
      return Int(index)
    }
    var low = 0
    var high = stages.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if stages[middle].firstIndex <= index { low = middle } else { high = middle }
    }
    // A stage without elements shares its first index with the next one, which the search finds.
    return low
  }

  @inline(__always)
  func cell(_ index: UInt32) -> OperationCell {
    cells.stored(index) ?? stages[stageNumber(of: index)].pristine
  }

  /// Changes a cell; gives its page own cells first if necessary.
  @inline(__always)
  @discardableResult
  mutating func update<Result>(
    _ index: UInt32, _ body: (inout OperationCell) -> Result
  ) -> Result {
    if !cells.hasOwnCells(of: index) { materialise(index) }
    return cells.update(index, body)
  }

  private mutating func materialise(_ index: UInt32) {
    let stages = self.stages
    var number = stageNumber(of: (index >> cells.pageBits) << cells.pageBits)
    cells.materialise(index) { at in
      while number + 1 < stages.count && stages[number + 1].firstIndex <= at { number += 1 }
      return stages[number].pristine
    }
  }

  @inline(__always)
  func operation(_ index: UInt32) -> OperationID { OperationID(graph: id, index: index) }

  @inline(__always)
  func place(of index: UInt32) -> UInt64 {
    changes.isEmpty ? basePlace + UInt64(index) : changes[index]?.place ?? basePlace + UInt64(index)
  }

  /// Its position among the barriers: the place of its enqueueing, regardless of later changes
  /// (S77).
  @inline(__always)
  func enqueuePlace(of index: UInt32) -> UInt64 {
    enqueuedIn.isEmpty
      ? basePlace + UInt64(index) : enqueuedIn[index]?.place ?? basePlace + UInt64(index)
  }

  @inline(__always)
  func priority(of index: UInt32, stage: Int) -> Priority {
    changes.isEmpty
      ? stages[stage].template.priority
      : changes[index]?.priority ?? stages[stage].template.priority
  }

  @inline(__always)
  func queue(of index: UInt32, stage: Int) -> QueueID {
    enqueuedIn.isEmpty ? queue(ofStage: stage) : enqueuedIn[index]?.queue ?? queue(ofStage: stage)
  }

  /// The queue of a stage's elements, but for those that were moved.
  @inline(__always)
  func queue(ofStage stage: Int) -> QueueID { queues[Int(stages[stage].template.queue)] }

  /// The demand class of a stage: the interned properties that decide which workers fit. Expects
  /// that it has been taken in, as it has if a gate of the stage ever opened.
  @inline(__always)
  func demandClass(of stage: Int) -> Int { demandClasses[stages[stage].demandPosition] }

  /// Whether the class of a stage comes in a later turn (`LaterStages`).
  func lacksDemandClass(of stage: Int) -> Bool {
    stages[stage].demandPosition >= demandClasses.count
  }

  /// `12/align/3`, or `12/align`.
  func shown(_ index: UInt32) -> String {
    let stage = stages[stageNumber(of: index)]
    return StageName(graph: id, name: stage.template.name).path(
      element: stage.template.isArray
        ? stage.template.shownIndex(ofElement: stage.element(index)) : nil)
  }

  /// Calls `body` for every dependency on a single operation, in order of addition. Dependencies on
  /// whole stages are in `stages[…].incoming`.
  func forEachDependency(of index: UInt32, _ body: (OperationID, EdgePolicy) -> Void) {
    let removed = removedDependencies.isEmpty ? nil : removedDependencies[index]
    for position in dependencies.range(of: index) {
      let edge = dependencies[position]
      let on = operation(edge.index)
      if removed?.contains(on) != true { body(on, edge.policy) }
    }
    let stage = stages[stageNumber(of: index)]
    for edge in stage.incoming where edge.match == .sameIndex {
      let on = operation(stages[edge.stage].firstIndex + stage.element(index))
      if removed?.contains(on) != true { body(on, edge.policy) }
    }
    for extra in extraDependencies[index] ?? [] { body(extra.on, extra.policy) }
  }
}

extension Graph {
  static var blank: Graph {
    Graph(
      id: GraphID(0), submission: GraphSubmission(name: ""), fingerprint: 0,
      submittedAt: .unknown, basePlace: 0, stages: [], cells: CellTable(count: 0),
      dependents: EdgeTable(), dependencies: EdgeTable(), changes: PlaceTable(pageBits: 0),
      enqueuedIn: PlaceTable(pageBits: 0), reasons: ReasonTable(count: 0, pageBits: 0),
      unfinished: 0, isSuspended: false)
  }
}
