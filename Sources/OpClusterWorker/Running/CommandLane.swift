// Runs commands and blocks for a program that is no worker: for the library where it runs graphs
// without a cluster. A thread of its own has the processes; every call comes from any thread and
// returns at once.

public import Logging
public import OpClusterModel
public import OpClusterOperations
import OpClusterProcesses
import OpClusterZeroMQ
import Synchronization

/// Runs the work of attempts in this program's own name, types of isolation `.child` in children of
/// it (`ChildProgram`). The program's other children are left
/// alone: nothing is reaped and nobody adopted but what the lane has started.
///
/// Results are raw, as the worker's brain takes them: after a stop a command ends by its signal or
/// as it likes; a block operation of which blocks were skipped has failed and `wasStopped`. Why it
/// was stopped (cancelled, out of time) is the caller's to say, and so are the times.
public final class CommandLane: Sendable {
  private let orders: Mailbox<LaneOrder>
  private let thread: ThreadHandle
  private let folder: String
  private let isEnded = Mutex(false)
  private let onEnd: @Sendable (AttemptID, AttemptResult) -> Void

  /// - Parameters:
  ///   - types: what calls may name.
  ///   - home: where those calls find the cluster that they belong to.
  ///   - logger: gets the log lines of those calls.
  ///   - onProgress: what a registered operation tells of itself; on the lane's thread.
  ///   - onEnd: called once for each start, on the lane's thread.
  /// - Throws: when the machine has no room for a thread or a descriptor. Without room for a folder
  ///   each start ends as `.cannotStart`.
  public init(
    types registry: OperationRegistry = OperationRegistry(), home: OperationHome = .none,
    logger: Logger = Logger(label: "opcluster"),
    onProgress: @escaping @Sendable (AttemptID, Double, String) -> Void = { _, _, _ in },
    onEnd: @escaping @Sendable (AttemptID, AttemptResult) -> Void
  ) throws(WorkerError) {
    let folder = LaneFolder.fresh
    self.folder = folder
    self.onEnd = onEnd
    do throws(SocketError) {
      // What waits here is what the caller has started and not heard of.
      let orders = try Mailbox<LaneOrder>(capacity: .max)
      self.orders = orders
      thread = try startThread(name: "commands") {
        LaneLoop(folder, registry, home, logger, orders, onProgress, onEnd).run()
      }
    } catch {
      throw WorkerError(.machine, error.description)
    }
  }

  deinit { end() }

  /// Starts an attempt of a command or of blocks. After `end` it ends at once as
  /// `.workerStopped`.
  ///
  /// - Parameters:
  ///   - argument: the element's own; of a block operation also further blocks, encoded (S120).
  ///   - inputs: what its dependencies left.
  ///   - run: which run of the operation it is, from 1 (`OP_ATTEMPT`).
  ///   - queue: what its queue is called (`OP_QUEUE`); nil: as the announcement says.
  public func start(
    _ attempt: AttemptID, _ announcement: TemplateAnnouncement, argument: [UInt8] = [],
    inputs: [DependencyInput] = [], run: UInt32 = 1, queue: String? = nil
  ) {
    let order = LaneOrder.start(attempt, announcement, argument, inputs, run: run, queue: queue)
    let isTaken = isEnded.withLock { ended in !ended && orders.post(order) == .posted }
    if !isTaken { onEnd(attempt, .stoppedWithWorker) }
  }

  /// Why a type that wants a process of its own cannot have one here; nil: it can.
  public static func objection(to type: OperationType) -> String? {
    ChildProgram.serves(type) ? nil : missingDoor(for: type)
  }

  static func missingDoor(for type: OperationType) -> String {
    "'\(type.name)' wants a process of its own, and this program cannot be started as one: its "
      + "main must first call OperationCluster.runAsChildIfAsked(types:) with that type in the list"
  }

  /// Asks it to stop: all its processes by their signal and `OP_CANCELLED`, its calls by their
  /// flag; blocks that have not begun are skipped (S122).
  public func stop(_ attempt: AttemptID) { _ = orders.post(.stop(attempt)) }

  /// Kills its process trees.
  public func kill(_ attempt: AttemptID) { _ = orders.post(.kill(attempt)) }

  /// Where a stream of an attempt that has ended is on disk until `end`, if anything was written.
  public func log(_ attempt: AttemptID, _ stream: LogStream) -> String {
    let path = Scratch.log(attempt, stream, in: folder)
    return Folders.target(of: path) ?? path
  }

  /// From the start to being asked to stop, and from there to the kill: what the template says,
  /// else the command itself; nil: nobody says.
  public static func limits(
    of announcement: TemplateAnnouncement
  ) -> (timeout: Span?, grace: Span?) {
    guard announcement.work == .command else { return (announcement.timeout, announcement.grace) }
    let template = PreparedTemplate(announcement)
    return (template.timeout, template.grace)
  }

  /// Kills what runs, tells its end, and removes the lane's folder. Further calls do nothing.
  public func end() {
    let isFirst = isEnded.withLock { ended in
      defer { ended = true }
      return !ended
    }
    guard isFirst else { return }
    _ = orders.post(.end)
    if !thread.isCurrent { thread.join() }
  }
}
