// Converts operations and attempts ⇄ columns: runs of one graph, indices as differences. This is
// the hot part of every report, order and event batch.
// Single identifiers, which have messages of their own, are at the end of the file.

import OpClusterModel

/// Collects operations for `ProtoOperations`.
/// The operations of a message mostly belong to one graph and ascend: then an operation costs one
/// byte, its distance to the one before.
struct OperationColumns {
  /// One per run of operations of the same graph; with `counts`.
  private var graphs: [UInt32] = []
  private var counts: [UInt32] = []
  /// One per operation: the difference to the index before, in its own run.
  private var deltas: [Int32] = []
  // The run that is not closed yet: its graph, how many operations it has, and the last index.
  private var graph: UInt32 = 0
  private var count: UInt32 = 0
  private var last: UInt32 = 0

  init(capacity: Int = 0) { deltas.reserveCapacity(capacity) }

  /// O(1). The count is asked as well as the graph, because the first operation may be of a graph
  /// whose number is the initial one.
  mutating func append(_ operation: OperationID) {
    if operation.graph.number != graph || count == 0 {
      closeRun()
      graph = operation.graph.number
      last = 0
    }
    count &+= 1
    deltas.append(Int32(bitPattern: operation.index &- last))
    last = operation.index
  }

  /// An empty run must not go out: readers refuse it.
  private mutating func closeRun() {
    if count > 0 {
      graphs.append(graph)
      counts.append(count)
    }
    count = 0
  }

  /// Whether nothing was appended; callers leave the whole message out then.
  var isEmpty: Bool { deltas.isEmpty }

  consuming func finish() -> ProtoOperations {
    closeRun()
    var proto = ProtoOperations()
    proto.graph = graphs
    proto.count = counts
    proto.indexDelta = deltas
    return proto
  }
}

/// Collects attempts for `ProtoAttempts`.
/// Nearly every attempt is the first of its operation, and then the column of numbers is left out.
struct AttemptColumns {
  private var operations: OperationColumns
  /// From 1. A number is never reused, so attempts that were recalled unstarted count (G14).
  private var numbers: [UInt32] = []
  private var allFirst = true

  init(capacity: Int = 0) {
    operations = OperationColumns(capacity: capacity)
    numbers.reserveCapacity(capacity)
  }

  /// O(1).
  mutating func append(_ attempt: AttemptID) {
    operations.append(attempt.operation)
    numbers.append(attempt.attempt)
    allFirst = allFirst && attempt.attempt == 1
  }

  consuming func finish() -> ProtoAttempts {
    var proto = ProtoAttempts()
    if !operations.isEmpty { proto.operations = operations.finish() }
    if !allFirst { proto.number = numbers }
    return proto
  }
}

extension ProtoOperations {
  /// - Parameter operations: In any order. Ascending ones of one graph are cheapest.
  init(_ operations: [OperationID]) {
    var columns = OperationColumns(capacity: operations.count)
    for operation in operations { columns.append(operation) }
    self = columns.finish()
  }

  /// At most `limit` operations, in the order of sending. Duplicates are no error here: the meaning
  /// of one depends on the message.
  func words(_ limit: Int, _ field: String) throws(WireError) -> [OperationID] {
    let deltas = indexDelta
    try checkCount(deltas.count, limit, field)
    try checkRuns(graph.count, count, total: deltas.count, field)
    var words: [OperationID] = []
    words.reserveCapacity(deltas.count)
    var at = 0
    // `checkRuns` has shown that the counts add up to the deltas, so `at` stays in bounds.
    for (number, count) in zip(graph, count) {
      let graph = GraphID(number)
      var index: UInt32 = 0
      for _ in 0..<count {
        index &+= UInt32(bitPattern: deltas[at])
        words.append(OperationID(graph: graph, index: index))
        at += 1
      }
    }
    return words
  }
}

/// An attempt is an operation and a number; 0 is no attempt, and appears only in lines of the
/// history.
extension ProtoAttempts {
  init(_ attempts: [AttemptID]) {
    var columns = AttemptColumns(capacity: attempts.count)
    for attempt in attempts { columns.append(attempt) }
    self = columns.finish()
  }

  /// At most `limit` attempts; without a column of numbers each is the first.
  func words(_ limit: Int, _ field: String) throws(WireError) -> [AttemptID] {
    let operations = try operations.words(limit, field)
    let numbers = try Column(number, count: operations.count, else: 1, field)
    var words: [AttemptID] = []
    words.reserveCapacity(operations.count)
    for (at, operation) in operations.enumerated() {
      words.append(AttemptID(operation: operation, attempt: numbers[at]))
    }
    return words
  }
}

/// For messages that name one operation, where columns would cost more than they save. Whether the
/// operation exists is for the scheduler to say: no number is malformed.
extension OperationID: WireConvertible {
  var proto: ProtoOperation {
    var proto = ProtoOperation()
    proto.graph = graph.number
    proto.index = index
    return proto
  }
  init(proto: ProtoOperation) throws(WireError) {
    self.init(graph: GraphID(proto.graph), index: proto.index)
  }
}

/// A stage as people know it: its graph may have ended, and then only the name says what it was.
extension StageName: WireConvertible {
  var proto: ProtoStageName {
    var proto = ProtoStageName()
    proto.graph = graph.number
    // Names of templates are bounded already; clipping keeps even a wrong one decodable.
    proto.name = clipped(name, to: Limits.nameBytes)
    return proto
  }
  init(proto: ProtoStageName) throws(WireError) {
    let name = try OpClusterWire.text(proto.name, Limits.nameBytes, "stage_name.name")
    self.init(graph: GraphID(proto.graph), name: name)
  }
}

/// For messages that name one attempt: cancelling it, or reading its log.
extension AttemptID: WireConvertible {
  var proto: ProtoAttempt {
    var proto = ProtoAttempt()
    proto.graph = operation.graph.number
    proto.index = operation.index
    proto.number = attempt
    return proto
  }
  init(proto: ProtoAttempt) throws(WireError) {
    let operation = OperationID(graph: GraphID(proto.graph), index: proto.index)
    self.init(operation: operation, attempt: proto.number)
  }
}

/// Runs of neighbours, for facts that cover whole arrays: a million operations that succeed one
/// after the other are one pair of numbers.
extension OperationRuns: WireConvertible {
  var proto: ProtoOperationRuns {
    var proto = ProtoOperationRuns()
    proto.graph = graph.number
    // The gap counts from the end of the run before, so neighbouring runs would have the gap 0.
    var end: UInt32 = 0
    var deltas: [Int32] = []
    deltas.reserveCapacity(runCount)
    for at in 0..<runCount {
      deltas.append(Int32(bitPattern: firsts[at] &- end))
      end = firsts[at] &+ counts[at]
    }
    proto.firstDelta = deltas
    proto.count = omitted(counts, ifAll: 1)
    return proto
  }

  /// Throws `outOfRange` for an empty run or one that leaves 32 bits. Runs that overlap or descend
  /// are decoded as they are.
  init(proto: ProtoOperationRuns) throws(WireError) {
    let deltas = proto.firstDelta
    try checkCount(deltas.count, Limits.operationsPerGraph, "runs.first_delta")
    let lengths = try Column(proto.count, count: deltas.count, else: 1, "runs.count")
    var firsts: [UInt32] = []
    var counts: [UInt32] = []
    firsts.reserveCapacity(deltas.count)
    counts.reserveCapacity(deltas.count)
    var end: UInt32 = 0
    // `Int` cannot overflow: fewer than 2²² runs of less than 2³² each.
    var total = 0
    for at in deltas.indices {
      let first = end &+ UInt32(bitPattern: deltas[at])
      let length = lengths[at]
      total += Int(length)
      end = first &+ length
      firsts.append(first)
      counts.append(length)
    }
    try checkCount(total, Limits.operationsPerGraph, "runs.count")
    let graph = GraphID(proto.graph)
    guard let runs = OperationRuns(graph: graph, firsts: firsts, counts: counts) else {
      throw WireError("runs", .outOfRange)
    }
    self = runs
  }
}
