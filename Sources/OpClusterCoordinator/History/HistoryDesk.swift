// The thread that reads the history, so that the loop never waits for a disk. Questions come in by
// its mailbox, answers leave through the loop's; one question at a time, in order.

import OpClusterJournal
import OpClusterModel
import OpClusterZeroMQ
import Synchronization

final class HistoryDesk: Sendable {
  fileprivate enum Order: Sendable {
    case question(HistoryQuestion)
    case stop
  }

  private let orders: Mailbox<Order>
  private let thread: ThreadHandle
  /// Bytes of the questions that wait or are being answered.
  private let waiting: Waiting

  private final class Waiting: Sendable {
    let bytes = Atomic<Int>(0)
  }

  /// - Parameters:
  ///   - journal: Gives the thread a reader of its own.
  ///   - answer: Called on the thread.
  init(
    _ journal: any Journal, answer: @escaping @Sendable (HistoryAnswer) -> Void
  ) throws(SocketError) {
    let orders = try Mailbox<Order>(capacity: Limits.historyQuestions)
    self.orders = orders
    let waiting = Waiting()
    self.waiting = waiting
    thread = try startThread(name: "history") {
      HistoryDesk.run(orders, HistoryReader(journal), waiting, answer)
    }
  }

  /// Takes a question in; false when too many, or too large ones, wait (G27).
  func ask(_ question: HistoryQuestion) -> Bool {
    let bytes = question.bytes
    let before = waiting.bytes.load(ordering: .relaxed)
    guard before == 0 || before + bytes <= Limits.historyQuestionBytes,
      orders.post(.question(question)) == .posted
    else { return false }
    waiting.bytes.add(bytes, ordering: .relaxed)
    return true
  }

  /// Ends the thread; what it has not answered stays unanswered.
  func stop() {
    // A full mailbox empties by itself.
    while orders.post(.stop) == .full {}
    thread.join()
  }

  private static func run(
    _ orders: Mailbox<Order>, _ reader: consuming HistoryReader, _ waiting: Waiting,
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
      for case .question(let question) in batch {
        reader.answer(question, answer)
        waiting.bytes.subtract(question.bytes, ordering: .relaxed)
      }
    }
  }
}

extension HistoryDesk.Order {
  fileprivate var isStop: Bool { if case .stop = self { true } else { false } }
}
