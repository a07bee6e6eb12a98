// The result of the demo's graph: the report's output, and the failures on the way.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

struct DemoResult {
  let graph: GraphID
  /// Lines of the report.
  private let lines: [String]
  private let attempts: UInt32

  /// Reads the log of `report` and the row of the element that fails at first. Only the first piece
  /// of the log, 64 KiB, of which a report has eleven lines.
  init(_ graph: GraphID, _ reader: Reader) async throws {
    self.graph = graph
    var selection = Selection.graph(graph)
    selection.operation = "report"
    guard let report = try await reader.firstOperations(selection, limit: 1).rows.first,
      let chunk = try await reader.log(
        AttemptSelection(operation: report.id), .standardOutput, offset: 0)
    else { throw Failure.unexpectedReply("log") }
    lines = safeLines(String(decoding: chunk.bytes, as: UTF8.self))
    selection.operation = "count"
    selection.elements = [IndexRun(first: 3, count: 1)]
    attempts = try await reader.firstOperations(selection, limit: 1).rows.first?.attempt ?? 0
  }

  /// The result in the format of `-o`; only people get the bars.
  func show(_ files: DemoFiles, milliseconds: Int64, _ console: Console) throws {
    switch console.format {
    case .name: try console.writeLine("\(graph.number)")
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.object("graph") { $0.field("id", graph.number) }
          json.field("files", files.paths.count)
          json.array("report") { json in for line in lines { json.value(line) } }
        })
    case .table: try showTable(files, milliseconds, console)
    }
  }

  private func showTable(
    _ files: DemoFiles, _ milliseconds: Int64, _ console: Console
  ) throws {
    let style = console.outputStyle
    try console.writeLine("")
    try console.writeLine(
      style.paint(lines.first ?? "", .strong)
        + " in \(shownCount(files.paths.count, "text")), "
        + shownDuration(milliseconds: milliseconds)
    )
    // `COUNT WORD`, as `top` wrote them. Other lines are passed over: the report is a command's
    // output.
    let rows = lines.dropFirst().map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
    // Bars are relative to the most frequent word.
    let most = rows.compactMap { $0.first.flatMap { Int($0) } }.max() ?? 1
    for row in rows where row.count == 2 {
      // A line that is no row of the table is left out of it.
      guard let count = Int(row[0]) else { continue }
      let bar = String(repeating: style.usesUnicode ? "▇" : "#", count: max(1, count * 30 / most))
      let number = shownCount(count)
      let blanks = String(repeating: " ", count: max(0, 8 - number.count))
      let word = row[1] + String(repeating: " ", count: max(1, 14 - row[1].count))
      try console.writeLine("\(blanks)\(number)  \(word)\(style.paint(bar, .active))")
    }
    try console.writeLine("")
    if attempts > 1 {
      try console.writeLine("count/3 failed at first, on purpose, and was tried again.")
    }
    try console.writeLine("rare found nothing and failed, which its manifest allows.")
  }
}
