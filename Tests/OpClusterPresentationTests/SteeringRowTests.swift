// What rows say besides their state: progress, what is in the way, what became of blocks.

import Citations
import OpClusterModel
import OpClusterPresentation
import Testing

struct SteeringRowTests {
  private func row(_ state: StateWord) -> OperationRow {
    OperationRow(
      id: OperationID(graph: GraphID(12), index: 3), name: "align", index: nil, state: state)
  }

  private func json(_ row: OperationRow, blocks: [ShownBlock] = []) throws -> StrictJSON {
    var json = JSONText()
    json.object { $0.fields(of: row, blocks: blocks) }
    return try StrictJSON(json.text)
  }

  @Test func progressIsShown() throws {
    var row = row(.executing)
    row.progress = OperationRow.Progress(fraction: 0.419, text: "reading")
    let page = operationPage(row, Sample.style(80)).joined(separator: "\n")
    #expect(page.contains("progress"))
    #expect(page.contains("41% reading"))
    let table = operationTable([row], Sample.style(80)).lines(Sample.style(80))
    #expect(table.last?.contains("41% reading") == true)
    #expect(try json(row)["progress"]?["fraction"] == .number(0.419))
    #expect(try json(row)["progress"]?["text"] == .string("reading"))
    row.progress = OperationRow.Progress(fraction: .nan, text: "")
    #expect(operationPage(row, Sample.style(80)).joined().contains("0%"))
  }

  /// S39, S86.
  @Test(.checks("S39", "S86")) func whatIsInTheWayIsNamed() throws {
    var row = row(.waiting)
    let barrier = OperationID(graph: GraphID(7), index: 0)
    row.blockedBy = [barrier]
    #expect(operationPage(row, Sample.style(80)).joined().contains("7/#0"))
    #expect(try json(row)["blocked_by"] == .array([.string("7/#0")]))
    row.needs = [.init(id: barrier, shown: "7/barrier", policy: .finished)]
    #expect(try json(row)["blocked_by"] == .array([.string("7/barrier")]))
    #expect(try json(self.row(.waiting))["blocked_by"] == nil)
  }

  /// S123.
  @Test(.checks("S123")) func blocksAreShownByPosition() throws {
    var row = row(.failed)
    var result = AttemptResult()
    result.cause = .failed
    result.output = [0xFF]
    result.diagnostic = "1 of 3 blocks failed. Block 2: no"
    row.result = result
    let blocks = [
      ShownBlock(state: .succeeded, output: Array("k=v".utf8)),
      ShownBlock(state: .failed, message: "no"), ShownBlock(state: .skipped),
    ]
    let page = operationPage(row, blocks: blocks, Sample.style(80)).joined(separator: "\n")
    #expect(page.contains("1 of 3 blocks failed. Block 2: no"))
    #expect(!page.contains("stderr\n"))
    for part in ["1  succeeded  k=v", "2  failed     no", "3  skipped"] {
      #expect(page.contains(part), "\(page)")
    }
    let json = try json(row, blocks: blocks)
    #expect(json["output_base64"] == nil)
    guard case .array(let results)? = json["block_results"] else {
      Issue.record("no block_results")
      return
    }
    #expect(results[0]["output"]?["k"] == .string("v"))
    #expect(results[1]["message"] == .string("no"))
    #expect(results[2]["state"] == .string("skipped"))
  }

  /// A typed output is JSON already.
  @Test func typedOutputsStayJSON() throws {
    var row = row(.succeeded)
    var result = AttemptResult()
    result.output = Array("{\"a\":[1,\"x=y\\u001b\"]}\n".utf8)
    row.result = result
    #expect(try json(row)["output"]?["a"] == .array([.number(1), .string("x=y\u{1b}")]))
    result.output = Array("\"\u{9b}\"".utf8)
    row.result = result
    var text = JSONText()
    text.object { $0.fields(of: row) }
    #expect(text.text.contains("\"output\":\"\\u009b\""))
  }

  // Where stderr says nothing, the way to the log is the way to both streams; and none is shown to
  // a log that goes away.
  @Test func theWayToTheLog() {
    func page(_ diagnostic: String, keepsLogs: Bool = true) -> String {
      var row = Sample.failed
      row.result?.diagnostic = diagnostic
      return failurePage(row, keepsLogs: keepsLogs, Sample.style(80)).joined(separator: "\n")
    }
    #expect(page("bad\n").hasSuffix("all of it: opbatch logs 12/align/3 --stderr"))
    #expect(page("").hasSuffix("all of it: opbatch logs 12/align/3"))
    #expect(page("bad\n", keepsLogs: false).hasSuffix("bad"))
    #expect(!page("", keepsLogs: false).contains("opbatch logs"))
  }
}
