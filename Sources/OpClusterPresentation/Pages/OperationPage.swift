// The page of one operation: `show 12/align/3`. For a failure it shows the cause, the command, the
// end of its stderr, and the command that shows all of it.
// Pairs come in the order in which people ask: why, what, where, when.

public import OpClusterModel

/// Returns the lines of the page of one operation. `command` is the running command if known;
/// `source` is the operation of an earlier graph that ran in its place.
/// A pair without a value takes no line.
public func operationPage(
  _ row: OperationRow, command: String? = nil, blocks: [ShownBlock] = [],
  files: [StoredFile] = [], source: OperationPath? = nil, _ style: Style
) -> [String] {
  operationFacts(row, command: command, blocks: blocks, files: files, source: source, style).lines
}

/// The same for any reader.
func operationFacts(
  _ row: OperationRow, command: String? = nil, blocks: [ShownBlock] = [],
  files: [StoredFile] = [], source: OperationPath? = nil, _ style: Style
) -> Page {
  var page = Page(style)
  let path = OperationPath(row).description
  page.line(
    StyledLine([
      .init(path, .strong), .init("  "), .init(row.state.rawValue, row.state.tone),
    ]))
  page.blank()
  page.pair("why", endingSentence(row), row.state.tone)
  page.pair(
    "taken over", source.map { "from \($0), which ran: opbatch show \($0), opbatch logs \($0)" })
  page.pair("progress", shownProgress(row.progress), .active)
  // Without an attempt there is nothing else that it could have said.
  if row.outcome == .succeeded, row.attempt == 0, let result = row.result {
    page.pair("note", safeLines(result.diagnostic).first)
  }
  page.pairs("command", safeLines(command ?? ""))
  page.pair("queue", queueSentence(row))
  page.pair("worker", row.workerName)
  page.pair("attempt", row.attempt > 0 ? "\(row.attempt)" : nil)
  page.pair("needs", needsSentence(row))
  page.pair("behind", blockersSentence(row))
  page.pair("submitted", known(row.submittedAt, style))
  page.pair("not before", row.notBefore.flatMap { known($0, style) })
  page.pair("ready", known(row.readyAt, style))
  page.pair("started", known(row.startedAt, style))
  page.pair("finished", known(row.finishedAt, style))
  page.pair("waited", row.waited.map { shownDuration($0) })
  page.pair("took", took(row, style))
  // Blocks have results of their own, and no output beside them.
  page.pair("used", usageSentence(row.result))
  if blocks.isEmpty { outputs(row, &page) } else { results(of: blocks, &page, style) }
  page.pair("files", filesSentence(files, path: path))
  earlierAttempts(row, &page, style)
  diagnostic(row, path: path, keepsLogs: true, &page)
  return page
}

/// Returns the page of a failure, for the end of `run` and `watch`. `keepsLogs` tells whether its
/// logs can be read afterwards.
/// Shorter than the whole page: somebody who waited for a run wants the cause.
public func failurePage(
  _ row: OperationRow, command: String? = nil, keepsLogs: Bool = true, _ style: Style
) -> [String] {
  var page = Page(style)
  let path = OperationPath(row).description
  page.line(
    StyledLine([
      .init(path, .strong), .init("  "), .init(row.state.rawValue, row.state.tone),
      .init(": " + safe(endingSentence(row) ?? "")),
    ]))
  page.pairs("command", safeLines(command ?? ""))
  diagnostic(row, path: path, keepsLogs: keepsLogs, &page)
  return page.lines
}

private func known(_ time: WallTime, _ style: Style) -> String? {
  time == .unknown ? nil : style.shownTime(time)
}

/// nil for a success and before the end. The number of the attempt is told if it was not the first.
private func endingSentence(_ row: OperationRow) -> String? {
  var sentence = shortReason(row)
  if sentence.isEmpty { return nil }
  if case .request(let text) = row.reason {
    sentence = text.isEmpty ? "cancelled by request" : "cancelled by request: " + text
  }
  if row.result?.wasForced == true { sentence += " (KILL was needed)" }
  return row.attempt > 1 ? sentence + ", in attempt \(row.attempt)" : sentence
}

/// Only what differs from the default is told.
private func queueSentence(_ row: OperationRow) -> String {
  var sentence = row.queue
  if row.priority != .normal { sentence += ", priority \(row.priority.word)" }
  if row.qos != .default { sentence += ", \(row.qos.word)" }
  return sentence
}

/// Ten dependencies are enough for a page; all are in the JSON.
private func needsSentence(_ row: OperationRow) -> String? {
  guard !row.needs.isEmpty else { return nil }
  let shown = row.needs.prefix(10).map { need in
    need.policy == .succeeded ? need.shown : "\(need.shown) (\(need.policy.word))"
  }
  let more = row.needs.count - shown.count
  return shown.joined(separator: ", ") + (more > 0 ? ", … \(more) more" : "")
}

/// The barriers ahead, or the operations that a barrier waits for.
private func blockersSentence(_ row: OperationRow) -> String? {
  guard !row.blockedBy.isEmpty else { return nil }
  let more = row.blockedBy.count - 10
  return row.blockedBy.prefix(10).map { row.shown($0) }.joined(separator: ", ")
    + (more > 0 ? ", … \(more) more" : "")
}

/// Writes one line per block; if there is no room for all, failed ones first.
/// Order stays that of the blocks, whichever are shown.
private func results(of blocks: [ShownBlock], _ page: inout Page, _ style: Style) {
  let room = 20
  var shown = Array(blocks.indices)
  if shown.count > room {
    let bad = shown.filter { blocks[$0].state != .succeeded }
    shown = Array((bad + shown.filter { blocks[$0].state == .succeeded }).prefix(room)).sorted()
  }
  var table = Table([.number("BLOCK"), .text("STATE"), .text("RESULT", shortest: 16)])
  for at in shown {
    let block = blocks[at]
    let lines = String(decoding: block.output, as: UTF8.self).split(separator: "\n")
    // The lines of one result are joined: a table has one line a row.
    let result = block.message.isEmpty ? lines.joined(separator: " ") : block.message
    table.add([
      .init("\(at + 1)"), .init(block.state.rawValue, block.state.tone),
      .init(result.split(separator: "\n").joined(separator: " ")),
    ])
  }
  page.blank()
  page.table(table)
  let hidden = blocks.count - shown.count
  if hidden > 0 { page.line(StyledLine("  … \(shownCount(hidden, "more block"))")) }
}

/// Processor time sums up all processes of the tree; memory is their peak.
private func usageSentence(_ result: AttemptResult?) -> String? {
  guard let result, result.processorMicroseconds > 0 || result.maximumResidentBytes > 0
  else { return nil }
  let processor = Int64(clamping: result.processorMicroseconds / 1000)
  let time = "\(shownDuration(milliseconds: processor)) of processor"
  // The memory of a short and small process is unknown.
  guard result.maximumResidentBytes > 0 else { return time }
  return time + ", \(shownSize(result.maximumResidentBytes)) of memory at most"
}

/// `bam (3 files, 1.2 GiB), log (3 KiB): opbatch fetch 12/align`; nil without files.
private func filesSentence(_ files: [StoredFile], path: String) -> String? {
  if files.isEmpty { return nil }
  var names: [String] = []
  var totals: [String: (count: Int, bytes: Int64)] = [:]
  for file in files {
    if totals[file.name] == nil { names.append(file.name) }
    let before = totals[file.name] ?? (0, 0)
    totals[file.name] = (before.count + 1, before.bytes.saturatingAdd(file.content.size))
  }
  let shown = names.map { name in
    let (count, bytes) = totals[name] ?? (0, 0)
    let size = shownSize(bytes)
    return count == 1 ? "\(name) (\(size))" : "\(name) (\(shownCount(count, "file")), \(size))"
  }
  return shown.joined(separator: ", ") + ": opbatch fetch \(path)"
}

/// A JSON value is shown as it is, lines as pairs.
private func outputs(_ row: OperationRow, _ page: inout Page) {
  guard let output = row.result?.output, !output.isEmpty else { return }
  if JSONSyntax.isValid(output) {
    return page.pair("output", String(decoding: output, as: UTF8.self))
  }
  guard let pairs = outputPairs(output) else {
    page.pair("output", shownSize(output.count))
    return
  }
  for (position, pair) in pairs.enumerated() {
    page.pair(position == 0 ? "output" : "", pair.key + "=" + pair.value)
  }
}

/// A single attempt that ended the operation is told by the page already.
private func earlierAttempts(_ row: OperationRow, _ page: inout Page, _ style: Style) {
  guard row.attempts.count > 1 || row.attempts.contains(where: { $0.outcome == nil })
  else { return }
  var table = Table([
    .number("ATTEMPT"), .text("WORKER", shortest: 6), .text("ENDED", shortest: 10),
    .text("TOOK", dispensable: 1),
  ])
  for entry in row.attempts {
    let result = entry.result
    table.add([
      .init("\(entry.run)"), .init(entry.workerName), .init(result.sentence),
      .init(shownDuration(from: result.startedAt, to: result.endedAt) ?? ""),
    ])
  }
  page.blank()
  page.table(table)
}

/// Maximum number of stderr lines on a page.
private let diagnosticLines = 12

/// Prefers the end of what was said: errors come last.
private func diagnostic(
  _ row: OperationRow, path: String, keepsLogs: Bool, _ page: inout Page
) {
  guard let result = row.result, result.cause != .none else { return }
  let lines = safeLines(result.diagnostic)
  // Skip a single line that the page already shows.
  let isNew = !lines.isEmpty && lines != [result.sentence]
  if isNew {
    page.blank()
    let hidden = lines.count - min(lines.count, diagnosticLines)
    page.line(
      StyledLine(
        hidden > 0
          ? "  the last \(diagnosticLines) lines that are known"
          : result.isOfProcess ? "  stderr" : "  it said"))
    page.quote(Array(lines.suffix(diagnosticLines)), isProse: !result.isOfProcess)
  }
  guard result.cause.hasStatus, keepsLogs else { return }
  page.blank()
  // If stderr is empty, stdout may say more.
  let stream = isNew && result.isOfProcess ? " --stderr" : ""
  page.line(StyledLine([.init("  all of it: ", .faint), .init("opbatch logs \(path)\(stream)")]))
}
