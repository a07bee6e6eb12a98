// The configuration of a worker: its coordinator, its resources, its files. Made by the command, or
// by a program of its own with registered types.

public import Logging
public import OpClusterAttempts
public import OpClusterHTTP
public import OpClusterModel
public import OpClusterSystem
public import OpClusterZeroMQ

/// The settings of one worker. Everything except the coordinator's address has a default.
public struct WorkerConfiguration: Sendable {
  public var coordinator: Endpoint
  /// Our key and the coordinator's, for TCP.
  public var keys: SocketKeys?
  /// Matches `[A-Za-z0-9._:-]{1,128}`; unique in the cluster.
  public var name: String
  /// Whether the user chose the name or the folder. Otherwise the worker appends the next free
  /// number if another worker of this user has the name on this machine: `host`, `host-2`,
  /// `host-3`.
  public var isNameGiven: Bool
  public var capacity: Resources
  /// The gpus that `capacity` counts, for operations: indices as CUDA counts them, or names such as
  /// `GPU-8932f937`. An empty list hides the machine's gpus. nil: the gpus found, or 0, 1, 2 …;
  /// nothing if `capacity` counts none.
  public var gpuNames: [String]?
  /// Labels besides the built-in ones (`host`, `arch`, `os`).
  public var labels: [Label]
  /// The absolute path of the worker's folder.
  public var scratch: String
  /// The time without a coordinator after which the worker gives up; nil: never.
  public var patience: Span?
  /// Log files of ended attempts are removed after this time.
  public var logRetention: Span
  /// Maximum bytes of all log files, the oldest being removed first; nil: a tenth of the disk, at
  /// most `Limits.logBytesPerWorker`.
  public var logBytes: Int64?
  /// Maximum bytes of the worker's store, for what operations leave to each other; 0: there is
  /// none. nil: a quarter of the disk, at most `Limits.storeBytes`.
  public var storeBytes: Int64?
  /// Where other workers and clients read from the store. nil: any free port, or a socket file in
  /// the worker's folder where the coordinator has one.
  public var storeAddress: Endpoint?
  /// What the store sends to others each second, in bytes; nil: as much as it can.
  public var uploadBytesPerSecond: Int64?
  /// Where figures for monitoring are served; nil: nowhere.
  public var metrics: HTTPAddress?
  /// The time between two sweeps of logs; nil: five minutes.
  package var logSweepInterval: Span?
  /// Takes SIGTERM and SIGINT as orders to stop, and gives children default signals. Only if the
  /// worker is the whole process.
  public var handlesSignals: Bool
  /// The time for which running operations may continue after a first signal, while nothing new
  /// begins; nil: they are asked to stop at once.
  public var drainTime: Span?
  /// Leaves after this time without anything to run; nil: it stays. Workers that a batch system
  /// starts give their machines back so.
  public var idleTime: Span?
  /// The service manager to notify of readiness and of turns of the loop; nil: none.
  public var service: ServiceAddress?
  /// A descriptor whose other end the starting program holds: the worker stops when it closes. nil:
  /// none.
  public var lifeline: Int32?
  /// The command that starts this program as a child, for types that want a process of their own. A
  /// program that sets it must call `ChildProgram.serveIfAsked` first of all. nil: there are no
  /// such types.
  public var childCommand: [String]?
  /// The account that operations run as.
  public var runAs: OperationAccount
  /// The limits of each operation's process tree.
  public var limits: OperationLimits
  /// The idle time after which a child ends.
  public var childIdleTime = Span.seconds(60)
  public var logger: Logger

  /// Uses all resources of the machine under the name of the host. The name is the same at each
  /// start, so that a restarted worker has the logs of the previous one.
  public init(coordinator: Endpoint, logger: Logger = Logger(label: "opworker")) {
    self.coordinator = coordinator
    keys = nil
    self.logger = logger
    name = MachineResources.machineName
    isNameGiven = false
    capacity = MachineResources.capacity
    gpuNames = nil
    labels = []
    scratch = Folders.defaultScratch(worker: MachineResources.machineName)
    patience = nil
    logRetention = .seconds(7 * 24 * 3600)
    logBytes = nil
    storeBytes = nil
    storeAddress = nil
    uploadBytesPerSecond = nil
    handlesSignals = true
    drainTime = nil
    service = nil
    lifeline = nil
    childCommand = nil
    runAs = .worker
    limits = OperationLimits()
  }

  /// The names of the gpus, one per gpu that operations can get; nil: operations are told nothing.
  var givenGPUs: [String]? {
    if let gpuNames { return gpuNames }
    guard capacity.gpus > .zero else { return nil }
    let count = Int(clamping: (capacity.gpus.tenThousandths &+ 9_999) / 10_000)
    return GPUSetting.count(min(count, Limits.gpusPerWorker)).names(found: MachineResources.gpus)
  }

  /// The default folder of a worker with this name.
  public static func defaultScratch(
    worker: String, runAs: OperationAccount = .worker
  ) -> String {
    runAs.isForeign
      ? Folders.sharedScratch(worker: worker) : Folders.defaultScratch(worker: worker)
  }
}

/// The reason of a worker's end.
public enum WorkerExit: Hashable, Sendable {
  /// It was asked to stop and has stopped.
  case stopped
  /// The coordinator drained it.
  case drained
  /// A second signal came: running operations were killed.
  case killed
  /// The coordinator refuses the worker.
  case refused(Refusal)
  /// There was no coordinator for longer than its patience.
  case unreachable

  /// The exit status of the process (Operating.md, exit codes).
  public var status: Int32 {
    switch self {
    case .stopped, .drained: 0
    case .killed: 1
    case .unreachable: 69
    case .refused(let refusal):
      switch refusal.code {
      case .versionMismatch: 76
      case .forbidden: 77
      default: 78
      }
    }
  }
}
