// Where dispatching ahead of time stopped, and goes on (S151).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct AheadStopsTests {
  private func operations(_ range: Range<UInt32>) -> [OperationID] {
    range.map { OperationID(graph: GraphID(1), index: $0) }
  }

  @Test func theNewestAreRemembered() {
    var stops = AheadStops()
    let most = UInt32(Limits.aheadStopsPerWorker)
    stops.remember(operations(0..<3)[...], at: 5)
    stops.remember(operations(3..<most + 2)[...], at: 5)
    stops.remember(operations(0..<2 * most)[...], at: 6)
    #expect(stops.takeStops(at: 5) == operations(2..<most + 2))
    #expect(stops.takeStops(at: 6) == operations(most..<2 * most))
    #expect(stops.takeStops(at: 6) == [])
  }

  @Test func workersAreDueThatHaveReportedEnds() {
    var stops = AheadStops()
    for worker: UInt32 in [5, 6, 7] { stops.remember(operations(0..<1)[...], at: worker) }
    stops.endConversation(with: 6)
    #expect(!stops.isDue)
    for worker: UInt32 in [7, 7, 6, 8, 5] { stops.noteEnds(at: worker) }
    #expect(stops.takeDue() == [7, 5])
    #expect(!stops.isDue && stops.takeDue() == [])
  }
}
