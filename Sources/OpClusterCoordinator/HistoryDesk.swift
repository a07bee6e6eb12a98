// The thread that reads the history, so that the loop never waits for a disk. Questions come in by
// its mailbox, answers leave through the loop's; one question at a time, in order.

import OpClusterJournal
import OpClusterModel
import OpClusterZeroMQ

final class HistoryDesk: Sendable {
  fileprivate enum Order: Sendable {
    case question(HistoryQuestion)
    case stop
  }

  private let orders: Mailbox<Order>
  private let thread: ThreadHandle

  /// - Parameters:
  ///   - journal: Gives the thread a reader of its own.
  ///   - answer: Called on the thread.
  init(
    _ journal: any Journal, answer: @escaping @Sendable (HistoryAnswer) -> Void
  ) throws(SocketError) {
    let orders = try Mailbox<Order>(capacity: CoordinatorLimits.questions)
    self.orders = orders
    thread = try startThread(name: "history") {
      HistoryDesk.run(orders, HistoryReader(journal), answer)
    }
  }

  /// Takes a question in; false when too many wait.
  func ask(_ question: HistoryQuestion) -> Bool { orders.post(.question(question)) == .posted }

  /// Ends the thread; what it has not answered stays unanswered.
  func stop() {
    // A full mailbox empties by itself.
    while orders.post(.stop) == .full {}
    thread.join()
  }

  private static func run(
    _ orders: Mailbox<Order>, _ reader: consuming HistoryReader,
    _ answer: (HistoryAnswer) -> Void
  ) {
    var poller = Poller()
    _ = poller.add(descriptor: orders.descriptor)
    var batch: [Order] = []
    while true {
      // Only a bug of ours makes polling one descriptor fail; the thread goes on looking.
      _ = try? poller.wait(until: nil)
      orders.takeAll(into: &batch)
      if batch.contains(where: \.isStop) { return }
      for case .question(let question) in batch { reader.answer(question, answer) }
    }
  }
}

extension HistoryDesk.Order {
  fileprivate var isStop: Bool { if case .stop = self { true } else { false } }
}
