// Converts operations and attempts ⇄ columns: runs of one graph, indices as differences. This is
// the hot part of every report, order and event batch.

import OpClusterModel

/// Collects operations for `ProtoOperations`.
struct OperationColumns {
  private var graphs: [UInt32] = []
  private var counts: [UInt32] = []
  private var deltas: [Int32] = []
  private var graph: UInt32 = 0
  private var count: UInt32 = 0
  private var last: UInt32 = 0

  init(capacity: Int = 0) { deltas.reserveCapacity(capacity) }

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

  private mutating func closeRun() {
    if count > 0 {
      graphs.append(graph)
      counts.append(count)
    }
    count = 0
  }

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
struct AttemptColumns {
  private var operations: OperationColumns
  private var numbers: [UInt32] = []
  private var allFirst = true

  init(capacity: Int = 0) {
    operations = OperationColumns(capacity: capacity)
    numbers.reserveCapacity(capacity)
  }

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
  init(_ operations: [OperationID]) {
    var columns = OperationColumns(capacity: operations.count)
    for operation in operations { columns.append(operation) }
    self = columns.finish()
  }

  func words(_ limit: Int, _ field: String) throws(WireError) -> [OperationID] {
    let deltas = indexDelta
    try checkCount(deltas.count, limit, field)
    try checkRuns(graph.count, count, total: deltas.count, field)
    var words: [OperationID] = []
    words.reserveCapacity(deltas.count)
    var at = 0
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

extension ProtoAttempts {
  init(_ attempts: [AttemptID]) {
    var columns = AttemptColumns(capacity: attempts.count)
    for attempt in attempts { columns.append(attempt) }
    self = columns.finish()
  }

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

extension StageName: WireConvertible {
  var proto: ProtoStageName {
    var proto = ProtoStageName()
    proto.graph = graph.number
    proto.name = clipped(name, to: Limits.nameBytes)
    return proto
  }
  init(proto: ProtoStageName) throws(WireError) {
    let name = try OpClusterWire.text(proto.name, Limits.nameBytes, "stage_name.name")
    self.init(graph: GraphID(proto.graph), name: name)
  }
}

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

extension OperationRuns: WireConvertible {
  var proto: ProtoOperationRuns {
    var proto = ProtoOperationRuns()
    proto.graph = graph.number
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

  init(proto: ProtoOperationRuns) throws(WireError) {
    let deltas = proto.firstDelta
    try checkCount(deltas.count, Limits.operationsPerGraph, "runs.first_delta")
    let lengths = try Column(proto.count, count: deltas.count, else: 1, "runs.count")
    var firsts: [UInt32] = []
    var counts: [UInt32] = []
    firsts.reserveCapacity(deltas.count)
    counts.reserveCapacity(deltas.count)
    var end: UInt32 = 0
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
