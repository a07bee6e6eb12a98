// What the worker bounds of each operation's process tree, where the machine can bound it. Values
// only; made from the configuration, used at each start.

import OpClusterModel
import OpClusterProcesses

/// The bounds of a worker.
public struct OperationLimits: Hashable, Sendable {
  /// Whether an operation that asks for memory may have no more than that.
  public var enforcesMemory = true
  /// Processes and threads that one operation may have at once (F15); nil: as many as it likes.
  public var processes: Int? = Limits.processesPerOperation
  public init() {}
}

extension OperationLimits {
  /// Bytes that an operation may have; nil: nobody asked.
  func memory(_ demand: Resources) -> UInt64? {
    enforcesMemory && demand.memoryBytes > 0 ? UInt64(demand.memoryBytes) : nil
  }

  func bind(_ specification: inout ProcessSpecification, _ announcement: TemplateAnnouncement) {
    specification.memoryLimit = memory(announcement.demand)
    specification.processLimit = processes.map { UInt64(clamping: $0) }
    specification.isExclusive = announcement.isExclusive
  }

  /// What a tree's end owes to its limits; nil: nothing.
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
  /// A shell that was told no other folders than those that every operation has.
  var looksInUsualPath: Bool {
    guard case .shell = form else { return false }
    return !environment.contains { $0.name == "PATH" }
  }
}

extension SpawnError {
  /// What helps where a program that the submitter has is not found.
  static let pathHint =
    "set PATH in its environment, or take yours: in a manifest by env: {inherit: [PATH]}"

  /// The end of an attempt whose process could not be started.
  var problem: AttemptProblem {
    // Not its fault: it goes elsewhere, or comes back when the worker is heard again; but for what
    // must not run twice, since nobody else can tell that it has not begun (S12).
    let cause: FailureCause = self == .leaseOver ? .workerStopped : .cannotStart
    var message = description
    if case .notFound = self { message += "; " + Self.pathHint }
    return AttemptProblem(cause: cause, message: message, exitStatus: exitCode ?? 0)
  }
}
