// `opbatch cancel`: asks graphs and operations to stop. Each selector is one request and one commit
// (S97); several selectors are several. The command returns when the coordinator knows of each
// operation whether it had started (S91), not when what runs has ended.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to change the graphs (G36). Succeeds also where everything had ended before: the
/// wish is fulfilled, and the verdicts say so.
struct Cancel: Command {
  static let configuration = CommandConfiguration(
    abstract: "Cancel graphs or operations.",
    usage: "opbatch cancel <selector> ... [--reason <text>] [--grace <time>] [<options>]",
    discussion: """
      What has not started never will; what is executing is asked to stop, and killed after its \
      grace. What has ended stays as it is.

      Examples:
        opbatch cancel 12
        opbatch cancel 12/align/1-10 --reason 'wrong reference'
        opbatch cancel '12/align*' -l team=blue
        opbatch cancel 12/align --dependents
        opbatch cancel active --grace 0
      """)

  @Argument(
    help: ArgumentHelp(
      "What to cancel: 12, 12,14-20, last, active, 12/align/3, '12/align*'.",
      valueName: "selector"))
  var selectors: [String]

  @Option(help: ArgumentHelp("Why; shown to whoever looks.", valueName: "text"))
  var reason = ""

  @Option(
    help: ArgumentHelp(
      "From asking to killing; what each operation says, if not given.",
      valueName: "time"))
  var grace: TimeLength?

  @Flag(help: "Not these, but all that depends on them, directly or through others.")
  var dependents = false

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// All selectors are parsed before the first request, so that a typing error cancels nothing.
  func perform(_ console: Console) async throws -> ExitStatus {
    guard reason.utf8.count <= Limits.reasonBytes else {
      throw Failure.usage("a reason has at most \(Limits.reasonBytes) bytes")
    }
    // The filters narrow each of the selectors.
    let selections = try selectors.map { try filters.selection($0) }
    // 0 is a grace, too: it kills at once. nil leaves it to each operation.
    let grace = self.grace.map { Span.milliseconds($0.milliseconds) }
    return try await withConnection { connection in
      _ = try await oneAfterAnother(
        Array(zip(selectors, selections)),
        show: { try CancelSummary.show($0, key: "cancelled", console) }
      ) { text, selection in
        let reader = reader(connection)
        let result = try await reader.naming(text, selection) {
          dependents
            ? try await cancelDependents(text, selection, grace, reader)
            : try await cancel(text, .selection(selection), grace, connection)
        }
        // An operation without dependents is no error; a selector that means nothing is.
        if !dependents, result.total == 0 { throw await reader.nothing(text, selection) }
        return result
      }
      if console.format == .table, !dependents {
        try await sayWhatStays(of: selections, reader(connection), console)
      }
      return .success
    }
  }
}

extension Cancel {
  /// A cancelled operation of a queue that starts nothing stays until it does: its graph does not
  /// end, and nobody would know why.
  private func sayWhatStays(
    of selections: [Selection], _ reader: Reader, _ console: Console
  ) async throws {
    for selection in selections.prefix(Self.selectionsLookedAt) {
      var left = selection
      left.states = [.ready]
      guard let row = try? await reader.firstOperations(left, limit: 1).rows.first,
        row.isCancelled,
        let queue = try await reader.queues().first(where: { $0.settings.name == row.queue })
      else { continue }
      let name = safe(row.queue)
      if queue.settings.isSuspended {
        console.say("\(OperationPath(row)) ends when its queue is resumed")
        console.hint("opbatch queue resume \(name)")
      } else if queue.settings.maximumConcurrent == 0 {
        console.say("\(OperationPath(row)) ends when its queue may run something; now it may not")
        console.hint("opbatch queue set \(name) --max-concurrent 1")
      }
    }
  }

  private static let selectionsLookedAt = 20

  /// The coordinator resolves the selection and marks all members in one commit.
  private func cancel(
    _ text: String, _ target: OperationTarget, _ grace: Span?, _ connection: ClusterConnection
  ) async throws -> CancelSummary {
    let reply = try await ask(connection, .cancel(target, reason: reason, grace: grace))
    guard case .cancelled(_, let counts) = reply else {
      throw Failure.unexpectedReply("cancel")
    }
    return CancelSummary(what: text, counts: counts)
  }

  /// Cancels all dependents of the operations, each once. Skips operations that an earlier step
  /// cancelled: the coordinator would report them as cancelled already.
  private func cancelDependents(
    _ text: String, _ selection: Selection, _ grace: Span?, _ reader: Reader
  ) async throws -> CancelSummary {
    var chosen: [OperationID] = []
    // Read before the first request, since a cancellation changes what a selection of states means.
    try await reader.operations(selection) { rows, _ in
      chosen += rows.map(\.id)
      return chosen.count <= Self.mostWithDependents
    }
    guard !chosen.isEmpty else { throw await reader.nothing(text, selection) }
    guard chosen.count <= Self.mostWithDependents else {
      throw Failure.usage(
        "'\(safe(text))' names more than \(shownCount(Self.mostWithDependents)) operations",
        hint: "name those whose dependents are meant")
    }
    var all = CancelSummary(what: text, counts: VerdictCounts())
    var seen: Set<OperationID> = []
    for operation in chosen {
      let target = OperationTarget.dependents(of: operation)
      let request = ClientRequest.cancel(target, reason: reason, grace: grace)
      guard
        case .cancelled(let verdicts, var counts) = try await reader.connection.request(
          request, timeout: global.timeout?.duration)
      else { throw Failure.unexpectedReply("cancel") }
      // Of those that the coordinator did not list doubles cannot be seen.
      for verdict in verdicts where !seen.insert(verdict.operation).inserted {
        counts[verdict.verdict] -= min(1, counts[verdict.verdict])
      }
      all.add(counts)
    }
    return all
  }

  /// Maximum number of operations whose dependents one command cancels: each needs a request.
  private static let mostWithDependents = 1_000
}

/// The result of cancelling one selector's operations. Verdicts are about the moment of the commit;
/// an operation that was asked to stop may go on for its grace.
struct CancelSummary {
  let what: String
  private var counts: VerdictCounts

  init(what: String, counts: VerdictCounts) {
    self.what = what
    self.counts = counts
  }

  var total: UInt32 { counts.total }

  /// Adds the verdicts of a further request.
  mutating func add(_ more: VerdictCounts) { counts.add(more) }

  func count(_ verdict: CancelVerdict.Verdict) -> Int { Int(counts[verdict]) }

  /// One line or object for each selector. `key` is the name of the JSON list.
  static func show(_ results: [CancelSummary], key: String, _ console: Console) throws {
    switch console.format {
    case .table: for result in results { try console.writeLine(result.sentence) }
    case .name: for result in results { try console.writeLine(result.what) }
    case .json, .jsonl:
      var listing = JSONListing(key, format: console.format == .json ? .json : .jsonl)
      for result in results { listing.row { result.fields(&$0) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
  }

  /// Names only verdicts that occurred.
  private var sentence: String {
    let words: [(CancelVerdict.Verdict, String)] = [
      (.cancelled, "cancelled"), (.executing, "asked to stop"),
      (.alreadyCancelled, "already cancelled"), (.alreadyFinished, "already finished"),
    ]
    let parts = words.filter { count($0.0) > 0 }.map { "\(shownCount(count($0.0))) \($0.1)" }
    let detail = parts.isEmpty ? shownCount(total, "operation") : parts.joined(separator: ", ")
    return "\(safe(what)): \(detail)"
  }

  private func fields(_ json: inout JSONText) {
    json.field("selector", what)
    json.field("total", total)
    json.field("cancelled", count(.cancelled))
    json.field("executing", count(.executing))
    json.field("already_cancelled", count(.alreadyCancelled))
    json.field("already_finished", count(.alreadyFinished))
  }
}
