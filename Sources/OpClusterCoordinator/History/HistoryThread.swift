// The thread that reads the history, so that the loop never waits for a disk. Askers take turns,
// and answers leave through the loop's mailbox; the thread runs one step of one question at a time.
// From time to time it checks a few rows on its own, until it has checked all of them.

import OpClusterJournal
import OpClusterModel
import OpClusterSystem
import Synchronization

final class HistoryThread: Sendable {
  private struct State {
    var turns = HistoryTurns()
    var isStopping = false
  }

  /// The state shared by the asking and the answering thread.
  private final class Shared: Sendable {
    let state = Mutex(State())
    /// Rings for any number of changes.
    let bell: Mailbox<Void>
    init() throws(SystemError) { bell = try Mailbox(capacity: 1) }
  }

  private let shared: Shared
  private let thread: ThreadHandle

  /// - Parameters:
  ///   - journal: Provides a reader for the thread.
  ///   - answer: Called on the thread.
  init(
    _ journal: any Journal, answer: @escaping @Sendable (HistoryAnswer) -> Void
  ) throws(SystemError) {
    let shared = try Shared()
    self.shared = shared
    thread = try startThread(name: "history") {
      HistoryThread.run(shared, HistoryReader(journal), answer)
    }
  }

  /// Accepts a question; false if too many, or too large ones, wait (G27).
  func ask(_ question: HistoryQuestion, of asker: HistoryTurns.Asker) -> Bool {
    let isTaken = shared.state.withLock { $0.turns.admit(question, of: asker) }
    if isTaken { _ = shared.bell.post(()) }
    return isTaken
  }

  /// Drops the questions of this peer: nobody waits for their answers any more.
  func forget(_ peer: PeerID, of asker: HistoryTurns.Asker) {
    shared.state.withLock { $0.turns.forget(peer, of: asker) }
  }

  /// Ends the thread; open questions stay unanswered.
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
    // Checks the ends first, so that no answer comes from a table that has lost its root.
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
        // Polling one descriptor fails only because of a bug; the thread continues.
        _ = try? poller.wait(until: nextLook.nanoseconds)
        shared.bell.takeAll(into: &rung)
        continue
      }
      switch reader.step(&inquiry) {
      case .found(let found):
        answer(found)
        shared.state.withLock { $0.turns.finish() }
      case .unfinished:
        shared.state.withLock { $0.turns.goOn(with: inquiry) }
      }
    }
  }
}
