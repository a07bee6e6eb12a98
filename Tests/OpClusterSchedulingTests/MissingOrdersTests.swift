// Orders that were lost on the way to a worker are noticed by what it says it has (G34), whatever
// it has said before.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct MissingOrdersTests {
  private static let patience = Span.seconds(15)

  private func at(_ seconds: Int64) -> Instant { Instant.zero + .seconds(seconds) }

  /// A conversation in which so many orders were sent.
  private func conversation(sent: UInt64) -> WorkerConversation {
    var conversation = WorkerConversation.blank
    conversation.ordersSent = sent
    return conversation
  }

  @Test(.checks("G34")) func whoStaysBehindIsNoticed() {
    var conversation = conversation(sent: 10)
    conversation.note(ordersTaken: 3, at: at(1))
    #expect(!conversation.missesOrders(at: at(1), patience: Self.patience), "it has some, new ones")
    conversation.note(ordersTaken: 3, at: at(10))
    #expect(!conversation.missesOrders(at: at(10), patience: Self.patience))
    conversation.note(ordersTaken: 3, at: at(17))
    #expect(conversation.missesOrders(at: at(17), patience: Self.patience))
    conversation.note(ordersTaken: 10, at: at(18))
    #expect(!conversation.missesOrders(at: at(40), patience: Self.patience), "it has all")
  }

  // It once said that it had more than was ever sent.
  @Test(.checks("G34")) func anOverstatementHidesNothing() {
    var conversation = conversation(sent: 2)
    conversation.note(ordersTaken: .max, at: at(1))
    conversation.ordersSent = 10
    for second in Int64(2)...20 { conversation.note(ordersTaken: 3, at: at(second)) }
    #expect(conversation.missesOrders(at: at(20), patience: Self.patience))
  }

  // It had all, and says that it has less.
  @Test(.checks("G34")) func whoFallsBackIsNoticed() {
    var conversation = conversation(sent: 5)
    conversation.note(ordersTaken: 5, at: at(1))
    for second in Int64(2)...20 { conversation.note(ordersTaken: 4, at: at(second)) }
    #expect(conversation.missesOrders(at: at(20), patience: Self.patience))
  }
}
