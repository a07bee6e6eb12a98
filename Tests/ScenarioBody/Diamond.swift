// The diamond: its graph and everything that must come of it, whatever the setting (house habit
// 18). Called by the tests of three targets.

import OpClusterModel
public import Testing

extension Scenario {
  ///     make ─┬─ left[1-4] (second runs only) ───────┬─ join ─┬─ never (join failed: skipped)
  ///           └─ right (fails, and is allowed to) ───┘        └─ after (join failed: compensates)
  ///
  /// `join` needs all of `left` to succeed and `right` only to finish. It fails, and is not allowed
  /// to: so does the graph.
  public static let diamond = Scenario(
    name: "diamond",
    operations: [
      Operation("make"),
      Operation(
        "left", count: 4, needs: [("make", .succeeded)], retries: 2,
        ending: .secondRunSucceeds(status: 1)),
      Operation(
        "right", needs: [("make", .succeeded)], mayFail: true, ending: .failure(status: 4)),
      Operation(
        "join", needs: [("left", .succeeded), ("right", .finished)], ending: .failure(status: 5)),
      Operation("never", needs: [("join", .succeeded)]),
      Operation("after", needs: [("join", .failed)]),
    ])
}

/// Runs the diamond in a setting and demands what every setting must bring about: a failure, a
/// retry, an array and an allowed failure (S12, S22, S23, S114).
public func expectDiamond(
  in setting: some ScenarioSetting, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let scenario = Scenario.diamond
  let report = try await setting.run(scenario)
  let story = Comment(rawValue: "\(report.moments)")

  #expect(report.state == .failed, story, sourceLocation: sourceLocation)
  #expect(report.allowedFailures == 1, story, sourceLocation: sourceLocation)
  let endings = zip(scenario.elements, report.outcomes).map { element, outcome in
    "\(element) \(outcome.map { "\($0)" } ?? "unfinished") \(report.runs(of: element))"
  }
  #expect(
    endings == [
      "make succeeded 1", "left-1 succeeded 2", "left-2 succeeded 2", "left-3 succeeded 2",
      "left-4 succeeded 2", "right failed 1", "join failed 1", "never skipped 0",
      "after succeeded 1",
    ], story, sourceLocation: sourceLocation)
  #expect(report.outcomes.count == scenario.elements.count, sourceLocation: sourceLocation)

  #expect(
    report.moments.prefix(2).map(\.description) == ["make+", "make-"], story,
    sourceLocation: sourceLocation)
  #expect(
    report.moments.suffix(4).map(\.description) == ["join+", "join-", "after+", "after-"], story,
    sourceLocation: sourceLocation)
  for broken in brokenOrders(of: scenario, in: report) {
    Issue.record("\(broken): \(story)", sourceLocation: sourceLocation)
  }
}

/// What was out of order: a run that began during another of the same element (S12), and one that
/// began before everything was over that its operation needs (S114).
private func brokenOrders(of scenario: Scenario, in report: ScenarioReport) -> [String] {
  var broken: [String] = []
  for element in scenario.elements.map(\.description) {
    let kinds = report.moments.filter { $0.element == element }.map(\.kind)
    let alternating = kinds.indices.map { $0.isMultiple(of: 2) } == kinds.map { $0 == .start }
    if !alternating || !kinds.count.isMultiple(of: 2) {
      broken.append("the runs of \(element) are not one after the other")
    }
  }
  for operation in scenario.operations {
    let names = Set(operation.elements.map(\.description))
    guard let first = report.moments.firstIndex(where: { names.contains($0.element) }) else {
      continue
    }
    let later = Set(report.moments[first...].map(\.element))
    for need in operation.needs {
      guard let needed = scenario[need.name]?.elements.map(\.description) else { continue }
      for element in needed where later.contains(element) {
        broken.append("\(operation.name) began before the end of \(element)")
      }
    }
  }
  return broken
}
