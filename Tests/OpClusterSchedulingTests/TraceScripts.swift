// The coordinator's mind against Semantics.md, in scripts that people read. Every rule of that
// document which the scheduler decides has a case under `Scripts`, named by the rules it shows.
//
//   == diamond (S20 S21)          a case: an empty cluster
//
//   # b and c wait for a.         a step: remarks, commands,
//   worker w1 slots=1
//   submit a b(a) c(a) d(b,c)
//   turn                          the scheduler takes in what came so far and decides once
//   ----
//   journal   …                   what came of it: facts, answers, orders for each worker, events
//
// An attempt is `a#1`, an element `x/2`. A worker acts and reports in one line: `w1 start a`,
// `w1 end a=5 fail b`; `quietly` keeps it to itself for now. `lose w1` lets its lease run out.
//
// OPCLUSTER_REWRITE=1 writes what came of it into the scripts; a person then reads the difference.

import FoundationEssentials
import Testing

@testable import OpClusterScheduling

@Suite struct TraceScripts {
  static let isRewriting = ProcessInfo.processInfo.environment["OPCLUSTER_REWRITE"] == "1"

  @Test func scriptsAreThere() {
    #expect(ScriptFolder.names.count >= 10)
  }

  @Test(arguments: ScriptFolder.names)
  func script(_ name: String) throws {
    var file = try ScriptFile(name: name)
    #expect(!file.cases.isEmpty)
    for at in file.cases.indices { play(&file.cases[at], of: name) }
    if Self.isRewriting { try file.write() }
  }

  private func play(_ script: inout ScriptFile.Case, of name: String) {
    var player = ScriptPlayer()
    for at in script.steps.indices {
      let step = script.steps[at]
      do throws(ScriptError) {
        let trace = try player.play(step.commands)
        if !Self.isRewriting, trace != step.expected {
          Issue.record("\(name):\(step.line) \(script.title)\n\(difference(step.expected, trace))")
        }
        script.steps[at].expected = trace
      } catch {
        Issue.record("\(name):\(step.line) \(script.title): \(error)")
        return
      }
    }
    let last = script.steps.last?.line ?? 0
    if let problem = player.problem { Issue.record("\(name):\(last) \(script.title): \(problem)") }
    // G4: what the journal says is what there is.
    #expect(
      player.world.replayed().snapshot() == player.world.scheduler.snapshot(),
      "\(name):\(last) \(script.title): replay differs")
  }

  /// Lines that are missing (−) and lines that nobody expected (+).
  private func difference(_ expected: [String], _ trace: [String]) -> String {
    var lines: [String] = []
    let changes = trace.difference(from: expected)
    let missing = Set(
      changes.removals.map { change in
        if case .remove(let offset, _, _) = change { return offset }
        return -1
      })
    let added = Set(
      changes.insertions.map { change in
        if case .insert(let offset, _, _) = change { return offset }
        return -1
      })
    for (at, line) in expected.enumerated() where missing.contains(at) { lines.append("− \(line)") }
    for (at, line) in trace.enumerated() { lines.append((added.contains(at) ? "+ " : "  ") + line) }
    return lines.joined(separator: "\n")
  }
}
