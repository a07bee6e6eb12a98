// Every limit of Limits.swift is named by a test that stands at it (house rule 11), or listed
// here with the reason. The list may only shrink.

import Testing

@Suite struct LimitsAreTested {
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
      for line in file.lines { named.formUnion(Self.names(in: line)) }
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

  /// The words after `Limits.` in a line.
  private static func names(in line: String) -> [String] {
    line.split(separator: "Limits.", omittingEmptySubsequences: false).dropFirst().map { rest in
      String(rest.prefix { $0.isLetter })
    }
  }
}
