// A script with expected traces as text: cases, each a world of its own, in steps of commands and
// of what they lead to. The format is told at the head of `TraceScripts.swift`.

import FoundationEssentials
import Testing

/// Where the scripts stand: beside the tests that run them.
enum ScriptFolder {
  static var path: String {
    "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/") + "/Scripts"
  }

  /// Names of all scripts, sorted; the test has nothing to run when the folder is lost, so an
  /// empty list is an error of its own.
  static var names: [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return all.filter { $0.hasSuffix(".script") }.sorted()
  }
}

struct ScriptFile {
  var path: String
  /// Comments before the first case, verbatim.
  var preamble: [String] = []
  var cases: [Case] = []

  struct Case {
    /// With the numbers of the rules: `== diamond (S20 S21 S114)`.
    var title: String
    var steps: [Step] = []
  }

  struct Step {
    /// Number of the first line, for messages.
    var line: Int
    /// Comments and commands, verbatim.
    var commands: [String] = []
    var expected: [String] = []
  }

  init(name: String) throws {
    path = "\(ScriptFolder.path)/\(name)"
    let data = try #require(FileManager.default.contents(atPath: path))
    let text = try #require(String(data: data, encoding: .utf8))
    var isExpectation = false
    for (at, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      take(String(line), at: at + 1, &isExpectation)
    }
    while preamble.last == "" { preamble.removeLast() }
  }

  private mutating func take(_ line: String, at number: Int, _ isExpectation: inout Bool) {
    if line.hasPrefix("== ") {
      cases.append(Case(title: String(line.dropFirst(3))))
      isExpectation = false
    } else if cases.isEmpty {
      preamble.append(line)
    } else if line.isEmpty {
      isExpectation = false
    } else if line == "----" {
      isExpectation = true
    } else if isExpectation {
      let step = cases[cases.count - 1].steps.count - 1
      cases[cases.count - 1].steps[step].expected.append(line)
    } else {
      add(command: line, at: number)
    }
  }

  private mutating func add(command: String, at number: Int) {
    let last = cases.count - 1
    if let step = cases[last].steps.last, step.expected.isEmpty,
      number == step.line + step.commands.count
    {
      cases[last].steps[cases[last].steps.count - 1].commands.append(command)
    } else {
      cases[last].steps.append(Step(line: number, commands: [command]))
    }
  }

  /// The whole file anew, with what `expected` now says.
  var text: String {
    var lines = preamble
    for script in cases {
      lines += ["", "== \(script.title)"]
      for step in script.steps { lines += [""] + step.commands + ["----"] + step.expected }
    }
    return lines.drop { $0.isEmpty }.joined(separator: "\n") + "\n"
  }

  func write() throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }
}
