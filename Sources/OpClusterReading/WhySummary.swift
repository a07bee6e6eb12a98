// Requests of `why`: the reasons of each stage of a graph, and the attempts of single operations.

import OpClusterClient
package import OpClusterModel
package import OpClusterPresentation

/// One graph, and its operations that have not succeeded in groups of equals.
package struct WhySummary {
  package let row: GraphRow
  package private(set) var groups: [WhyGroup] = []
  /// The number of stages with something to tell that were not requested.
  package private(set) var hiddenStages = 0

  /// Maximum number of requests about one graph, besides its structure.
  private static let questions = 40
  /// The states in the order of telling: the worst first.
  package static let order: [[StateWord]] = [
    [.failed, .timedOut, .lost], [.ready, .held, .declared, .waiting], [.stopping],
    [.skipped, .cancelled], [.dispatched, .executing],
  ]

  /// One request for each state of each stage, until `questions` are used up. The states come in
  /// the order of telling, so that the worst is never what is left out.
  package init(_ graph: GraphID, _ reader: Reader) async throws {
    let structure = try await reader.structure(graph)
    row = structure.row
    var asked = 0
    for states in Self.order {
      var grouping = WhyGrouping()
      for state in states {
        for stage in structure.stages where stage.counts[state] > 0 {
          guard asked < Self.questions else {
            hiddenStages += 1
            continue
          }
          asked += 1
          try await Self.ask(graph, stage, state, reader, &grouping)
        }
      }
      // Operations that can never run come before those that wait for their turn.
      groups += grouping.groups.filter { $0.isUnplaceable }
      groups += grouping.groups.filter { !$0.isUnplaceable }
    }
  }

  /// Failed operations are read as rows, which have the worker's words; the others as explanations.
  /// Those beyond the reply are counted and not told apart.
  private static func ask(
    _ graph: GraphID, _ stage: GraphStructure.Stage, _ state: StateWord, _ reader: Reader,
    _ grouping: inout WhyGrouping
  ) async throws {
    var selection = Selection.graph(graph)
    selection.operation = stage.name
    selection.states = [state]
    var places: Set<Int> = []
    var seen: UInt32 = 0
    if [.failed, .timedOut, .lost].contains(state) {
      let (rows, _) = try await reader.firstOperations(selection, limit: Limits.rowsPerReply)
      for row in rows {
        places.insert(grouping.add(state, OperationPath(row).description, lines(of: row)))
      }
      seen = UInt32(clamping: rows.count)
    } else {
      // The operation may have left the state meanwhile.
      let rows = (try? await reader.explanations(selection).rows) ?? []
      for row in rows { places.insert(grouping.add(row.state, row.shown, reasons(row))) }
      seen = UInt32(clamping: rows.count)
    }
    let count = stage.counts[state]
    if seen > 0, count > seen { grouping.add(unseen: count - seen, state, beside: places) }
  }

  /// The lines but the one that it has ended: the group says so already. All lines are kept where
  /// there would be none left.
  private static func reasons(_ row: Explanation) -> [Explanation.Line] {
    let reasons = row.lines.filter { $0.meaning != .ended }
    return reasons.isEmpty ? row.lines : reasons
  }

  /// Says how the operation ended, and what its worker said about it.
  private static func lines(of row: OperationRow) -> [Explanation.Line] {
    let reason = shortReason(row)
    let sentence = reason.isEmpty ? "it has ended: \(row.state.rawValue)" : reason
    let ending = row.attempt > 1 ? "\(sentence), in attempt \(row.attempt)" : sentence
    return ([ending] + [row.result?.wordsOfWorker].compactMap(\.self)).map { Explanation.Line($0) }
  }
}

extension WhyGroup {
  fileprivate var isUnplaceable: Bool {
    lines.contains { $0.meaning == .unplaceable }
  }
}

extension Reader {
  /// Maximum number of operations whose attempts are told.
  private static let operationsInFull = 20

  /// Adds a line for every ended attempt to the explanations. Returns too many operations
  /// unchanged.
  package func withAttempts(
    _ explanations: [Explanation], _ selection: Selection
  ) async throws -> [Explanation] {
    guard explanations.count <= Self.operationsInFull else { return explanations }
    let (rows, _) = try await firstOperations(selection, limit: Self.operationsInFull)
    let known = Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var result = explanations
    for at in result.indices {
      guard let row = known[result[at].operation], row.attempt > 0 else { continue }
      result[at].lines += try await inFull(row).attemptLines.map { Explanation.Line($0) }
    }
    return result
  }
}

extension OperationRow {
  /// Returns `attempt 1 on w2: exit status 1, after 3.2s` for each attempt that ended without
  /// success.
  package var attemptLines: [String] {
    attempts.compactMap { entry in
      let result = entry.result
      guard result.cause != .none else { return nil }
      var line = "attempt \(entry.run)"
      if !entry.workerName.isEmpty { line += " on \(entry.workerName)" }
      line += ": \(result.sentence)"
      if result.startedAt != .unknown, result.endedAt != .unknown {
        line += ", after \(shownDuration(max(.zero, result.endedAt - result.startedAt)))"
      }
      return line
    }
  }
}
