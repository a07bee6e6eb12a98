// The life of one attempt at the worker, on one screen. Called by the core for every event that
// concerns an attempt; a new state or event does not compile until its rows are written.

/// Where an attempt is.
enum AttemptState: Hashable, Sendable {
  /// No attempt: the operation is only awaited by others here, or the slot is free.
  case absent
  /// Held; waits for operations of this worker (S151).
  case blocked
  /// Held; waits in the local queue for its turn and room (S47).
  case ready
  /// Launched.
  case running
  /// Asked to stop, in its grace.
  case stopping(StopReason)
  /// Killed; its end has not been seen yet.
  case killing(StopReason)
  /// Ended; its report is not yet acknowledged as durable (S115).
  case ended
}

/// Why an attempt was asked to stop: the first reason stays.
enum StopReason: Hashable, Sendable {
  /// The coordinator said so.
  case cancel
  /// Its time is up (G21).
  case timeout
  /// The worker stops, or has been without a coordinator for too long.
  case workerStop
  /// It is exclusive, and another worker may soon have it (G16).
  case fence
}

/// What can happen to an attempt.
enum AttemptEvent: Hashable, Sendable {
  case awaitsMet
  /// The local queue chose it.
  case chosen
  case recall
  case cancel
  /// It is no longer this worker's: end it, report nothing (S147).
  case abandon
  /// A reason of the worker's own.
  case stop(StopReason)
  /// The lease of exclusive operations has run out: no grace (G16).
  case fenced
  case graceOver
  case ended
  case acknowledged
}

/// What the core does about it.
enum AttemptAction: Hashable, Sendable {
  case nothing
  /// Into the local queue.
  case enqueue
  case launch
  /// Answer `recalled`, and release it: it never starts.
  case giveBack
  /// Release it, say nothing.
  case drop
  /// Answer `alreadyStarted`.
  case answerStarted
  /// Answer `cancelTaken`, and ask it to stop.
  case takeCancel
  /// Answer `cancelTaken`; it has been asked before.
  case repeatCancel
  /// Ask it to stop.
  case askToStop
  case kill
  /// Kill it and forget it; its room comes back when it has ended.
  case killAndForget
  /// Report its end.
  case report
  /// Its report is durable: forget it.
  case release
}

extension AttemptState {
  /// The next state and what to do. Whatever is not foreseen is late or repeated and does nothing.
  func after(_ event: AttemptEvent) -> (AttemptState, AttemptAction) {
    AttemptCount.add(self, event)
    return arrow(event)
  }

  private func arrow(_ event: AttemptEvent) -> (AttemptState, AttemptAction) {
    switch (self, event) {
    // Held, not started: S13, S91, S148.
    case (.blocked, .awaitsMet): (.ready, .enqueue)
    case (.ready, .chosen): (.running, .launch)
    case (.blocked, .recall), (.blocked, .cancel): (.absent, .giveBack)
    case (.ready, .recall), (.ready, .cancel): (.absent, .giveBack)
    case (.blocked, .abandon), (.ready, .abandon): (.absent, .drop)
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
      (.absent, .abandon), (.absent, .stop), (.absent, .fenced), (.absent, .graceOver),
      (.absent, .ended), (.absent, .acknowledged):
      (.absent, .nothing)
    case (.blocked, .chosen), (.blocked, .graceOver), (.blocked, .ended),
      (.blocked, .acknowledged):
      (.blocked, .nothing)
    case (.ready, .awaitsMet), (.ready, .graceOver), (.ready, .ended), (.ready, .acknowledged):
      (.ready, .nothing)
    case (.running, .awaitsMet), (.running, .chosen), (.running, .graceOver),
      (.running, .acknowledged):
      (.running, .nothing)
    case (.stopping, .awaitsMet), (.stopping, .chosen), (.stopping, .acknowledged):
      (self, .nothing)
    case (.killing, .awaitsMet), (.killing, .chosen), (.killing, .acknowledged):
      (self, .nothing)
    case (.ended, .awaitsMet), (.ended, .chosen): (.ended, .nothing)
    }
  }

  /// Held by this worker and not started.
  var isHeld: Bool {
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
