// A thread that sleeps until the next deadline, and steps on where a thread that only came to ask
// for something has done enough. Started when it is first needed. It is no task: tasks share a few
// threads, and operations that block may hold all of them, those too whose time is running out.

import OpClusterModel
import OpClusterZeroMQ
import Synchronization

final class Alarm: Sendable {
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
  /// The deadline, for those who look without the lock; the end of time where there is none.
  private let known = Atomic<Int64>(.max)

  /// What to do when a deadline has come; set once.
  func atDeadline(_ ring: @escaping @Sendable () -> Void) {
    state.withLock { $0.ring = ring }
  }

  /// Rings at this moment; an earlier one that was set stays.
  func set(_ deadline: Instant) {
    if known.load(ordering: .sequentiallyConsistent) <= deadline.nanoseconds { return }
    state.withLock { state in
      if let known = state.deadline, known <= deadline { return }
      state.deadline = deadline
      self.known.store(deadline.nanoseconds, ordering: .sequentiallyConsistent)
      _ = mailbox(&state)?.post(.look)
    }
  }

  /// Goes on stepping for a thread that has done enough; false where there is no such thread.
  func takeOver(_ cluster: LocalCluster) -> Bool {
    state.withLock { state in
      mailbox(&state)?.post(.step(cluster)) == .posted
    }
  }

  func end() {
    state.withLock { state in
      _ = state.mailbox?.post(.end)
      state.mailbox = nil
      state.hasFailed = true
    }
  }

  /// The way to the thread, which is started where there is none.
  private func mailbox(_ state: inout State) -> Mailbox<Word>? {
    if let known = state.mailbox { return known }
    if state.hasFailed { return nil }
    do throws(SocketError) {
      let mailbox = try Mailbox<Word>(capacity: 1_024)
      _ = try startThread(name: "alarm") { [self] in watch(mailbox) }
      state.mailbox = mailbox
      return mailbox
    } catch {
      state.hasFailed = true
      return nil
    }
  }

  private func watch(_ mailbox: Mailbox<Word>) {
    var poller = Poller()
    _ = poller.add(descriptor: mailbox.descriptor)
    var words: [Word] = []
    while true {
      let deadline = state.withLock { $0.deadline }
      // It can only fail for lack of memory; then it looks again.
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
