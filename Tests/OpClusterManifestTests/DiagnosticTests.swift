// Manifests with mistakes and what people read about them. The scripts are files in Expected:
// a manifest, `----`, and the findings; `REWRITE_EXPECTED=1` writes the latter anew, to be read
// by a person before they are committed.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct DiagnosticTests {
  static let files = ["shape", "values", "edges", "values-put-in", "arrays", "yaml", "work"]

  @Test(arguments: files) func theFindingsAreAsExpected(name: String) throws {
    let script = try fixtureText("Expected/\(name).txt")
    var rewritten = ""
    for block in script.components(separatedBy: "\n====\n") {
      let parts = block.components(separatedBy: "\n----\n")
      let source = parts[0]
      let found = Self.findings(source)
      rewritten += (rewritten.isEmpty ? "" : "\n====\n") + source + "\n----\n" + found
      if ProcessInfo.processInfo.environment["REWRITE_EXPECTED"] == nil {
        #expect(found == (parts.count > 1 ? parts[1] : ""), "\(source)")
      }
    }
    if ProcessInfo.processInfo.environment["REWRITE_EXPECTED"] != nil {
      let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
      try rewritten.write(
        toFile: "/\(folder)/Expected/\(name).txt", atomically: true, encoding: .utf8)
    }
  }

  /// The first line may give parameters: `# -p name=value -p other=value`.
  private static func findings(_ source: String) -> String {
    var parameters: [String: String] = [:]
    for word in source.prefix(while: { $0 != "\n" }).split(separator: " ") {
      let pair = word.split(separator: "=", omittingEmptySubsequences: false)
      if pair.count == 2, source.hasPrefix("# -p") { parameters[String(pair[0])] = String(pair[1]) }
    }
    let result = compile(source, parameters).result
    #expect((result.submission == nil) == result.diagnostics.contains { $0.severity == .error })
    return DiagnosticRenderer(source: source, file: "graph.yaml", color: false)
      .render(result.diagnostics)
  }

  /// The example of the interface's description, to the letter.
  @Test func theExampleOfTheInterface() {
    let source = """
      version: 1
      operations:
        make: {run: "seq 1 9"}
        sum:  {nedds: make, run: "awk ..."}
      """
    #expect(
      Self.findings(source) == """
        error: unknown key 'nedds' in operation 'sum'
          --> graph.yaml:4:10
           |   sum:  {nedds: make, run: "awk ..."}
           |          ^^^^^ did you mean 'needs'?

        """)
  }

  // The mark is as wide as what it marks, and stands below it, whatever stands before.
  @Test func marksGoByCells() {
    func marks(_ line: String, _ column: Int, _ length: Int) -> String {
      let renderer = DiagnosticRenderer(source: line, file: "f", color: false) { text in
        text.unicodeScalars.reduce(0) { sum, scalar in
          sum + (scalar.value >= 0x2E80 ? 2 : scalar.value == 0x301 ? 0 : 1)
        }
      }
      let found = Diagnostic(
        severity: .error, message: "m", line: 1, column: column, length: length)
      let lines = renderer.render(found).split(separator: "\n")
      return String(lines.last?.dropFirst(5) ?? "")
    }
    #expect(marks("漢字: nedds", 5, 5) == "      ^^^^^")
    #expect(marks("a 漢字 b", 3, 2) == "  ^^^^")
    #expect(marks("e\u{301}e\u{301}: x", 7, 1) == "    ^")
    #expect(marks("漢\t漢x", 4, 1) == "  \t  ^")
    // Behind the end, and of what has no width.
    #expect(marks("漢", 2, 4) == "  ^")
    #expect(marks("e\u{301}", 2, 1) == " ^")
  }

  @Test func longLinesAreCutAndTheTerminalIsSafe() {
    let line = String(repeating: "ü", count: 300)
    let diagnostic = Diagnostic(
      severity: .error, message: "a\u{1B}[2Jb", line: 1, column: 200, length: 500, hint: "h")
    let text = diagnostic.render(source: line, file: "f", color: false)
    let lines = text.split(separator: "\n")
    #expect(lines[0] == "error: a\u{FFFD}[2Jb")
    #expect(lines[2].count == 5 + 122)
    #expect(lines[3].hasSuffix("^ h"))
    #expect(lines[3].count == lines[2].count - 1 + 2)
    #expect(diagnostic.render(source: "", file: "f", color: true).hasPrefix("\u{1B}[1;31merror"))
    let many = Array(repeating: Diagnostic(severity: .warning, message: "m"), count: 103)
    let all = DiagnosticRenderer(source: "", file: "f", color: false).render(many)
    #expect(all.hasSuffix("… and 3 more\n"))
  }

  // On a terminal nothing wraps, and the mark stays below what it marks; a hint without room
  // beside it has a line of its own.
  @Test(arguments: [30, 60, 80, 200]) func marksStayOnNarrowTerminals(width: Int) throws {
    let names = (0..<60).map { "name\($0)" }.joined(separator: ", ")
    let renderer = DiagnosticRenderer(source: names, file: "f", color: false, width: width)
    for column in stride(from: 1, through: names.count, by: 7) {
      for hint in ["", "did you mean 'names'?"] {
        let found = Diagnostic(
          severity: .error, message: "m", line: 1, column: column, length: 3, hint: hint)
        let lines = renderer.render(found).split(separator: "\n").map { Array($0) }
        try #require(lines.count >= 4)
        #expect(lines[2].count <= width)
        let first = try #require(lines[3].firstIndex(of: "^"))
        let at = names.index(names.startIndex, offsetBy: column - 1)
        #expect(lines[2][first] == names[at])
        #expect(lines.last.map { String($0).hasSuffix(hint) } == true)
        if hint.isEmpty || lines.count == 4 { #expect(lines[3].count <= width) }
      }
    }
  }

  @Test(arguments: [("nedds", "needs", 1), ("same", "same", 0), ("", "abc", 3), ("Runn", "run", 1)])
  func distances(first: String, second: String, distance: Int) {
    #expect(NearNames.distance(first, second) == distance)
  }
}
