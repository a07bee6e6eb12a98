// The scenario that every setting has (house habit 18), here simulated: fake workers that obey the
// scheduler turn by turn. Its body is in Tests/ScenarioBody.

import OpClusterModel
import ScenarioBody
import Testing

@testable import OpClusterScheduling

@Suite struct ScenarioTests {
  @Test(arguments: 1...3) func diamond(workers: Int) async throws {
    try await expectDiamond(in: SimulatedSetting(workers: workers))
  }
}

/// A scheduler in the hand and workers that are told when to start and to end.
private struct SimulatedSetting: ScenarioSetting {
  var workers: Int

  func run(_ scenario: Scenario) async throws -> ScenarioReport {
    var world = World()
    for number in 1...workers { world.join("w\(number)") }
    world.ask(.submit(scenario.submission(calling: OperationType(name: "noop"))))
    var witness = ScenarioWitness()
    var runs: [Scenario.Element: Int] = [:]
    let elements = scenario.elements
    world.runAll(
      result: { id in
        let element = elements[Int(id.index)]
        witness.end(element)
        let status = scenario[element.name]?.status(ofRun: runs[element, default: 0]) ?? 0
        return status == 0 ? .success : .failure(status)
      },
      starting: { id in
        let element = elements[Int(id.index)]
        runs[element] = witness.start(element)
      })
    #expect(world.brokenInvariant == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
    let ending = try #require(world.endings.first)
    return ScenarioReport(
      state: ending.row.state,
      allowedFailures: ending.row.allowedFailures,
      outcomes: ending.outcomes.map { Outcome(rawValue: $0) }, moments: witness.moments)
  }
}
