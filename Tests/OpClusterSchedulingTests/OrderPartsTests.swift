// Orders in parts: what is too large for one message goes in several, in order, nothing twice
// (G27).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct OrderPartsTests {
  private func attempt(_ index: Int) -> AttemptID {
    AttemptID(operation: OperationID(graph: GraphID(1), index: UInt32(index)), attempt: 1)
  }

  private func orders() -> WorkerOrders {
    WorkerOrders(
      conversation: Conversation(epoch: Epoch(1), session: WorkerSession(1), increment: 1),
      number: 0, acknowledged: 7)
  }

  /// `Limits.entriesPerMessage`: at it one message, one past it two.
  @Test func entriesPerMessage() {
    for (count, parts) in [(Limits.entriesPerMessage, 1), (Limits.entriesPerMessage + 1, 2)] {
      var whole = orders()
      whole.stale = (0..<count).map(attempt)
      #expect(whole.parts(atMost: .max).count == parts)
    }
  }

  /// `Limits.orderBytesPerMessage`: inputs of a whole array do not make a message that no worker
  /// could take.
  @Test func orderBytesPerMessage() {
    var whole = orders()
    let output = [UInt8](repeating: 1, count: Limits.outputBytes)
    whole.templates = [
      TemplateAnnouncement(
        graph: GraphID(1), graphName: "g", template: 0, firstIndex: 0, name: "t", isArray: true,
        indexRuns: [], work: .command, payload: [1, 2], demand: Resources(), qos: .default)
    ]
    whole.dispatches = (0..<600).map { index in
      let input = DependencyInput(
        operation: attempt(1_000).operation, name: "a", index: nil, outcome: .succeeded,
        output: output)
      return Dispatch(attempt: attempt(index), template: 0, inputs: [input])
    }
    whole.recalls = [attempt(2_000)]
    whole.cancels = [CancelOrder(attempt: attempt(2_001))]
    whole.forgottenGraphs = [GraphID(9)]
    whole.drain = true
    let parts = whole.parts()
    let most = Limits.orderBytesPerMessage / Limits.outputBytes
    #expect(parts.count > 600 / most && parts.allSatisfy { $0.dispatches.count <= most })
    #expect(parts.flatMap(\.dispatches) == whole.dispatches)
    #expect(parts[0].templates == whole.templates)
    #expect(parts.dropLast().allSatisfy { $0.acknowledged == 0 && !$0.drain })
    #expect(parts.last?.acknowledged == 7 && parts.last?.drain == true)
    #expect(parts.last?.recalls == whole.recalls && parts.last?.cancels == whole.cancels)
    #expect(parts.last?.forgottenGraphs == [GraphID(9)])
  }

  @Test func whatFitsStaysOne() {
    var whole = orders()
    #expect(whole.parts() == [whole])
    whole.dispatches = [Dispatch(attempt: attempt(1), template: 0)]
    #expect(whole.parts() == [whole])
  }
}
