// The judgement over the three witnesses: what clients were told, what operations wrote, what the
// journal holds. Asserts G1, G2, G10 to G14, G17, G19; G20 where something was cancelled. Shares
// nothing with the daemons but the words.

import OpClusterClient
import OpClusterModel
import RealCluster

/// What is known after a run.
struct Witnesses: Sendable {
  var calls: [Call]
  var submissions: [String: GraphSubmission]
  var lines: [WitnessLine]
  var journal: JournalModel
  /// The rows of all operations of the load, as a client sees them in the end.
  var rows: [OperationRow]
  /// Ends of operations as they were told to observers.
  var told: [(OperationID, Outcome)]
}

struct Checker {
  let witnesses: Witnesses
  /// Losses after which an operation is given up.
  var crashLimit = Int(Limits.lossesBeforeGivingUp)
  private(set) var violations: [String] = []
  private var outcomes: [OperationID: Outcome] = [:]

  init(_ witnesses: Witnesses) {
    self.witnesses = witnesses
    for row in witnesses.rows {
      if let outcome = row.outcome { outcomes[row.id] = outcome }
    }
  }

  /// Gathers the witnesses of a cluster whose load has ended, judges, and writes it into the book.
  static func judge(_ load: Load, on cluster: Cluster, _ trial: Trial) async throws {
    let journal = JournalModel(try await JournalLine.all(of: cluster))
    let connection = try await cluster.reach()
    var rows: [OperationRow] = []
    for (key, graph) in load.accepted.sorted(by: { $0.value < $1.value })
    where !key.hasPrefix("probe") {
      rows += try await connection.operations(.graph(graph))
    }
    var told: [(OperationID, Outcome)] = []
    for event in try await connection.backlog(Selection(graphs: .all)) {
      if case .operation(let id, _) = event.subject, case .isFinished(let outcome) = event.kind {
        told.append((id, outcome))
      }
    }
    await connection.close()
    let lines = WitnessLine.all(in: load.witness)
    var checker = Checker(
      Witnesses(
        calls: load.calls, submissions: load.submissions, lines: lines, journal: journal,
        rows: rows, told: told))
    checker.check()
    for violation in checker.violations { trial.broken(violation) }
    let starts = lines.count { $0.isStart }
    trial.note(
      "\(load.calls.count) calls, \(load.accepted.count) graphs acknowledged, \(rows.count) "
        + "operations, \(starts) starts written by them, \(journal.workerLosses) worker losses, "
        + "\(journal.epochs.count) lives of the coordinator")
  }

  mutating func check() {
    violations = witnesses.journal.violations
    acknowledgedExists()
    everythingEnds()
    toldOnce()
    startsAreSingle()
    endsAreReal()
    dependenciesCameFirst()
    lossesAreCounted()
  }

  private mutating func broken(_ text: String) { violations.append(text) }

  /// G1, G2, G19: what was acknowledged is in the journal, whole, once, under the told number.
  private mutating func acknowledgedExists() {
    for call in witnesses.calls {
      guard case .accepted(let graph, let operations, _) = call.end else { continue }
      guard let found = witnesses.journal.graphs[call.key] else {
        broken("G1: \(call.key) was acknowledged as graph \(graph.number) and is not there")
        continue
      }
      if found.graph != graph {
        broken("G19: \(call.key) was told \(graph.number), the journal has \(found.graph.number)")
      }
      if found.operations != call.operations || Int(operations) != call.operations {
        broken("G2: \(call.key) has \(found.operations) operations, not \(call.operations)")
      }
    }
    for (key, found) in witnesses.journal.graphs {
      guard let sent = witnesses.submissions[key] else { continue }
      if found.operations != sent.operationCount {
        broken("G2: \(key) has \(found.operations) operations of \(sent.operationCount)")
      }
    }
  }

  /// G11: every accepted operation has ended.
  private mutating func everythingEnds() {
    for row in witnesses.rows where row.outcome == nil {
      broken("G11: \(row.id.dotted) is \(row.state.rawValue) in the end")
    }
  }

  /// G12: observers were told each end once, and rows say the same.
  private mutating func toldOnce() {
    var ends: [OperationID: Outcome] = [:]
    for (id, outcome) in witnesses.told {
      if let other = ends.updateValue(outcome, forKey: id) {
        broken("G12: \(id.dotted) was told to end as \(other) and as \(outcome)")
      }
    }
    for (id, outcome) in outcomes where ends[id] != outcome {
      broken(
        "G12: \(id.dotted) is \(outcome), told was \(ends[id].map { "\($0)" } ?? "nothing")")
    }
  }

  /// G14: no (operation, attempt) starts twice, and none that the journal did not hand over.
  private mutating func startsAreSingle() {
    var seen: Set<AttemptID> = []
    for line in witnesses.lines where line.isStart {
      let attempt = AttemptID(operation: line.operation, attempt: line.attempt)
      if !seen.insert(attempt).inserted {
        broken("G14: attempt \(line.attempt) of \(line.operation.dotted) started twice")
      }
      let known = witnesses.journal.lives[line.operation]?.attempt ?? 0
      if line.attempt > known {
        broken(
          "G3: attempt \(line.attempt) of \(line.operation.dotted) started, the journal knows "
            + "\(known)")
      }
    }
  }

  /// G13: a success in the journal is that of the attempt that was then the current one.
  private mutating func endsAreReal() {
    var ended: Set<AttemptID> = []
    var writers: Set<OperationID> = []
    for line in witnesses.lines {
      writers.insert(line.operation)
      if !line.isStart {
        ended.insert(AttemptID(operation: line.operation, attempt: line.attempt))
      }
    }
    for (id, outcome) in outcomes where outcome == .succeeded && writers.contains(id) {
      guard let life = witnesses.journal.lives[id] else {
        broken("G3: \(id.dotted) succeeded, the journal does not know it")
        continue
      }
      if !ended.contains(AttemptID(operation: id, attempt: life.attempt)) {
        broken("G13: \(id.dotted) succeeded by attempt \(life.attempt), which never ended")
      }
    }
  }

  /// G10: no start before an end of each dependency.
  private mutating func dependenciesCameFirst() {
    var firstEnds: [OperationID: Moment] = [:]
    var firstStarts: [OperationID: Moment] = [:]
    for line in witnesses.lines {
      if line.isStart {
        firstStarts[line.operation] = min(firstStarts[line.operation] ?? line.time, line.time)
      } else {
        firstEnds[line.operation] = min(firstEnds[line.operation] ?? line.time, line.time)
      }
    }
    for (key, found) in witnesses.journal.graphs {
      for edge in witnesses.submissions[key]?.groupEdges ?? [] {
        let from = OperationID(graph: found.graph, index: edge.from)
        let to = OperationID(graph: found.graph, index: edge.to)
        guard let start = firstStarts[to], outcomes[from] == .succeeded else { continue }
        guard let end = firstEnds[from], end <= start else {
          broken("G10: \(to.dotted) started before \(from.dotted) had ended")
          continue
        }
      }
    }
  }

  /// G17: lost for good is what was lost that often, and nothing else.
  private mutating func lossesAreCounted() {
    for (id, outcome) in outcomes {
      let losses = witnesses.journal.lives[id]?.losses ?? 0
      if outcome == .lost, losses < crashLimit {
        broken("G17: \(id.dotted) was given up after \(losses) losses")
      }
      if outcome != .lost, losses >= crashLimit {
        broken("G17: \(id.dotted) went on after \(losses) losses")
      }
    }
  }
}
