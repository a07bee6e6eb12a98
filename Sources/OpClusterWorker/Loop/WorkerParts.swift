// The parts of a worker's loop: its decisions, the poller and the signals, the way to its end.
// `WorkerLoop` and its extensions change them.

import OpClusterAttempts
import OpClusterExecution
import OpClusterMetrics
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

/// The decisions of the brain that wait to be carried out, and the templates that they name.
struct Decisions {
  /// The session that was carried out last; the brain may have begun another.
  var session: WorkerSession
  /// The names of the brain's gpus; nil: operations are told nothing of gpus.
  let gpuNames: [String]?
  var effects: [ExecutionEffect] = []
  var templates: [PreparedTemplate?] = []
  /// There is more to start than one turn may.
  var isHurried = false
}

/// Who watches the worker from outside.
struct Oversight {
  /// The service manager; nil: there is none.
  let service: ServiceNotifier?
  var figures = WorkerFigures()
  /// nil: nothing is served to monitoring.
  var metrics: MetricsServer?
}

/// What the worker has on its disk.
struct WorkerDisk {
  let scratch: Scratch
  /// nil: outputs have the size of a message.
  let store: WorkerStore?
}

/// Everything that wakes the loop.
struct Wakeups: ~Copyable {
  var poller = SocketPoller()
  var items = Items()
  var signals: SignalDescriptor?

  struct Items {
    var socket: SocketPoller.Item?
    var signals: SocketPoller.Item?
    var guardian: SocketPoller.Item?
    var lifeline: SocketPoller.Item?
  }
}

/// The way of the worker to its end.
struct WorkerEnding {
  /// Orders to stop so far.
  var stops = 0
  var lifelineIsCut = false
  var wasKilled = false
  /// The moment when a drain that a signal began becomes a stop.
  var drainEnd: Instant?
  /// Since when it has had nothing to run; nil: it has.
  var idleSince: Instant?
  /// It leaves since it had nothing to run.
  var isIdleEnd = false
  /// The moment when the goodbye has certainly left.
  var leaveAt: Instant?
}

/// The lease of exclusive operations, as the guard was told it, and the watch for sleeps that end
/// it.
struct LeaseState {
  var sleepWatch = SleepWatch()
  /// The last contact given to the guard.
  var contact: Instant?
}

/// The sweeps of logs of ended attempts.
struct LogSweeps {
  let state = SweepState()
  var next = Instant.distantPast
}
