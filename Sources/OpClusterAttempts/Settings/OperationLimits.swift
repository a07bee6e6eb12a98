// The limits of each operation's process tree, if the machine can enforce them. Values only; made
// from the configuration, used at each start.

import OpClusterModel
import OpClusterProcesses

/// The limits that a worker enforces.
public struct OperationLimits: Hashable, Sendable {
  /// Whether an operation that asks for memory is limited to that amount.
  public var enforcesMemory = true
  /// Maximum processes and threads of one operation (F15); nil: no limit.
  public var processes: Int? = Limits.processesPerOperation
  public init() {}
}

extension OperationLimits {
  /// The memory limit in bytes; nil if the operation asks for none.
  func memory(_ demand: Resources) -> UInt64? {
    enforcesMemory && demand.memoryBytes > 0 ? UInt64(demand.memoryBytes) : nil
  }

  func bind(_ specification: inout ProcessSpecification, _ announcement: TemplateAnnouncement) {
    specification.memoryLimit = memory(announcement.demand)
    specification.processLimit = processes.map { UInt64(clamping: $0) }
    specification.isExclusive = announcement.isExclusive
  }

  /// Returns the problem if the limits caused the tree's end; else nil.
  func verdict(on end: EndedProcess, _ demand: Resources) -> AttemptProblem? {
    if end.wasFenced, end.status == .signalled(9) {
      return AttemptProblem(cause: .workerStopped, message: Self.fenced)
    }
    if end.memoryKills > 0 {
      let limit = memory(demand).map { "the \($0) bytes that 'resources: memory' asks for" }
      return AttemptProblem(
        cause: .outOfMemory,
        message: "the kernel killed it, since it used more memory than "
          + (limit ?? "this machine has") + "; ask for more")
    }
    if end.refusedProcesses > 0, let processes {
      return AttemptProblem(
        cause: .failed,
        message: "it was refused further processes: an operation may have \(processes) at once "
          + "here (--processes of the worker)")
    }
    return nil
  }

  static let fenced =
    "killed by the worker's guard, since the coordinator had not heard of the worker for too long "
    + "and might have given this exclusive operation to another"
}

extension CommandSpecification {
  /// Whether it is a shell without a `PATH` beyond the default one.
  var looksInUsualPath: Bool {
    guard case .shell = form else { return false }
    return !environment.contains { $0.name == "PATH" }
  }
}

extension SpawnError {
  /// The remedy if a program that the submitter has is not found.
  static let pathHint =
    "set PATH in its environment, or take yours: in a manifest by env: {inherit: [PATH]}"

  /// The result of an attempt whose process could not be started.
  var problem: AttemptProblem {
    // An ended lease is not the operation's fault: it goes elsewhere, or returns when the worker is
    // heard again. An operation that must not run twice cannot, since nobody else can tell that it
    // has not begun (S12).
    let cause: FailureCause = self == .leaseOver ? .workerStopped : .cannotStart
    var message = description
    if case .notFound = self { message += "; " + Self.pathHint }
    return AttemptProblem(cause: cause, message: message, exitStatus: exitCode ?? 0)
  }
}
