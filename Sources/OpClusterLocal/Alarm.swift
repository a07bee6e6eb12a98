// A thread that waits for the next deadline, and that takes over stepping from a thread with a
// limited share. Started on first use. Not a task: tasks share a few threads, and blocking
// operations may occupy all of them, including ones whose time limit expires.

import OpClusterModel
import OpClusterSystem
import Synchronization

final class Alarm: Sendable {
  /// `look` makes the thread see an earlier deadline, `step` hands it the stepping of a cluster.
  private enum Word: Sendable {
    case look
    case step(LocalCluster)
    case end
  }
  private struct State {
    var deadline: Instant?
    var mailbox: Mailbox<Word>?
    var hasFailed = false
    var ring: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())
  /// The deadline, for readers without the lock; the end of time if there is none.
  private let known = Atomic<Int64>(.max)

  /// Sets the action for a deadline; call it once.
  func atDeadline(_ ring: @escaping @Sendable () -> Void) {
    state.withLock { $0.ring = ring }
  }

  /// Sets a deadline; an earlier one stays. Mostly one atomic load: deadlines are set after every
  /// round.
  func set(_ deadline: Instant) {
    if known.load(ordering: .sequentiallyConsistent) <= deadline.nanoseconds { return }
    state.withLock { state in
      if let known = state.deadline, known <= deadline { return }
      state.deadline = deadline
      self.known.store(deadline.nanoseconds, ordering: .sequentiallyConsistent)
      _ = mailbox(&state)?.post(.look)
    }
  }

  /// Continues stepping for a thread that has done its share; false if there is no alarm thread.
  /// Without a thread the caller goes on stepping.
  func takeOver(_ cluster: LocalCluster) -> Bool {
    state.withLock { state in
      mailbox(&state)?.post(.step(cluster)) == .posted
    }
  }

  /// No thread is started afterwards.
  func end() {
    state.withLock { state in
      _ = state.mailbox?.post(.end)
      state.mailbox = nil
      state.hasFailed = true
    }
  }

  /// The mailbox of the thread; starts the thread first if necessary.
  private func mailbox(_ state: inout State) -> Mailbox<Word>? {
    if let known = state.mailbox { return known }
    if state.hasFailed { return nil }
    do throws(SystemError) {
      let mailbox = try Mailbox<Word>(capacity: 1_024)
      _ = try startThread(name: "alarm") { [self] in watch(mailbox) }
      state.mailbox = mailbox
      return mailbox
    } catch {
      state.hasFailed = true
      return nil
    }
  }

  /// The loop of the thread. The deadline is read anew in each round.
  private func watch(_ mailbox: Mailbox<Word>) {
    var poller = Poller()
    _ = poller.add(descriptor: mailbox.descriptor)
    var words: [Word] = []
    while true {
      let deadline = state.withLock { $0.deadline }
      // It fails only for lack of memory; then the loop tries again.
      _ = try? poller.wait(until: deadline?.nanoseconds)
      mailbox.takeAll(into: &words)
      for word in words {
        switch word {
        case .look: break
        case .step(let cluster): _ = cluster.step(as: .alarm)
        case .end: return
        }
      }
      words.removeAll()
      if let ring = due() { ring() }
    }
  }

  /// The action, taken out with its deadline: it is called once, and outside of the lock.
  private func due() -> (@Sendable () -> Void)? {
    let now = Instant(nanoseconds: MonotonicClock.now())
    return state.withLock { state in
      guard let deadline = state.deadline, deadline <= now else { return nil }
      state.deadline = nil
      known.store(.max, ordering: .sequentiallyConsistent)
      return state.ring
    }
  }
}
