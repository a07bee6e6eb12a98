// `opbatch cancel`: asks what has not ended to stop.

import ArgumentParser
import OpClusterModel
import OpClusterPresentation

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
        opbatch cancel active --grace 0
      """)

  @Argument(
    help: ArgumentHelp(
      "What to cancel: 12, 12,14-20, last, active, 12/align/3.",
      valueName: "selector"))
  var selectors: [String]

  @Option(help: ArgumentHelp("Why; shown to whoever looks.", valueName: "text"))
  var reason = ""

  @Option(
    help: ArgumentHelp(
      "From asking to killing; what each operation says, if not given.",
      valueName: "time"))
  var grace: TimeLength?

  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    guard reason.utf8.count <= Limits.reasonBytes else {
      throw Failure.usage("a reason has at most \(Limits.reasonBytes) bytes")
    }
    let selections = try selectors.map { try Selectors.selection($0) }
    let grace = self.grace.map { Span.milliseconds($0.milliseconds) }
    return try await withConnection { connection in
      var results: [CancelSummary] = []
      for (text, selection) in zip(selectors, selections) {
        let reply = try await ask(
          connection, .cancel(.selection(selection), reason: reason, grace: grace))
        guard case .cancelled(let verdicts, let total) = reply else {
          throw Failure.unexpectedReply("cancel")
        }
        guard total > 0 else { throw Failure.nothingSelected(text) }
        results.append(CancelSummary(what: text, verdicts: verdicts, total: total))
      }
      try CancelSummary.show(results, key: "cancelled", console)
      return .success
    }
  }
}

/// What became of one selector's operations.
struct CancelSummary {
  var what: String
  var total: UInt32
  private var counts: [CancelVerdict.Verdict: Int] = [:]
  /// The coordinator lists the first ones only; then the counts are of those.
  private var isPartial: Bool

  init(what: String, verdicts: [CancelVerdict], total: UInt32) {
    self.what = what
    self.total = total
    for verdict in verdicts { counts[verdict.verdict, default: 0] += 1 }
    isPartial = verdicts.count < Int(total)
  }

  func count(_ verdict: CancelVerdict.Verdict) -> Int { counts[verdict] ?? 0 }

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

  private var sentence: String {
    let words: [(CancelVerdict.Verdict, String)] = [
      (.cancelled, "cancelled"), (.executing, "asked to stop"),
      (.alreadyCancelled, "already cancelled"), (.alreadyFinished, "already finished"),
    ]
    let parts = words.filter { count($0.0) > 0 }.map { "\(shownCount(count($0.0))) \($0.1)" }
    let rest = isPartial ? " (of the first \(shownCount(counts.values.reduce(0, +))))" : ""
    let detail = parts.isEmpty ? shownCount(total, "operation") : parts.joined(separator: ", ")
    return "\(safe(what)): \(detail)\(rest)"
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
