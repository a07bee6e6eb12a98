// The rules stand in the documentation catalogue, each under its number once. Whatever number code,
// tests and documents cite is one of them. Each is checked by a test that says so on itself: by its
// name, by `.checks(…)`, as a trace script, a row of faults or an invariant of the simulation. A
// word in a comment checks nothing.

import FoundationEssentials
import Testing

@Suite struct Rules {
  /// Pages of the catalogue, and the letters of their numbers.
  private static let pages: [(name: String, letters: String)] = [
    ("Semantics", "S"), ("Guarantees", "G"), ("Faults", "FX"), ("ConformanceCases", "C"),
    ("ZeroMQ", "A"), ("Simulation", "I"), ("Workloads", "W"),
  ]
  private static let catalogue = "Sources/OpCluster/OpCluster.docc"

  /// Numbers that look like those of rules, by the file in which they stand.
  private static let otherNumbers: [String: Set<String>] = [
    // Control characters.
    "Tests/OpClusterTests/HostileTextTests.swift": ["C1"],
    // A character by its number.
    "Tests/OpClusterZeroMQTests/EndpointTests.swift": ["F6"],
  ]

  /// Rules that no test checks, and why. The list may only shrink.
  private static let unchecked: [String: String] = [
    "W1": "a workload is measured, not tested", "W2": "likewise", "W3": "likewise",
    "W4": "likewise", "W5": "likewise", "W7": "likewise", "W8": "likewise", "W9": "likewise",
    "W10": "likewise", "W11": "likewise", "W13": "likewise", "W14": "likewise",
    "W15": "likewise", "W16": "likewise", "W17": "likewise", "W18": "likewise",
    "W19": "likewise",
  ]

  @Test func everyNumberStandsOnce() throws {
    var known: Set<String> = []
    for page in Self.pages {
      for (at, line) in try Tree.lines(of: "\(Self.catalogue)/\(page.name).md").enumerated()
      where line.hasPrefix("### ") {
        let words = line.dropFirst(4).split(separator: " ", maxSplits: 1)
        let number = RuleNumber.all(in: String(words.first ?? "")).first
        let place = "\(page.name).md:\(at + 1)"
        #expect(
          number.map { String($0.first ?? " ") }.map(page.letters.contains) == true, "\(place)")
        #expect(words.count == 2, "\(place) has no title")
        #expect(known.insert(number ?? "").inserted, "\(place) stands twice")
      }
    }
    for (letter, count) in [("S", 151), ("G", 40)] {
      for number in 1...count { #expect(known.contains("\(letter)\(number)")) }
    }
  }

  @Test func everyCitationLeadsToARule() throws {
    let known = try Self.known()
    var cited = 0
    let paths =
      try ["Sources", "Tests", "deploy", "proto"].flatMap { try Tree.files(in: $0) }
      + ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Package.swift"]
    let endings = ["swift", "md", "script", "proto", "yaml", "c", "h", "sh"]
    for path in paths where !path.hasSuffix(".pb.swift") {
      let name = path.split(separator: "/").last ?? ""
      let ending = name.split(separator: ".").dropFirst().last.map(String.init)
      guard ending.map(endings.contains) ?? path.hasPrefix("deploy/") else { continue }
      guard let bytes = FileManager.default.contents(atPath: "\(Tree.root)/\(path)") else {
        continue
      }
      for number in RuleNumber.all(in: String(decoding: bytes, as: UTF8.self)) {
        cited += 1
        let isOther = Self.otherNumbers[path]?.contains(number) == true
        #expect(known.contains(number) || isOther, "\(path) cites \(number), which is no rule")
      }
    }
    #expect(cited > 1_000)
  }

  @Test func everyRuleIsChecked() throws {
    let known = try Self.known()
    let checked = try Self.checked()
    for number in checked.sorted() {
      #expect(known.contains(number), "a test says that it checks \(number), which is no rule")
    }
    for number in known.sorted() {
      let isListed = Self.unchecked[number] != nil
      #expect(checked.contains(number) || isListed, "no test says that it checks \(number)")
      #expect(!checked.contains(number) || !isListed, "\(number) is checked by now")
    }
  }

  private static func known() throws -> Set<String> {
    var known: Set<String> = []
    for page in pages {
      for line in try Tree.lines(of: "\(catalogue)/\(page.name).md") where line.hasPrefix("### ") {
        known.formUnion(RuleNumber.all(in: String(line.dropFirst(4).prefix { $0 != " " })))
      }
    }
    return known
  }

  // MARK: - What tests say of themselves

  private static func checked() throws -> Set<String> {
    var checked: Set<String> = []
    for file in try Tree.swiftFiles() {
      if file.path.hasPrefix("Tests/Faults/Rows/") {
        checked.formUnion(file.values(of: ["number:", "promise:"]))
      } else if file.path.hasPrefix("Tests/") {
        checked.formUnion(file.testAttributes.flatMap { RuleNumber.all(in: $0) })
      } else if file.path == "Sources/OpClusterSimulation/Oracle/Invariants.swift" {
        checked.formUnion(file.values(of: ["of("]))
      }
    }
    for path in try Tree.files(in: "Tests") where path.hasSuffix(".script") {
      for line in try Tree.lines(of: path) where line.hasPrefix("== ") {
        checked.formUnion(RuleNumber.all(in: line))
      }
    }
    return checked
  }
}

/// Numbers such as `S47`, `G10`, `C50a`.
private enum RuleNumber {
  private static let letters: Set<Character> = ["S", "G", "F", "X", "C", "A", "I", "W"]

  static func all(in text: String) -> [String] {
    text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_")) }.compactMap { word in
      guard let first = word.first, letters.contains(first) else { return nil }
      var digits = word.dropFirst()
      if let last = digits.last, ("a"..."e").contains(last) { digits = digits.dropLast() }
      let isNumber = (1...3).contains(digits.count) && digits.allSatisfy(\.isNumber)
      return isNumber ? String(word) : nil
    }
  }
}

extension SourceFile {
  /// The texts of `@Test` and `@Suite`, up to what they stand at.
  fileprivate var testAttributes: [String] {
    var found: [String] = []
    for (at, line) in lines.enumerated() {
      let text = line.drop { $0 == " " }
      guard text.hasPrefix("@Test") || text.hasPrefix("@Suite") else { continue }
      var attribute = ""
      for next in lines[at...] {
        let words = next.split { !($0.isLetter || $0 == "\"") }
        let end = words.first { ["func", "struct", "class", "enum", "actor"].contains($0) }
        attribute += end.map { String(next[..<$0.startIndex]) } ?? next + "\n"
        if end != nil { break }
      }
      found.append(attribute)
    }
    return found
  }

  /// Numbers in the first text behind one of these words, in lines of code; the text may stand in
  /// the line after it.
  fileprivate func values(of words: [String]) -> [String] {
    let code = codeLines.map(\.text)
    return code.indices.flatMap { at in
      words.flatMap { word -> [String] in
        guard let found = code[at].firstRange(of: word) else { return [] }
        let rest = String(code[at][found.upperBound...])
        let text = rest.isEmpty && at + 1 < code.count ? code[at + 1] : rest
        let texts = text.split(separator: "\"", omittingEmptySubsequences: false)
        return texts.count > 1 ? RuleNumber.all(in: String(texts[1])) : []
      }
    }
  }
}
