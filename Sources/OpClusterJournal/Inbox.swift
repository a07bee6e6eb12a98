// Passes turns, chores and the end from the owner to the journal's thread. Any thread puts in, only
// the journal's thread takes out. Enforces the limits of the queue (G27).

import OpClusterSystem
import Synchronization

/// Work besides turns, done in slices between transactions.
enum Chore: Sendable {
  case writeSnapshot(sequence: UInt64, content: @Sendable () -> any SnapshotContent)
  /// Deletes every snapshot except the one that recovery uses.
  case dropSnapshots(except: UInt64?)
  case dropTurns(through: UInt64)
  case trim(History, rows: Int64, bytes: Int64)
  case forget(subject: UInt64)
  case settle(home: Int64)
}

/// The next work of the thread, taken from the inbox at once.
struct Work {
  var turns: [JournalTurn] = []
  var chores: [Chore] = []
  var isClosing = false
}

final class Inbox: Sendable {
  private struct State {
    var turns: [JournalTurn] = []
    var chores: [Chore] = []
    /// Accepted turns and bytes that are not durable, including those in the running transaction.
    var openTurns = 0
    var openBytes = 0
    var openChores = 0
    var lastSequence: UInt64
    var lastSnapshot: UInt64
    var isClosed = false
    var isWaiting = false
  }

  private let state: Mutex<State>
  private let wakeUp: WakeUp
  private let settings: JournalSettings

  init(
    lastSequence: UInt64, lastSnapshot: UInt64, settings: JournalSettings
  ) throws(JournalError) {
    state = Mutex(State(lastSequence: lastSequence, lastSnapshot: lastSnapshot))
    do throws(SystemError) {
      wakeUp = try WakeUp()
    } catch {
      throw .system("eventfd", "the journal", errno: error.code)
    }
    self.settings = settings
  }

  func put(_ turn: JournalTurn) -> JournalAnswer {
    let cost = turn.cost
    return change { state in
      guard turn.sequence == state.lastSequence + 1 else {
        return .outOfOrder(expected: state.lastSequence + 1)
      }
      guard turn.isRepresentable else { return .refused }
      let fits = state.openBytes + cost <= settings.queueBytes || state.openTurns == 0
      guard fits, state.openTurns < settings.queueTurns else { return .full }
      state.openTurns += 1
      state.openBytes += cost
      state.lastSequence = turn.sequence
      state.turns.append(turn)
      return .accepted
    }
  }

  func put(_ chore: Chore) -> JournalAnswer {
    change { state in
      guard state.openChores < settings.queueChores else { return .full }
      if case .writeSnapshot(let sequence, _) = chore {
        guard sequence > state.lastSnapshot, sequence <= state.lastSequence else {
          return .refused
        }
        state.lastSnapshot = sequence
      }
      state.openChores += 1
      state.chores.append(chore)
      return .accepted
    }
  }

  /// Closes the inbox for further work; false if it was closed before.
  func close() -> Bool {
    change { state in
      state.isClosed = true
      return .accepted
    } == .accepted
  }

  /// Takes all waiting work; with `waiting` it first waits until there is some.
  func take(waiting: Bool) -> Work {
    while true {
      let work: Work? = state.withLock { state in
        let isIdle = state.turns.isEmpty && state.chores.isEmpty && !state.isClosed
        state.isWaiting = isIdle && waiting
        if state.isWaiting { return nil }
        let work = Work(turns: state.turns, chores: state.chores, isClosing: state.isClosed)
        state.turns = []
        state.chores = []
        return work
      }
      if let work { return work }
      wakeUp.wait()
    }
  }

  /// Frees the room of durable turns.
  func release(turns: Int, bytes: Int) {
    state.withLock { state in
      state.openTurns -= turns
      state.openBytes -= bytes
    }
  }

  /// Frees the room of a finished chore.
  func releaseChore() {
    state.withLock { $0.openChores -= 1 }
  }

  private func change(_ body: (inout sending State) -> JournalAnswer) -> JournalAnswer {
    let (answer, wakes) = state.withLock { state in
      guard !state.isClosed else { return (JournalAnswer.closed, false) }
      let answer = body(&state)
      let wakes = answer == .accepted && state.isWaiting
      if wakes { state.isWaiting = false }
      return (answer, wakes)
    }
    if wakes { wakeUp.signal() }
    return answer
  }
}
