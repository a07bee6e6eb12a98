// The life of an operation on one screen. Every move of a phase in the coordinator goes through
// `LifeCycle.next`; a new phase or step does not compile until its row is written.

import OpClusterModel

/// What can happen to an operation's phase.
enum Step: CaseIterable {
  /// A declared operation is put into a queue.
  case enqueue
  /// Nothing stands before it any more: edges met, no barrier ahead.
  case clear
  /// A late edge stands before it again (S34).
  case obstruct
  /// Handed to a worker; from `waiting` only ahead of time (S151).
  case handOver
  /// Back from a worker unstarted, and nothing stands before it.
  case giveBackReady
  /// Back from a worker unstarted, with unmet edges.
  case giveBackWaiting
  /// An attempt begins; inside the coordinator for a join point (S4).
  case begin
  /// It ends, in whatever way.
  case end
}

enum LifeCycle {
  /// The phase after `step`, or nil where Semantics.md's table (S7) has no such arrow. The
  /// attempts of a retried operation do not move it: it stays executing (S12).
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
