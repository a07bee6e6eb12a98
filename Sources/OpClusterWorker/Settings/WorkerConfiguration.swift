// What a worker is told at its start: whom to serve, what to offer, where to keep files. Made by
// the command, or by a program of its own with registered types.

public import Logging
public import OpClusterModel
public import OpClusterZeroMQ

/// The settings of one worker. Everything but the coordinator's address has a default.
public struct WorkerConfiguration: Sendable {
  public var coordinator: Endpoint
  /// For TCP: our key and the coordinator's.
  public var keys: SocketKeys?
  /// Matches `[A-Za-z0-9._:-]{1,128}`; unique in the cluster.
  public var name: String
  /// Whether somebody chose the name, or the folder. Otherwise, where another worker of this user
  /// has the name on this machine, the next number is added: `host`, `host-2`, `host-3`.
  public var isNameGiven: Bool
  public var capacity: Resources
  /// What operations are told of the gpus that `capacity` counts: indices as CUDA counts them, or
  /// names such as `GPU-8932f937`. An empty list hides those of the machine; nil: those that were
  /// found, or 0, 1, 2 …, and where `capacity` counts none, operations are told nothing.
  public var gpuNames: [String]?
  /// Beside the built-in ones (`host`, `arch`, `os`).
  public var labels: [Label]
  /// Where the worker's folder is, absolute.
  public var scratch: String
  /// Give up when no coordinator was there for so long; nil: keep trying for ever.
  public var patience: Span?
  /// Log files of ended attempts are removed after this.
  public var logRetention: Span
  /// What they may take altogether, the oldest going first; nil: a tenth of the disk, at most
  /// `Limits.logBytesPerWorker`.
  public var logBytes: Int64?
  /// How often they are looked through; nil: every five minutes.
  package var logSweepInterval: Span?
  /// Take SIGTERM and SIGINT as orders to stop, and give children clean ones. Only where the
  /// worker is the whole process.
  public var handlesSignals: Bool
  /// What runs may go on for so long after a first signal to stop, while nothing new begins; nil:
  /// it is asked to stop at once.
  public var drainTime: Span?
  /// Whom to tell that it serves, and that its loop turns; nil: nobody.
  public var service: ServiceAddress?
  /// A descriptor that the program that started this worker holds the other end of: when it
  /// closes, the worker stops. nil: there is none.
  public var lifeline: Int32?
  /// What starts this program as a child, for types that want a process of their own; a program
  /// that sets it calls `ChildProgram.serveIfAsked` first of all. nil: it has no such types.
  public var childCommand: [String]?
  /// As whom operations run.
  public var runAs: OperationAccount
  /// What is bounded of each operation's process tree.
  public var limits: OperationLimits
  /// A child that has run nothing for so long ends.
  public var childIdleTime = Span.seconds(60)
  public var logger: Logger

  /// Takes everything the machine has, under the name of the host, which is the same at each start,
  /// so that a worker that is started again has the logs of the one before it.
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
    handlesSignals = true
    drainTime = nil
    service = nil
    lifeline = nil
    childCommand = nil
    runAs = .worker
    limits = OperationLimits()
  }

  /// The names in order, one for each that operations can be given; nil: they are told nothing.
  var givenGPUs: [String]? {
    if let gpuNames { return gpuNames }
    guard capacity.gpus > .zero else { return nil }
    let count = Int(clamping: (capacity.gpus.tenThousandths &+ 9_999) / 10_000)
    return GPUSetting.count(min(count, Limits.gpusPerWorker)).names(found: MachineResources.gpus)
  }

  /// Where a worker of this name keeps its files unless told otherwise.
  public static func defaultScratch(
    worker: String, runAs: OperationAccount = .worker
  ) -> String {
    runAs.isForeign
      ? Folders.sharedScratch(worker: worker) : Folders.defaultScratch(worker: worker)
  }
}

/// How a worker came to its end.
public enum WorkerExit: Hashable, Sendable {
  /// It was asked to stop, and did.
  case stopped
  /// The coordinator drained it.
  case drained
  /// A second signal: what ran was killed.
  case killed
  /// The coordinator will not have it.
  case refused(Refusal)
  /// No coordinator for longer than its patience.
  case unreachable

  /// The status of the process (Operating.md, exit codes).
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

/// Why a worker could not start, or could not go on.
public struct WorkerError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// A setting makes no sense.
    case configuration
    /// Another worker uses the folder.
    case inUse
    /// The folder is not this user's alone (G39).
    case unsafeFolder
    /// The machine refused.
    case machine
  }
  public var kind: Kind
  /// What is wrong and what to do.
  public var description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// The status of the process (Operating.md, exit codes).
  public var status: Int32 {
    switch kind {
    case .configuration: 78
    case .inUse: 73
    case .machine: 74
    case .unsafeFolder: 77
    }
  }
}
