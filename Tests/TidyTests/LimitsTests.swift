// Every limit of Limits.swift is named by a test that stands at it, or listed
// here with the reason. The list may only shrink.

import Citations
import Testing

@Suite(.checks("G27")) struct LimitsAreTested {
  private static let file = "Sources/OpClusterModel/Limits.swift"

  private static let untested: [String: String] = [
    "groupEdgesPerGraph": "two million edges take longer than a test may; checked like templates",
    "elementEdgesPerGraph": "no message can hold so many",
    "fenceMargin": "part of a check of settings, which is tested as a whole",
    "processesPerOperation": "the default of a setting; the setting is tested",
    "publicKeyBytes": "a size that CURVE gives, not a bound of ours",
    "framesPerTurn": "shows only in how fast a socket is read; whose turn it is, is tested",
    "frameBytesPerTurn": "likewise; a turn beyond it is one frame longer",
  ]

  @Test func everyLimitIsNamedByATest() throws {
    var named: Set<String> = []
    for file in try Tree.swiftFiles() where file.path.hasPrefix("Tests/Op") {
      // A comment stands at nothing.
      for line in file.codeLines {
        let code = line.text.components("//").first ?? ""
        named.formUnion(Self.names(in: code))
      }
    }
    var limits: Set<String> = []
    for line in try Tree.lines(of: Self.file) {
      guard let found = line.firstRange(of: "static let ") else { continue }
      let name = String(line[found.upperBound...].prefix { $0.isLetter })
      limits.insert(name)
      let isListed = Self.untested[name] != nil
      #expect(named.contains(name) || isListed, "no test stands at Limits.\(name)")
      #expect(!named.contains(name) || !isListed, "Limits.\(name) is tested by now")
    }
    #expect(limits.count > 50 && limits.isSuperset(of: Self.untested.keys))
  }

  /// The tests that say what shows a bound or a guarantee are there, under these names.
  @Test func everyTestThatIsNamedExists() throws {
    var words: Set<String> = []
    for file in try Tree.swiftFiles() where file.path.hasPrefix("Tests/") {
      words.insert(String(file.path.split(separator: "/").last?.dropLast(6) ?? ""))
      words.formUnion(file.path.split(separator: "/").map { String($0) })
      for line in file.codeLines {
        let parts = line.text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
        for (at, word) in parts.enumerated().dropLast()
        where ["func", "struct", "enum", "class", "extension"].contains(word) {
          words.insert(String(parts[at + 1]))
        }
      }
    }
    var count = 0
    for path in ["Tests/BOUNDS.md", "Tests/GUARANTEES.md"] {
      for line in try Tree.lines(of: path) where line.hasPrefix("|") {
        let cells = line.components("|")
        let shownBy = path.hasSuffix("BOUNDS.md") ? cells.dropLast().last : cells.dropFirst(2).first
        for name in Self.testNames(in: shownBy ?? "") {
          count += 1
          #expect(
            words.contains(name) || words.contains(name + "Tests"),
            "\(path) names '\(name)', which no test has")
        }
      }
    }
    #expect(count > 250)
  }

  /// The parts of `Suite.test`, `.test` and `SomethingTests` between backquotes.
  private static func testNames(in cell: String) -> [String] {
    cell.components("`").enumerated().filter { $0.offset % 2 == 1 }.flatMap { _, text -> [String] in
      let isTest = text.hasSuffix("Tests") || text.contains(".")
      let isPlain = text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
      let parts = text.split(separator: ".").map(String.init)
      let isFile = ["max", "group", "md", "swift"].contains { parts.dropFirst().contains($0) }
      return isTest && isPlain && !isFile && parts.first != "Limits" ? parts : []
    }
  }

  /// The words after `Limits.` in a line.
  private static func names(in line: String) -> [String] {
    line.split(separator: "Limits.", omittingEmptySubsequences: false).dropFirst().map { rest in
      String(rest.prefix { $0.isLetter })
    }
  }
}

extension String {
  /// What stands between the separators.
  fileprivate func components(_ separator: String) -> [String] {
    split(separator: separator, omittingEmptySubsequences: false).map(String.init)
  }
}
