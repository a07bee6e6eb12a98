// The state machine of one attempt at the worker. The core calls it for every event of an attempt.
// A new state or event does not compile until its rows are written.

enum AttemptState: Hashable, Sendable {
  /// No attempt: others here await the operation, or the slot is free.
  case absent
  /// Assigned; waits for operations of this worker (S151), or for contents of other stores.
  case blocked
  /// Assigned; waits in the local queue for its turn and room (S47).
  case ready
  /// Launched.
  case running
  /// Asked to stop; the grace is running.
  case stopping(StopReason)
  /// Killed; its end has not been seen.
  case killing(StopReason)
  /// Ended; its report is not yet acknowledged as durable (S115).
  case ended
}

/// The reason for the request to stop; the first reason stays.
enum StopReason: Hashable, Sendable {
  /// The coordinator cancelled it.
  case cancel
  /// Its time is up (G21).
  case timeout
  /// The worker stops, or has been without a coordinator for too long.
  case workerStop
  /// It is exclusive, and another worker may soon get it (G16).
  case fence
}

enum AttemptEvent: Hashable, Sendable {
  case awaitsMet
  /// A content that it waits for will not come.
  case inputMissed
  /// The local queue chose it.
  case chosen
  case recall
  case cancel
  /// It no longer belongs to this worker: end it, report nothing (S147).
  case abandon
  /// The worker stops it for a reason of its own.
  case stop(StopReason)
  /// The lease of exclusive operations has run out: no grace (G16).
  case fenced
  case graceOver
  case ended
  case acknowledged
}

/// The core's action after an event.
enum AttemptAction: Hashable, Sendable {
  case nothing
  /// Put it into the local queue.
  case enqueue
  case launch
  /// Answer `recalled`, and release it: it never starts.
  case giveBack
  /// Release it without a report.
  case drop
  /// Answer `alreadyStarted`.
  case answerStarted
  /// Answer `cancelTaken`, and ask it to stop.
  case takeCancel
  /// Answer `cancelTaken` only; it has been asked before.
  case repeatCancel
  /// Ask it to stop.
  case askToStop
  case kill
  /// Kill it and drop it; its resources become free when it has ended.
  case killAndForget
  /// Report its end.
  case report
  /// It never starts here: report that as its end.
  case reportUnstarted
  /// Its report is durable: drop it.
  case release
}

extension AttemptState {
  /// Returns the next state and the action. Late and repeated events have no effect.
  func after(_ event: AttemptEvent) -> (AttemptState, AttemptAction) {
    AttemptCount.add(self, event)
    return arrow(event)
  }

  private func arrow(_ event: AttemptEvent) -> (AttemptState, AttemptAction) {
    switch (self, event) {
    // Assigned, not started: S13, S91, S148.
    case (.blocked, .awaitsMet): (.ready, .enqueue)
    case (.ready, .chosen): (.running, .launch)
    case (.blocked, .recall), (.blocked, .cancel): (.absent, .giveBack)
    case (.ready, .recall), (.ready, .cancel): (.absent, .giveBack)
    case (.blocked, .abandon), (.ready, .abandon): (.absent, .drop)
    case (.blocked, .inputMissed): (.ended, .reportUnstarted)
    case (.blocked, .stop), (.ready, .stop), (.blocked, .fenced), (.ready, .fenced):
      (self, .nothing)

    // Running: S87, S92.
    case (.running, .recall), (.stopping, .recall), (.killing, .recall): (self, .answerStarted)
    case (.running, .cancel): (.stopping(.cancel), .takeCancel)
    case (.running, .stop(let reason)): (.stopping(reason), .askToStop)
    case (.stopping(let reason), .cancel): (.stopping(reason), .repeatCancel)
    case (.killing(let reason), .cancel): (.killing(reason), .repeatCancel)
    case (.stopping(let reason), .graceOver): (.killing(reason), .kill)
    case (.running, .fenced): (.killing(.fence), .kill)
    case (.stopping(let reason), .fenced): (.killing(reason), .kill)
    case (.stopping, .stop), (.killing, .stop), (.killing, .graceOver), (.killing, .fenced):
      (self, .nothing)
    case (.running, .abandon), (.stopping, .abandon), (.killing, .abandon):
      (.absent, .killAndForget)
    case (.running, .ended), (.stopping, .ended), (.killing, .ended): (.ended, .report)

    // Ended, to be acknowledged: S108, S149.
    case (.ended, .recall): (.ended, .answerStarted)
    case (.ended, .cancel): (.ended, .repeatCancel)
    case (.ended, .abandon), (.ended, .acknowledged): (.absent, .release)
    case (.ended, .stop), (.ended, .fenced), (.ended, .graceOver), (.ended, .ended):
      (.ended, .nothing)

    // Late or repeated.
    case (.absent, .awaitsMet), (.absent, .chosen), (.absent, .recall), (.absent, .cancel),
      (.absent, .inputMissed),
      (.absent, .abandon), (.absent, .stop), (.absent, .fenced), (.absent, .graceOver),
      (.absent, .ended), (.absent, .acknowledged):
      (.absent, .nothing)
    case (.blocked, .chosen), (.blocked, .graceOver), (.blocked, .ended),
      (.blocked, .acknowledged):
      (.blocked, .nothing)
    case (.ready, .awaitsMet), (.ready, .inputMissed), (.ready, .graceOver), (.ready, .ended),
      (.ready, .acknowledged):
      (.ready, .nothing)
    case (.running, .awaitsMet), (.running, .inputMissed), (.running, .chosen),
      (.running, .graceOver), (.running, .acknowledged):
      (.running, .nothing)
    case (.stopping, .awaitsMet), (.stopping, .inputMissed), (.stopping, .chosen),
      (.stopping, .acknowledged):
      (self, .nothing)
    case (.killing, .awaitsMet), (.killing, .inputMissed), (.killing, .chosen),
      (.killing, .acknowledged):
      (self, .nothing)
    case (.ended, .awaitsMet), (.ended, .inputMissed), (.ended, .chosen): (.ended, .nothing)
    }
  }

  /// This worker was given it and has not started it.
  var isAssigned: Bool {
    switch self {
    case .blocked, .ready: true
    case .absent, .running, .stopping, .killing, .ended: false
    }
  }
  /// Launched and not ended.
  var isLive: Bool {
    switch self {
    case .running, .stopping, .killing: true
    case .absent, .blocked, .ready, .ended: false
    }
  }
}
