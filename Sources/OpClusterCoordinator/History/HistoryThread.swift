// The thread that reads the history, so that the loop never waits for a disk. Questions come in by
// their turns, answers leave through the loop's mailbox; one step of one question at a time. Now
// and then it looks at a few rows of its own accord, until it has seen that all of them hold.

import OpClusterJournal
import OpClusterModel
import OpClusterZeroMQ
import Synchronization

final class HistoryThread: Sendable {
  private struct State {
    var turns = HistoryTurns()
    var isStopping = false
  }

  /// What the asking and the answering thread share.
  private final class Shared: Sendable {
    let state = Mutex(State())
    /// Says that there is something new; once is enough.
    let bell: Mailbox<Void>
    init() throws(SocketError) { bell = try Mailbox(capacity: 1) }
  }

  private let shared: Shared
  private let thread: ThreadHandle

  /// - Parameters:
  ///   - journal: Gives the thread a reader of its own.
  ///   - answer: Called on the thread.
  init(
    _ journal: any Journal, answer: @escaping @Sendable (HistoryAnswer) -> Void
  ) throws(SocketError) {
    let shared = try Shared()
    self.shared = shared
    thread = try startThread(name: "history") {
      HistoryThread.run(shared, HistoryReader(journal), answer)
    }
  }

  /// Takes a question in; false when too many, or too large ones, wait (G27).
  func ask(_ question: HistoryQuestion, of asker: HistoryTurns.Asker) -> Bool {
    let isTaken = shared.state.withLock { $0.turns.admit(question, of: asker) }
    if isTaken { _ = shared.bell.post(()) }
    return isTaken
  }

  /// Nobody waits for the answers to this peer any more.
  func forget(_ peer: PeerID, of asker: HistoryTurns.Asker) {
    shared.state.withLock { $0.turns.forget(peer, of: asker) }
  }

  /// Ends the thread; what it has not answered stays unanswered.
  func stop() {
    shared.state.withLock { $0.isStopping = true }
    _ = shared.bell.post(())
    thread.join()
  }

  private static func run(
    _ shared: Shared, _ reader: consuming HistoryReader, _ answer: (HistoryAnswer) -> Void
  ) {
    var poller = Poller()
    _ = poller.add(descriptor: shared.bell.descriptor)
    var rung: [Void] = []
    // Nobody is answered from a table that has lost its root.
    while !reader.hasSeenEnds, !reader.inspect() {}
    var nextLook = Instant.now
    while true {
      for finding in reader.takeFindings() { answer(finding) }
      let (inquiry, isStopping) = shared.state.withLock { ($0.turns.next(), $0.isStopping) }
      if isStopping { return }
      if Instant.now >= nextLook {
        let isOver = reader.inspect()
        nextLook = .now + (isOver ? CoordinatorLimits.inspectionRest : CoordinatorLimits.lookPause)
      }
      guard var inquiry else {
        // Only a bug of ours makes polling one descriptor fail; the thread goes on looking.
        _ = try? poller.wait(until: nextLook.nanoseconds)
        shared.bell.takeAll(into: &rung)
        continue
      }
      let found = reader.step(&inquiry)
      if let found { answer(found) }
      shared.state.withLock { state in
        if found == nil { state.turns.goOn(with: inquiry) } else { state.turns.finish() }
      }
    }
  }
}
