// The life cycle of an operation. Every change of a phase in the coordinator goes through
// `LifeCycle.next`; a new phase or step does not compile until its row is written.

import OpClusterModel

/// The steps that change an operation's phase.
enum Step: CaseIterable {
  /// A declared operation is put into a queue.
  case enqueue
  /// Nothing blocks it any more: its edges are met, no barrier is ahead.
  case clear
  /// A late edge blocks it again (S34).
  case obstruct
  /// Handed to a worker; from `waiting` only ahead of time (S151).
  case handOver
  /// Returned by a worker unstarted; nothing blocks it.
  case giveBackReady
  /// Returned by a worker unstarted, with unmet edges.
  case giveBackWaiting
  /// An attempt begins; for a join point inside the coordinator (S4).
  case begin
  /// It ends, with any outcome.
  case end
}

enum LifeCycle {
  /// The phase after `step`, or nil if the table in Semantics.md (S7) has no such arrow. Attempts
  /// of a retried operation do not change its phase: it stays executing (S12).
  static func next(_ phase: Phase, _ step: Step) -> Phase? {
    StepCount.add(phase, step)
    return arrow(phase, step)
  }

  static func arrow(_ phase: Phase, _ step: Step) -> Phase? {
    switch (phase, step) {
    case (.declared, .enqueue): .waiting
    case (.declared, .end): .finished
    case (.declared, .clear), (.declared, .obstruct), (.declared, .handOver),
      (.declared, .giveBackReady), (.declared, .giveBackWaiting), (.declared, .begin):
      nil

    case (.waiting, .clear): .ready
    case (.waiting, .obstruct): .waiting
    case (.waiting, .handOver): .dispatched
    case (.waiting, .end): .finished
    case (.waiting, .enqueue), (.waiting, .giveBackReady), (.waiting, .giveBackWaiting),
      (.waiting, .begin):
      nil

    case (.ready, .obstruct): .waiting
    case (.ready, .handOver): .dispatched
    case (.ready, .begin): .executing
    case (.ready, .end): .finished
    case (.ready, .enqueue), (.ready, .clear), (.ready, .giveBackReady),
      (.ready, .giveBackWaiting):
      nil

    case (.dispatched, .giveBackReady): .ready
    case (.dispatched, .giveBackWaiting): .waiting
    case (.dispatched, .begin): .executing
    case (.dispatched, .end): .finished
    case (.dispatched, .enqueue), (.dispatched, .clear), (.dispatched, .obstruct),
      (.dispatched, .handOver):
      nil

    case (.executing, .end): .finished
    case (.executing, .enqueue), (.executing, .clear), (.executing, .obstruct),
      (.executing, .handOver), (.executing, .giveBackReady), (.executing, .giveBackWaiting),
      (.executing, .begin):
      nil

    case (.finished, .enqueue), (.finished, .clear), (.finished, .obstruct),
      (.finished, .handOver), (.finished, .giveBackReady), (.finished, .giveBackWaiting),
      (.finished, .begin), (.finished, .end):
      nil
    }
  }
}
