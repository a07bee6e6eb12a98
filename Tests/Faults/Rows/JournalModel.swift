// What the exported journal says, played through once more with a few lines of its own: who holds
// what, what ended, how often it was lost. Whatever a right coordinator cannot have written is a
// violation. Shares no code with the scheduler. Values.

import OpClusterModel

/// The life of one operation by the journal.
struct JournalLife: Sendable {
  /// Hand-overs so far: the number of the newest attempt.
  var attempt: UInt32 = 0
  var worker: String?
  var isExecuting = false
  var losses = 0
  /// The turn of its end, and the fact.
  var end: (turn: UInt64, fact: String)?
  var isCancelled = false
}

/// The journal, turn by turn.
struct JournalModel: Sendable {
  private(set) var lives: [OperationID: JournalLife] = [:]
  /// Graphs by their key: number and count of operations as the journal has them.
  private(set) var graphs: [String: (graph: GraphID, operations: Int)] = [:]
  private(set) var workerLosses = 0
  private(set) var epochs: [UInt64] = []
  private(set) var violations: [String] = []
  private var lastTurn: UInt64 = 0

  init(_ lines: [JournalLine]) {
    for line in lines { take(line) }
  }

  private mutating func take(_ line: JournalLine) {
    if line.turn < lastTurn { violations.append("turn \(line.turn) follows turn \(lastTurn)") }
    lastTurn = line.turn
    switch line.fact {
    case "started": take(epoch: line)
    case "submitted": take(submission: line)
    case "worker_lost":
      workerLosses += 1
      release(line.values["worker"] ?? "", line, isLoss: true)
    case "worker_left": release(line.values["worker"] ?? "", line, isLoss: false)
    default:
      for operation in line.operations { take(line, operation) }
    }
  }

  private mutating func take(epoch line: JournalLine) {
    let epoch = line.values["epoch"].flatMap { UInt64($0) } ?? 0
    if let last = epochs.last, epoch <= last {
      violations.append("epoch \(epoch) follows epoch \(last)")
    }
    epochs.append(epoch)
  }

  private mutating func take(submission line: JournalLine) {
    let key = line.values["key"] ?? ""
    guard let graph = line.values["graph"].flatMap({ UInt32($0) }),
      let count = line.values["operations"].flatMap({ Int($0) })
    else { return violations.append("turn \(line.turn): a submission without numbers") }
    if let other = graphs[key], !key.isEmpty {
      violations.append("G19: key \(key) has the graphs \(other.graph.number) and \(graph)")
    }
    graphs[key] = (GraphID(graph), count)
  }

  private mutating func release(_ worker: String, _ line: JournalLine, isLoss: Bool) {
    for (operation, var life) in lives where life.worker == worker {
      if life.isExecuting, isLoss { life.losses += 1 }
      life.worker = nil
      life.isExecuting = false
      lives[operation] = life
    }
  }

  private mutating func take(_ line: JournalLine, _ operation: OperationID) {
    var life = lives[operation] ?? JournalLife()
    let place = "turn \(line.turn): \(line.fact) of \(operation.dotted)"
    switch line.fact {
    case "dispatched":
      if life.end != nil { violations.append("G12: \(place) after its end") }
      if life.worker != nil { violations.append("G14: \(place) while a worker holds it") }
      life.attempt += 1
      life.worker = line.values["worker"]
    case "recalled":
      life.worker = nil
      life.isExecuting = false
    case "executing":
      if life.worker == nil { violations.append("G13: \(place), which no worker holds") }
      life.isExecuting = true
    case "succeeded", "finished":
      if life.end != nil { violations.append("G12: \(place), its second end") }
      if life.worker == nil, line.values["cause"] != "lost" {
        violations.append("G13: \(place), which no worker holds")
      }
      life.end = (line.turn, line.fact)
      life.worker = nil
      life.isExecuting = false
    case "attempt_failed":
      if life.worker == nil { violations.append("G13: \(place), which no worker holds") }
      life.worker = nil
      life.isExecuting = false
    case "cancelled":
      life.isCancelled = true
    default: break
    }
    lives[operation] = life
  }
}
