// Selectors: what is understood, how it is written back, and what is said about the rest.

import OpClusterModel
import OpClusterPresentation
import Testing

struct SelectorTests {
  private static func graphs(_ pairs: (UInt32, UInt32)...) -> Selection.Graphs {
    .numbers(pairs.map { .init(GraphID($0.0), GraphID($0.1)) })
  }

  static let good: [(String, Selection)] = [
    ("12", Selection(graphs: graphs((12, 12)))),
    ("12,14-20", Selection(graphs: graphs((12, 12), (14, 20)))),
    ("4294967295", Selection(graphs: graphs((.max, .max)))),
    ("last", Selection(graphs: .last(back: 0))),
    ("last~1", Selection(graphs: .last(back: 1))),
    ("active", Selection(graphs: .active)),
    ("all", Selection(graphs: .all)),
    ("12/align", Selection(graphs: graphs((12, 12)), operation: "align")),
    ("last/a.b_c:d-1", Selection(graphs: .last(back: 0), operation: "a.b_c:d-1")),
    ("12/al*", Selection(graphs: graphs((12, 12)), operation: "al*")),
    ("all/?.b", Selection(graphs: .all, operation: "?.b")),
    (
      "12/align/3",
      Selection(
        graphs: graphs((12, 12)), operation: "align", elements: [IndexRun(first: 3, count: 1)])
    ),
    (
      "12/align/1-9:2",
      Selection(
        graphs: graphs((12, 12)), operation: "align",
        elements: [IndexRun(first: 1, count: 5, step: 2)])
    ),
    (
      "12/align/0,7-8",
      Selection(
        graphs: graphs((12, 12)), operation: "align",
        elements: [IndexRun(first: 0, count: 1), IndexRun(first: 7, count: 2)])
    ),
  ]

  @Test(arguments: good.indices) func isUnderstoodAndWrittenBack(_ at: Int) throws {
    let (text, expected) = SelectorTests.good[at]
    let selection = try SelectorParser.selection(text)
    #expect(selection == expected)
    #expect(selection.path == text)
  }

  @Test func aRangeEndsWhereItsStepsEnd() throws {
    let selection = try SelectorParser.selection("12/align/1-10:2")
    #expect(selection.elements == [IndexRun(first: 1, count: 5, step: 2)])
    #expect(selection.path == "12/align/1-9:2")
  }

  static let bad: [(String, String, String)] = [
    ("", "an empty selector", "a selector is a graph (12)"),
    ("lst", "'lst' is not a selector", "did you mean 'last'?"),
    ("actve", "'actve' is not a selector", "did you mean 'active'?"),
    ("rnaseq", "'rnaseq' is not a selector", "a selector is a graph (12)"),
    ("12/", "'12/' is not a selector", "a selector is"),
    ("/align", "'/align' is not a selector", "a selector is"),
    ("12/a/3/4", "'12/a/3/4' is not a selector", "a selector is"),
    ("last~", "'last~': a number must follow last~", "last~1"),
    ("last~x", "'last~x': a number must follow last~", "last~1"),
    ("12,", "'' in '12,' does not name graphs", "write 12 or 14-20"),
    ("12-", "'12-' does not name graphs", "write 12 or 14-20"),
    ("4294967296", "'4294967296' does not name graphs", "write 12"),
    ("0-4294967295", "'0-4294967295' does not name graphs", "write 12"),
    ("1-9:2", "'1-9:2' does not name graphs", "write 12 or 14-20"),
    ("20-14", "'20-14' in '20-14' is an empty range", "smaller number"),
    ("12/al ign", "'al ign' cannot be an operation's name", "names are 1 to 128"),
    ("12/a\u{1b}[31m", "'a\\x1b[31m' cannot be an operation's name", "names are"),
    ("12/align/x", "'x' in '12/align/x' does not name elements", "write 3, 1-10 or 1-10:2"),
    ("12/align/1-10:0", "'1-10:0' in '12/align/1-10:0' does not name elements", "write 3"),
    ("12/align/3:2", "'3:2' in '12/align/3:2' does not name elements", "write 3"),
    ("12/align/-3", "'-3' in '12/align/-3' does not name elements", "write 3"),
    ("12/align/9-1", "'9-1' in '12/align/9-1' is an empty range", "smaller number"),
  ]

  @Test(arguments: bad.indices) func isExplained(_ at: Int) {
    let (text, message, hint) = SelectorTests.bad[at]
    do {
      let selection = try SelectorParser.selection(text)
      Issue.record("'\(text)' was taken as \(selection)")
    } catch {
      #expect(error.message == message)
      #expect(error.hint.contains(hint), "\(error.hint)")
    }
  }

  @Test func namesAndListsHaveABound() throws {
    let longest = String(repeating: "a", count: Limits.nameBytes)
    #expect(try SelectorParser.selection("1/" + longest).operation == longest)
    #expect(throws: SelectorError.self) { try SelectorParser.selection("1/" + longest + "a") }
    let most = Array(repeating: "1", count: SelectorParser.maximumPieces).joined(separator: ",")
    _ = try SelectorParser.selection(most)
    #expect(throws: SelectorError.self) { try SelectorParser.selection(most + ",1") }
  }

  @Test func statesAreWords() throws {
    #expect(try SelectorParser.states("failed,timed-out,failed") == [.failed, .timedOut])
    let error = #expect(throws: SelectorError.self) { try SelectorParser.states("faild") }
    #expect(error?.hint == "did you mean 'failed'?")
    let other = #expect(throws: SelectorError.self) { try SelectorParser.states("") }
    #expect(other?.hint.contains("timed-out, cancelled, skipped, lost") == true)
  }

  @Test func labelsAreKeyAndValue() throws {
    #expect(try SelectorParser.label("a=b=c") == Label(key: "a", value: "b=c"))
    #expect(try SelectorParser.label("a=") == Label(key: "a", value: ""))
    #expect(throws: SelectorError.self) { try SelectorParser.label("=b") }
    #expect(throws: SelectorError.self) { try SelectorParser.label("a") }
  }

  @Test func pathsFollowTheNumberingOfAnArray() {
    let stages = [
      Sample.stage("one", 1, first: 0, [:]), Sample.stage("none", 0, first: 1, [:]),
      Sample.stage("many", 5, first: 1, [:], runs: [IndexRun(first: 10, count: 5, step: 10)]),
      Sample.stage("plain", 3, first: 6, [:]),
    ]
    let index = StageIndex(Sample.structure(stages))
    let paths = (0..<10).map { index.path(of: $0) }
    #expect(
      paths == [
        "12/one", "12/many/10", "12/many/20", "12/many/30", "12/many/40", "12/many/50",
        "12/plain/1", "12/plain/2", "12/plain/3", "12/#9",
      ])
    #expect(index.stage(of: 1) == 2)
    #expect(index.stage(of: .max) == nil)
  }
}
