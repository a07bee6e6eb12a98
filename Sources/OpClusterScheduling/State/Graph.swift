// One living graph: its stages, cells and edges. It knows its own operations and nothing of
// queues or workers; the scheduler moves it.

import OpClusterModel

struct Graph: Blankable {
  let id: GraphID
  var submission: GraphSubmission
  let fingerprint: UInt64
  var submittedAt: WallTime
  /// Place in line of operation 0; the others follow it in order of addition.
  var basePlace: UInt64
  var stages: [Stage]
  var cells: CellTable
  /// Who waits for an operation.
  var dependents: EdgeTable
  /// Whom an operation waits for, in order of addition.
  var dependencies: EdgeTable
  /// Operations of other graphs that wait for one of this.
  var externalDependents: [UInt32: [ExternalDependent]] = [:]
  /// Dependencies beyond the table: on other graphs, and those added later.
  var extraDependencies: [UInt32: [ExtraDependency]] = [:]
  /// Edges of the tables that were taken away (S37).
  var removedDependencies: [UInt32: [OperationID]] = [:]
  /// Own priority or place of single operations (S52).
  var changes: [UInt32: PlaceChange] = [:]
  /// Queues of operations that were enqueued on their own, or moved.
  var enqueuedIn: [UInt32: Enqueueing] = [:]
  /// What operations left (`keep`); empty: it is not kept.
  var outputs: [UInt32: [UInt8]] = [:]
  /// What these take in memory.
  var outputBytes = 0
  /// Blocks that were added to block operations after their submission (S120).
  var addedBlocks: [UInt32: [UInt8]] = [:]
  /// Workers that could not start an operation, at most `Limits.workersThatAgree` of each. Not
  /// durable.
  var unable: [UInt32: [UInt32]] = [:]
  /// Workers at which an operation failed that keeps away from them, at most
  /// `Limits.workersAvoided` of each. Not durable.
  var avoided: [UInt32: [UInt32]] = [:]
  /// Why operations are cancelled, newest last; read for people only.
  var reasons: [ReasonRun] = []
  /// The queues that came with it, and go with it.
  var ownQueues: [QueueID] = []
  var unfinished: UInt32
  /// Failures that are not allowed ones.
  var failures: UInt32 = 0
  var allowedFailures: UInt32 = 0
  var sawCancelled = false
  var failurePolicyTookEffect = false
  /// Failures in each of `submission.failureScopes`.
  var scopeFailures: [UInt32] = []
  /// Those that stopped their part already. Not durable: stopping again changes nothing.
  var stoppedScopes: [Bool] = []
  var isSuspended: Bool
  /// Ready runs that wait for the graph to be resumed.
  var parked: [ReadyRun] = []

  struct ExternalDependent: Sendable {
    var operation: OperationID
    var policy: EdgePolicy
  }
  struct ExtraDependency: Sendable {
    var on: OperationID
    var policy: EdgePolicy
    /// Came with the submission rather than later.
    var isOriginal: Bool
  }
  struct PlaceChange: Sendable {
    var priority: Priority
    var place: UInt64
  }
  struct Enqueueing: Sendable {
    var queue: QueueID
    /// Where it stands for barriers, whatever its place in line becomes.
    var place: UInt64
  }
  struct ReasonRun: Sendable {
    var first: UInt32
    var count: UInt32
    var reason: CancelReason
  }

  var operationCount: UInt32 { cells.count }

  /// The stage of an operation.
  func stageNumber(of index: UInt32) -> Int {
    if stages.count == 1 { return 0 }
    // Where every stage is one operation, their numbers are the same.
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
    // A stage without elements shares its first index with the one after it, which is found.
    return low
  }

  func cell(_ index: UInt32) -> OperationCell {
    cells.stored(index) ?? stages[stageNumber(of: index)].pristine
  }

  /// Changes a cell, making its page real.
  @inline(__always)
  @discardableResult
  mutating func update<Result>(
    _ index: UInt32, _ body: (inout OperationCell) -> Result
  ) -> Result {
    if !cells.hasPage(of: index) { materialise(index) }
    return cells.update(index, body)
  }

  private mutating func materialise(_ index: UInt32) {
    let stages = self.stages
    var number = stageNumber(of: (index >> CellTable.pageBits) << CellTable.pageBits)
    cells.materialise(index) { at in
      while number + 1 < stages.count && stages[number + 1].firstIndex <= at { number += 1 }
      return stages[number].pristine
    }
  }

  func operation(_ index: UInt32) -> OperationID { OperationID(graph: id, index: index) }

  func place(of index: UInt32) -> UInt64 {
    changes.isEmpty ? basePlace + UInt64(index) : changes[index]?.place ?? basePlace + UInt64(index)
  }

  /// Where it stands for barriers: its enqueueing, whatever changed later (S77).
  func enqueuePlace(of index: UInt32) -> UInt64 {
    enqueuedIn.isEmpty
      ? basePlace + UInt64(index) : enqueuedIn[index]?.place ?? basePlace + UInt64(index)
  }

  func priority(of index: UInt32, stage: Int) -> Priority {
    changes.isEmpty
      ? stages[stage].template.priority
      : changes[index]?.priority ?? stages[stage].template.priority
  }

  func queue(of index: UInt32, stage: Int) -> QueueID {
    enqueuedIn.isEmpty ? stages[stage].queue : enqueuedIn[index]?.queue ?? stages[stage].queue
  }

  /// `12/align/3`, or `12/align`.
  func shown(_ index: UInt32) -> String {
    let stage = stages[stageNumber(of: index)]
    return StageName(graph: id, name: stage.template.name).path(
      element: stage.template.isArray
        ? stage.template.shownIndex(ofElement: stage.element(index)) : nil)
  }

  func reason(of index: UInt32) -> CancelReason? {
    reasons.last { $0.first <= index && index < $0.first + $0.count }?.reason
  }

  mutating func noteReason(_ reason: CancelReason, of index: UInt32) {
    if let last = reasons.indices.last, reasons[last].reason == reason,
      reasons[last].first + reasons[last].count == index
    {
      reasons[last].count += 1
    } else {
      reasons.append(ReasonRun(first: index, count: 1, reason: reason))
    }
  }

  /// Every dependency of an operation on single operations, in order of addition; those on whole
  /// stages are in `stages[…].incoming`.
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
      dependents: EdgeTable(), dependencies: EdgeTable(), unfinished: 0, isSuspended: false)
  }
}
