// The door of the state: scheduling reads `ClusterState` by names that the compiler lets nobody
// assign to, and changes it by committing facts and by the few marks below. A new way in is a
// decision, and belongs into this list.

import Testing

@Suite struct StateDoor {
  /// Functions of the state that change it and are called from outside of it.
  private static let ways: Set<String> = [
    // Facts
    "apply", "replay", "restore",
    // The end of a turn, part of each, replayed ones too
    "tellQueueCounts", "endGraphs", "close", "sweepLines",
    // Orders to workers
    "askRecall", "recallAhead", "markRecalling",
    // Marks of operations, stages and graphs
    "pin", "unpin", "endBackoff", "setUnable", "separate", "markStopped", "noteStopping", "own",
    "takeFailedGraphs", "takePinChanges", "takeNewKinds", "takeChangedWorkers",
    "takeChangedQueues", "citedGraphs", "takeEndedRecomputations",
    // Lines
    "takeLine", "putBack", "enterLine", "parkInGraph", "parkInStage",
    "setService", "visitLine", "closeLine", "reopenLine", "wakeResting",
  ]

  /// By file: the lines inside of extensions of one type.
  private static func lines(of type: String) throws -> [(path: String, number: Int, text: String)] {
    var found: [(path: String, number: Int, text: String)] = []
    for file in try Tree.swiftFiles() where file.path.hasPrefix("Sources/OpClusterScheduling/") {
      var isInside = false
      let code = Dictionary(uniqueKeysWithValues: file.codeLines.map { ($0.number, $0.text) })
      for (at, line) in file.lines.enumerated() {
        if !line.hasPrefix(" "),
          let head = line.firstMatch(of: /^(?:public |private )?(?:extension|struct) (\w+)/)
        {
          isInside = head.1 == type
        }
        if isInside, let text = code[at + 1] { found.append((file.path, at + 1, text)) }
        if line == "}" { isInside = false }
      }
    }
    return found
  }

  @Test func onlyTheWaysInChangeIt() throws {
    var mutating: Set<String> = []
    var fields: Set<String> = []
    for line in try Self.lines(of: "ClusterState") {
      if let name = line.text.firstMatch(of: /mutating func (\w+)/) { mutating.insert("\(name.1)") }
      guard line.path.hasSuffix("/ClusterState.swift") else { continue }
      if let name = line.text.firstMatch(of: /^var (\w+)/) { fields.insert("\(name.1)") }
    }
    #expect(fields.count > 15 && mutating.count > 60)
    var used: Set<String> = []
    for line in try Self.lines(of: "Scheduler") {
      guard line.text.contains("state.") else { continue }
      for call in line.text.matches(of: /\bstate\.(\w+)\(/) where mutating.contains("\(call.1)") {
        used.insert("\(call.1)")
        #expect(Self.ways.contains("\(call.1)"), "\(line.path):\(line.number): \(call.1)")
      }
      for field in line.text.matches(of: /\bstate\.(\w+)/) where fields.contains("\(field.1)") {
        let rest = line.text[field.range.upperBound...]
        let change = rest.firstMatch(
          of: #/^(?:\[[^\]]*\]|\.\w+)*(?: [-+&|]?= |\.(?:append|insert|remove|update))/#)
        #expect(change == nil, "\(line.path):\(line.number) changes \(field.1)")
      }
    }
    #expect(used == Self.ways, "no way is listed that nobody goes")
  }
}
