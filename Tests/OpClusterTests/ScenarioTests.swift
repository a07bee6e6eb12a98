// The scenario that every setting has (house habit 18), here with real processes: from a manifest
// and `opbatch run` to what is shown, with commands that a shell runs. Its body is in
// Tests/ScenarioBody.

import OpClusterClient
import OpClusterModel
import RealCluster
import ScenarioBody
import Testing

@Suite(.sharedCluster) struct ScenarioTests {
  @Test func diamond() async throws {
    try await expectDiamond(in: ProcessSetting(scene: SharedCluster.scene("diamond")))
  }
}

/// Daemons and commands.
private struct ProcessSetting: ScenarioSetting {
  let scene: Scene

  func run(_ scenario: Scenario) async throws -> ScenarioReport {
    let path = "\(scene.folder)/\(scenario.name).yaml"
    try write(manifest(scenario), to: path)
    let ran = try await scene.cluster.opbatch("run", "-m", path)
    let row = try #require(
      try await scene.connection.graphs(Selection(graphs: .last(back: 0))).first, "\(ran.error)")
    #expect(row.name == scenario.name)
    // The command's own word for how the graph ended (Operating.md, exit codes).
    #expect((ran.status == 0) == (row.state == .succeeded), "\(ran.status): \(ran.error)")
    let operations = try await scene.connection.operations(.graph(row.graph))
    return ScenarioReport(
      state: row.state, allowedFailures: row.allowedFailures, outcomes: operations.map(\.outcome),
      moments: scene.trace.map(moment))
  }

  private func moment(_ what: String) -> ScenarioReport.Moment {
    ScenarioReport.Moment(String(what.dropLast()), what.hasSuffix("+") ? .start : .end)
  }

  /// The scenario as somebody would write it.
  private func manifest(_ scenario: Scenario) -> String {
    """
    version: 1
    name: \(scenario.name)
    x-words: &words |
    \(indented(scene.preamble, by: 2))
    operations:
    \(scenario.operations.map(entry).joined(separator: "\n"))

    """
  }

  private func entry(_ operation: Scenario.Operation) -> String {
    var lines = ["\(operation.name):", "  env: {WORDS: *words}"]
    if let count = operation.count { lines.append("  array: 1-\(count)") }
    if operation.retries > 0 { lines.append("  retry: \(operation.retries)") }
    if operation.mayFail { lines.append("  allow_failure: true") }
    let needs = operation.needs.map { "\($0.name): \($0.policy)" }
    if !needs.isEmpty { lines.append("  needs: {\(needs.joined(separator: ", "))}") }
    lines += ["  run: |", indented(command(operation), by: 4)]
    return indented(lines.joined(separator: "\n"), by: 2)
  }

  /// Tells of its start, counts its runs by what it told itself, tells of its end, and ends as the
  /// scenario says.
  private func command(_ operation: Scenario.Operation) -> String {
    """
    eval "$WORDS"
    self=\(operation.name)${OP_INDEX:+-$OP_INDEX}
    note "$self+"
    run=$(grep -c "^$self+ " '\(scene.tracePath)')
    note "$self-"
    \(exit(operation.ending))
    """
  }

  private func exit(_ ending: Scenario.Ending) -> String {
    switch ending {
    case .success: "exit 0"
    case .failure(let status): "exit \(status)"
    case .secondRunSucceeds(let status): "if test $run -eq 1; then exit \(status); fi"
    }
  }

  private func indented(_ text: String, by width: Int) -> String {
    let margin = String(repeating: " ", count: width)
    return text.split(separator: "\n").map { margin + $0 }.joined(separator: "\n")
  }
}
