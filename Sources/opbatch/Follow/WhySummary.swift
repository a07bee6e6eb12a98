// What `why` asks of a coordinator: of a graph the reasons of each stage, of single operations
// their attempts.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// One graph, and its operations that have not succeeded in groups of equals.
struct WhySummary {
  let row: GraphRow
  private(set) var groups: [WhyGroup] = []
  /// Stages with something to tell that nobody asked about.
  private(set) var hiddenStages = 0

  /// Questions about one graph at most, besides its structure.
  private static let questions = 40
  /// What is worse is told first.
  static let order: [[StateWord]] = [
    [.failed, .timedOut, .lost], [.ready, .held, .declared, .waiting], [.stopping],
    [.skipped, .cancelled], [.dispatched, .executing],
  ]

  init(_ graph: GraphID, _ reader: Reader) async throws {
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
      // What can never run is worse than what waits for its turn.
      groups += grouping.groups.filter { $0.isUnplaceable }
      groups += grouping.groups.filter { !$0.isUnplaceable }
    }
  }

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
      // It may have gone on meanwhile.
      let rows = (try? await reader.explanations(selection).rows) ?? []
      for row in rows { places.insert(grouping.add(row.state, row.shown, reasons(row))) }
      seen = UInt32(clamping: rows.count)
    }
    let count = stage.counts[state]
    if seen > 0, count > seen { grouping.add(unseen: count - seen, state, beside: places) }
  }

  /// Without saying once more that it has ended: the group says so.
  private static func reasons(_ row: Explanation) -> [String] {
    let reasons = row.lines.filter { !$0.hasPrefix("it has ended") }
    return reasons.isEmpty ? row.lines : reasons
  }

  /// How it ended, and what its worker said of that.
  private static func lines(of row: OperationRow) -> [String] {
    let reason = shortReason(row)
    let sentence = reason.isEmpty ? "it has ended: \(row.state.rawValue)" : reason
    let ending = row.attempt > 1 ? "\(sentence), in attempt \(row.attempt)" : sentence
    return [ending] + [row.result?.wordsOfWorker].compactMap(\.self)
  }
}

extension WhyGroup {
  fileprivate var isUnplaceable: Bool {
    lines.contains { $0.hasPrefix(Explanation.isUnplaceable) }
  }
}

extension Reader {
  /// Operations whose attempts are told.
  private static let operationsInFull = 20

  /// The explanations, each with a line for every attempt that has ended; of many operations as
  /// they are.
  func withAttempts(
    _ explanations: [Explanation], _ selection: Selection
  ) async throws -> [Explanation] {
    guard explanations.count <= Self.operationsInFull else { return explanations }
    let (rows, _) = try await firstOperations(selection, limit: Self.operationsInFull)
    let known = Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var result = explanations
    for at in result.indices {
      guard let row = known[result[at].operation], row.attempt > 0 else { continue }
      result[at].lines += try await inFull(row).attemptLines
    }
    return result
  }
}

extension OperationRow {
  /// `attempt 1 on w2: exit status 1, after 3.2s`, for each that has ended without success.
  var attemptLines: [String] {
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
