// `opbatch retry`: runs an ended graph again under a new number. Takes over succeeded operations
// that are not requested again (S11). The submission comes back from the coordinator, so that
// neither the manifest nor its folder need exist any more; secrets stay with the coordinator, which
// adds them again. `RetryPlan` computes what is taken over.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the rights of a submission. The graph must have ended, and must still be remembered with
/// what is to be taken over (S11, S27); otherwise the coordinator's refusal says which of the two
/// it is.
struct Retry: Command {
  static let configuration = CommandConfiguration(
    abstract: "Run an ended graph again, all of it or a part.",
    usage: "opbatch retry <selector> ... [--failed] [--wait | --watch] [<options>]",
    discussion: """
      Makes a new graph of the same submission. A graph as a whole runs again from the start; with \
      --failed, only what did not succeed. With operations, those run again and all that depends \
      on them. Everything else that succeeded is taken over with its outputs. In JSON, \
      'continued_from' is the earlier graph and 'reused' counts what is taken over; several \
      graphs are in 'graphs'.

      Examples:
        opbatch retry 12
        opbatch retry last --failed --watch
        opbatch retry 12/align/3
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align/3, '12/align*'.", valueName: "selector"))
  var selectors: [String]
  @Flag(help: "Only what did not succeed; the rest is taken over.") var failed = false
  @Flag(help: "Stay until it has ended; the status tells how.") var wait = false
  @Flag(help: "Like --wait, and show its stages.") var watch = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  static var handlesInterrupts: Bool { true }

  func validate() throws {
    if failed, selectors.contains(where: { $0.contains("/") }) {
      throw ValidationError("--failed is about whole graphs; leave out what follows the '/'")
    }
  }

  /// A selector that matches nothing fails before anything is submitted. A refusal in the middle
  /// leaves, and shows, the graphs that were submitted before it.
  func perform(_ console: Console) async throws -> ExitStatus {
    let selections = try selectors.map { try Selectors.selection($0) }
    return try await withConnection { connection in
      // Plan all graphs before the first submission. A graph that several selectors name has one
      // plan.
      var plans: [Plan] = []
      for (text, selection) in zip(selectors, selections) {
        try await plan(text, selection, reader(connection), &plans)
      }
      let again = try await oneAfterAnother(plans, show: { try show($0, console) }) { plan in
        try await submit(plan, connection)
      }
      return try await stay(with: again, connection, console)
    }
  }

  /// One graph, and the operations that run again.
  private struct Plan {
    var graph: GraphID
    var name: String
    /// nil: all of them.
    var chosen: Set<UInt32>?
  }

  /// A graph that runs again.
  private struct Again {
    var accepted: GraphRun.Accepted
    var name: String
    var from: GraphID
    var reused: Int
  }

  /// Adds the graphs of one selector. A graph that two selectors name is run again once, with the
  /// operations of both; as a whole if one names it as a whole.
  private func plan(
    _ text: String, _ selection: Selection, _ reader: Reader, _ plans: inout [Plan]
  ) async throws {
    let rows = try await reader.naming(text, selection) {
      try await reader.allGraphs(Selection(graphs: selection.graphs))
    }
    guard !rows.isEmpty else { throw await reader.nothing(text, selection) }
    // By index: the new graph has the same operations in the same order.
    var chosen: [GraphID: Set<UInt32>] = [:]
    if selection.operation != nil {
      try await reader.naming(text, selection) {
        try await reader.operations(selection) { page, _ in
          for row in page { chosen[row.id.graph, default: []].insert(row.id.index) }
          return true
        }
      }
      if chosen.isEmpty { throw await reader.nothing(text, selection) }
    }
    for row in rows where selection.operation == nil || chosen[row.graph] != nil {
      // Searches the plans once for each graph.
      if let at = plans.firstIndex(where: { $0.graph == row.graph }) {
        if let more = chosen[row.graph] {
          plans[at].chosen?.formUnion(more)
        } else {
          plans[at].chosen = nil
        }
      } else {
        plans.append(Plan(graph: row.graph, name: row.name, chosen: chosen[row.graph]))
      }
    }
  }

  /// One graph. A random key, since the same graph may be wanted again and again.
  private func submit(_ plan: Plan, _ connection: ClusterConnection) async throws -> Again {
    guard
      case .submission(var submission, let outcomes) = try await ask(
        connection, .submission(plan.graph))
    else { throw Failure.unexpectedReply("submission") }
    // Computed here: the coordinator only checks that what is named succeeded.
    let reused = RetryPlan(submission, outcomes, of: plan.graph)
      .reused(again: plan.chosen, onlyFailed: failed)
    let count = reused.count
    // A new graph with nothing to do would end as succeeded at once, and look like a repair.
    if failed, count == submission.operationCount {
      throw Failure(
        .nothingSelected, code: "nothing_failed",
        "everything of graph \(plan.graph.number) succeeded",
        hint: "'opbatch retry \(plan.graph.number)' runs all of it again")
    }
    submission.continued = ContinuedGraph(graph: plan.graph, reused: reused)
    submission.key = GraphRun.randomKey()
    // The earlier graph may have been submitted on hold.
    submission.isSuspended = false
    let accepted = try await GraphRun.submit(
      submission, connection, timeout: global.timeout?.duration)
    return Again(accepted: accepted, name: submission.name, from: plan.graph, reused: count)
  }

  /// One graph is an object of its own in JSON, as in `submit`; several are a list.
  private func show(_ again: [Again], _ console: Console) throws {
    switch console.format {
    case .name: try console.writeLines(again.map { "\($0.accepted.graph.number)" })
    case .table:
      for graph in again {
        let count = shownCount(graph.accepted.operations, "operation")
        let kept = graph.reused > 0 ? ", \(shownCount(graph.reused)) taken over" : ""
        try console.writeLine(
          "graph \(graph.accepted.graph.number) (\(safe(graph.name))) does graph "
            + "\(graph.from.number) again: \(count)\(kept)")
      }
      if !wait, !watch, let first = again.first {
        console.hint("opbatch watch \(first.accepted.graph.number)")
      }
    case .json, .jsonl:
      guard again.count > 1 else {
        return try console.write(
          jsonDocument { json in
            for graph in again { json.object("graph") { fields(graph, &$0) } }
          })
      }
      var listing = JSONListing("graphs", format: console.listFormat)
      for graph in again { listing.row { fields(graph, &$0) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
  }

  private func fields(_ graph: Again, _ json: inout JSONText) {
    json.field("id", graph.accepted.graph.number)
    json.field("name", graph.name)
    json.field("operations", graph.accepted.operations)
    json.field("continued_from", graph.from.number)
    json.field("reused", graph.reused)
  }

  /// Follows one graph after the other; they run side by side all the same. The worst status
  /// counts.
  private func stay(
    with again: [Again], _ connection: ClusterConnection, _ console: Console
  ) async throws -> ExitStatus {
    guard wait || watch else { return .success }
    var status = ExitStatus.success
    for graph in again {
      let run = GraphRun(
        session: Session(connection: connection, embedded: nil), console: console,
        timeout: global.timeout?.duration)
      let ended = try await run.untilEnd(
        of: graph.accepted.graph, showsProgress: watch, onInterrupt: .detach)
      // The graphs that were not waited for go on.
      if ended == .interrupted || ended == .timedOut { return ended }
      status = status.combined(with: ended)
    }
    return status
  }
}
