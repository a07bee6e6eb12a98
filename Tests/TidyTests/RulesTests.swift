// Every rule of the semantics is named by a test, or listed with the reason in Tests/RULES.md.

import FoundationEssentials
import Testing

@Suite struct Rules {
  private static let document = "Tests/RULES.md"
  private static let all = 1...151

  @Test func everyRuleIsNamedOrListed() throws {
    let named = try Self.named()
    let (untested, partly) = try Self.listed()
    for rule in Self.all {
      let count = [untested, partly].count { $0.contains(rule) }
      #expect(count <= 1, "S\(rule) is listed twice")
      switch (named[rule], untested.contains(rule)) {
      case (nil, false):
        Issue.record("no test names S\(rule), and \(Self.document) does not either")
      case (let file?, true): Issue.record("S\(rule) is listed as untested, but see \(file)")
      case (nil, true), (_?, false): break
      }
      if partly.contains(rule) {
        #expect(named[rule] != nil, "S\(rule) is listed as tested in part, but no test names it")
      }
    }
    #expect(untested.union(partly).isSubset(of: Set(Self.all)))
  }

  /// Every rule that a file of the tests names, and one such file.
  private static func named() throws -> [Int: String] {
    var found: [Int: String] = [:]
    for path in try Tree.files(in: "Tests") where path != document {
      guard let bytes = FileManager.default.contents(atPath: "\(Tree.root)/\(path)") else {
        continue
      }
      for rule in numbers(in: bytes) { found[rule] = path }
    }
    return found
  }

  /// The numbers of the words `S1` … `S999` in a text.
  private static func numbers(in bytes: some Sequence<UInt8>) -> Set<Int> {
    var found: Set<Int> = []
    var word: [UInt8] = []
    for byte in Array(bytes) + [10] {
      let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
      let isDigit = UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
      if isLetter || isDigit || byte == UInt8(ascii: "_") {
        word.append(byte)
      } else {
        if word.first == UInt8(ascii: "S"), word.count <= 4,
          let number = Int(String(decoding: word.dropFirst(), as: UTF8.self))
        {
          found.insert(number)
        }
        word.removeAll(keepingCapacity: true)
      }
    }
    return found
  }

  /// The rules that the document lists as untested, and as tested in part.
  private static func listed() throws -> (untested: Set<Int>, partly: Set<Int>) {
    var lists: [Set<Int>] = []
    for line in try Tree.lines(of: document) {
      if line.hasPrefix("## ") { lists.append([]) }
      guard line.hasPrefix("- S"), !lists.isEmpty else { continue }
      if let number = Int(line.dropFirst(3).prefix { $0.isNumber }) {
        lists[lists.count - 1].insert(number)
      }
    }
    try #require(lists.count == 2, "\(document) has two lists")
    return (lists[0], lists[1])
  }
}
