// A program's own queue has no parts: what a request means is done when it is answered, however
// many operations that are.

import Citations
import OpClusterModel
import OpClusterOperations
import Testing

@testable import OpClusterLocal
@testable import OpClusterScheduling

@Suite struct WholeCancellationTests {
  @Test(.checks("S96")) func manyAreCancelledAndEndInOneRound() {
    let start = Instant(nanoseconds: 1_000_000_000)
    var brains = Brains(types: [OperationRegistry.closureType], slots: 2, at: start)
    // More than a coordinator would cancel in a turn, and more than it would end.
    let count = UInt32(4 * Limits.operationsCancelledPerTurn)
    var graph = GraphSubmission(name: "chain")
    graph.templates = [
      OperationTemplate(
        name: "x", count: count, work: .call(OperationRegistry.closureType))
    ]
    graph.templates[0].isHeld = true
    graph.elementEdges = ElementEdges(
      from: Array(0..<(count - 1)), to: Array(1..<count), policies: [.succeeded])
    brains.round([.request(.submit(graph), { _ in })], at: start, wall: .unknown)
    brains.output.clear()
    let cancel = ClientRequest.cancel(
      .selection(Selection.graph(GraphID(1))), reason: "", grace: nil)
    brains.round([.request(cancel, { _ in })], at: start, wall: .unknown)
    #expect(brains.output.answers.count == 1)
    #expect(brains.scheduler.graphs.count == 0)
  }
}
