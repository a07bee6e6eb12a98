// Counts how often each event met each state of an attempt, for `opsim coverage`. Exists only in
// the build that deploy/mutants makes, which is never a product.

#if MUTANTS
  import Synchronization

  package enum AttemptCount {
    private static let counts = Mutex<[Int]>(
      Array(repeating: 0, count: stateNames.count * eventNames.count))
    private static let stateNames = [
      "absent", "blocked", "ready", "running", "stopping", "killing", "ended",
    ]
    private static let eventNames = [
      "awaitsMet", "chosen", "recall", "cancel", "abandon", "stop", "fenced", "graceOver",
      "ended", "acknowledged", "inputMissed",
    ]

    static func add(_ state: AttemptState, _ event: AttemptEvent) {
      counts.withLock { $0[number(state) * eventNames.count + number(event)] += 1 }
    }

    /// Every pair of the table, with its count.
    package static var all: [(state: String, event: String, count: Int)] {
      let counts = counts.withLock { $0 }
      return stateNames.enumerated().flatMap { at, state in
        eventNames.enumerated().map { offset, event in
          (state, event, counts[at * eventNames.count + offset])
        }
      }
    }

    private static func number(_ state: AttemptState) -> Int {
      switch state {
      case .absent: 0
      case .blocked: 1
      case .ready: 2
      case .running: 3
      case .stopping: 4
      case .killing: 5
      case .ended: 6
      }
    }
    private static func number(_ event: AttemptEvent) -> Int {
      switch event {
      case .awaitsMet: 0
      case .chosen: 1
      case .recall: 2
      case .cancel: 3
      case .abandon: 4
      case .stop: 5
      case .fenced: 6
      case .graceOver: 7
      case .ended: 8
      case .acknowledged: 9
      case .inputMissed: 10
      }
    }
  }
#else
  enum AttemptCount {
    @inline(__always) static func add(_ state: AttemptState, _ event: AttemptEvent) {}
  }
#endif
