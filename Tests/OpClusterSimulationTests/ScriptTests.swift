// Worlds as scripts: recorded, written, read, replayed and made small; and the scripts that are
// kept because a real or a deliberate bug broke them.

import FoundationEssentials
import Testing

@testable import OpClusterSimulation

@Suite struct Scripts {
  // Simulation.md: the script is the same world as the seed that it was recorded from.
  @Test(arguments: [UInt64(2), 3, 5, 8, 13, 17])
  func aRecordingIsTheSameWorld(seed: UInt64) throws {
    let (report, script) = Simulation.record(seed: seed)
    #expect(report.hash == Seeds.first[Int(seed)].hash)
    #expect(Simulation.run(script).hash == report.hash)
    let again = try WorldScript(text: script.text(comments: ["seed \(seed)"]))
    #expect(again.mishaps == script.mishaps && again.asks == script.asks)
    #expect(again.verdicts == script.verdicts && again.syncs == script.syncs)
    #expect(Simulation.run(again).hash == report.hash)
  }

  @Test func whatMeansNothingIsNamed() {
    #expect(throws: ScriptError.self) { try WorldScript(text: "") }
    for line in ["mishap 1 nothing 0 0 0", "message worker 0 says", "ask 1 0 abc", "latency 5"] {
      let error = #expect(throws: ScriptError.self) {
        try WorldScript(text: "worker 10000 0 0 0 - - 0\n\(line)\n")
      }
      #expect(error?.line == 2, "\(line)")
    }
  }

  // A smaller script breaks the same rule.
  @Test func aFailureIsMadeSmall() throws {
    let mutant = Mutant.noAwaits
    let seed = try #require(
      Mutants.candidates(for: mutant, atMost: 300).first {
        Simulation.run(seed: $0, mutant: mutant).violation != nil
      })
    let whole = Simulation.record(seed: seed, mutant: mutant).1
    var shrinking = try #require(
      Shrinking(seed: seed, mutant: mutant, bound: 40, tell: { _ in }))
    shrinking.run()
    #expect(shrinking.script.itemCount < whole.itemCount)
    let report = Simulation.run(shrinking.script, mutant: mutant)
    #expect(report.violation?.rule == shrinking.rule)
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Regressions")
  private static var kept: [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
    return (names ?? []).filter { $0.hasSuffix(".script") }.sorted()
  }

  // Every script holds; and breaks where the bug that it was found with is planted again.
  @Test(arguments: kept)
  func holds(name: String) throws {
    let path = Self.folder.appending(path: name).path
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let script = try WorldScript(text: text)
    let report = Simulation.run(script)
    let story = report.violation.map { "\($0.rule): \($0.text)" } ?? ""
    #expect(report.violation == nil, "\(story), see it with: opsim replay --trace \(path)")
    let mark = "# with the mutant "
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(mark) }) else {
      return
    }
    let mutant = try #require(Mutant(rawValue: String(line.dropFirst(mark.count))))
    if mutant.isOfBodies {
      #expect(Simulation.run(script, mutant: mutant).violation != nil, "\(mutant) is unseen")
    }
  }

  @Test func someAreKept() { #expect(!Self.kept.isEmpty) }
}
