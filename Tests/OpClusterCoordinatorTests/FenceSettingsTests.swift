// Times by which an exclusive operation could be alive at two workers at once are refused (G16).

import Citations
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterPresentation
import OpClusterZeroMQ
import Testing

@Suite struct FenceSettingsTests {
  private static func problem(
    fence: Span, lost: Span = .seconds(15), resync: Span = .seconds(30)
  ) throws -> String? {
    let endpoint = try Endpoint("tcp://127.0.0.1:1")
    var settings = CoordinatorSettings(
      clientEndpoint: endpoint, workerEndpoint: endpoint, stateFolder: "/nowhere")
    settings.timing.fence = fence
    settings.timing.lost = lost
    settings.timing.resync = resync
    return settings.problem
  }

  // FENCE + 2 s < 0.99 LOST, at the limit and past it.
  @Test(.checks("G16")) func fenceLeavesTimeToDie() throws {
    #expect(try Self.problem(fence: .seconds(10)) == nil)
    #expect(try Self.problem(fence: .milliseconds(12_849)) == nil)
    #expect(try Self.problem(fence: .milliseconds(12_850))?.contains("fence + 2") == true)
    #expect(try Self.problem(fence: .seconds(10), lost: .seconds(12)) != nil)
    // A restarted coordinator counts from its start.
    #expect(try Self.problem(fence: .seconds(10), resync: .seconds(12)) != nil)
    // Without exclusive operations there is nothing to keep apart.
    #expect(try Self.problem(fence: .zero, lost: .seconds(6), resync: .seconds(1)) == nil)
    #expect(try Self.problem(fence: .seconds(-1)) != nil)
    #expect(try Self.problem(fence: Span(nanoseconds: .max)) != nil)
  }

  // Where there is no fence, what needs one is refused with what to do.
  @Test(.checks("G16")) func withoutAFenceNothingExclusiveIsTaken() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) { $0.timing.fence = .zero }
    let client = try TestClient(service)
    var graph = GraphSubmission(name: "g")
    graph.templates = [OperationTemplate(name: "only", work: .command)]
    graph.templates[0].isExclusive = true
    guard case .refused(let refusal) = try client.ask(.submit(graph)) else {
      Issue.record("it was taken")
      return
    }
    #expect(
      refusal.message.contains("only is exclusive") && refusal.hint.forShell.contains("fence"))
  }
}
