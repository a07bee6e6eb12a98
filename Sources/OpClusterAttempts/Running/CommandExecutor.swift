// Runs commands and blocks in a program that is no worker: for the library when it runs graphs
// without a cluster. A thread of its own owns the processes; every call comes from any thread and
// returns at once.

package import Logging
public import OpClusterModel
package import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import Synchronization

/// Runs the work of attempts in this program; types of isolation `.child` run in children of it
/// (`ChildProgram`). The executor reaps and adopts only the processes that it has started and
/// leaves the program's other children alone.
///
/// Results are raw, as the worker's brain takes them: a stopped command ends by its signal or as it
/// likes, and a block operation with skipped blocks has failed and `wasStopped`. The caller adds
/// the reason of the stop (cancelled, out of time) and enforces the times.
public final class CommandExecutor: Sendable {
  private let orders: Mailbox<ExecutorOrder>
  private let thread: ThreadHandle
  private let folder: String
  private let isEnded = Mutex(false)
  private let onEnd: @Sendable (AttemptID, AttemptResult) -> Void

  /// - Parameters:
  ///   - types: The types that calls may name.
  ///   - home: The cluster's address for those calls.
  ///   - store: Keeps values of those calls that are too large for a message.
  ///   - logger: Receives the log lines of those calls.
  ///   - onProgress: Called with the progress of a registered operation, on the executor's thread.
  ///   - onEnd: Called once for each start, on the executor's thread.
  /// - Throws: An error if the machine has no room for a thread or a descriptor. Without room for a
  ///   folder each start ends as `.cannotStart`.
  package init(
    types registry: OperationRegistry = OperationRegistry(), home: OperationHome = .none,
    store: AttemptStore? = nil, logger: Logger = Logger(label: "opcluster"),
    onProgress: @escaping @Sendable (AttemptID, Double, String) -> Void = { _, _, _ in },
    onEnd: @escaping @Sendable (AttemptID, AttemptResult) -> Void
  ) throws(WorkerError) {
    let folder = ExecutorFolder.fresh
    self.folder = folder
    self.onEnd = onEnd
    do throws(SystemError) {
      // Not bounded here: it holds only what the caller has started.
      let orders = try Mailbox<ExecutorOrder>(capacity: .max)
      self.orders = orders
      thread = try startThread(name: "commands") {
        ExecutorLoop(folder, registry, home, store, logger, orders, onProgress, onEnd).run()
      }
    } catch {
      throw WorkerError(.machine, error.description)
    }
  }

  deinit { end() }

  /// Starts an attempt of a command or of blocks. After `end` the attempt ends at once as
  /// `.workerStopped`.
  ///
  /// - Parameters:
  ///   - argument: The element's own argument; for a block operation also further blocks, encoded
  ///     (S120).
  ///   - inputs: The outputs of its dependencies.
  ///   - run: The number of the operation's run, from 1 (`OP_ATTEMPT`).
  ///   - queue: The name of its queue (`OP_QUEUE`); nil: the announcement's.
  public func start(
    _ attempt: AttemptID, _ announcement: TemplateAnnouncement, argument: [UInt8] = [],
    inputs: [DependencyInput] = [], run: UInt32 = 1, queue: String? = nil
  ) {
    let order = ExecutorOrder.start(attempt, announcement, argument, inputs, run: run, queue: queue)
    let isTaken = isEnded.withLock { ended in !ended && orders.post(order) == .posted }
    if !isTaken { onEnd(attempt, .stoppedWithWorker) }
  }

  /// Returns why a type that wants a process of its own cannot have one here; nil if it can.
  public static func objection(to type: OperationType) -> String? {
    ChildProgram.serves(type) ? nil : missingDoor(for: type)
  }

  static func missingDoor(for type: OperationType) -> String {
    "'\(type.name)' wants a process of its own, and this program cannot be started as one: its "
      + "main must first call OperationCluster.runAsChildIfAsked(types:) with that type in the list"
  }

  /// Asks the attempt to stop: processes by their signal and `OP_CANCELLED`, calls by their flag.
  /// Skips blocks that have not begun (S122).
  public func stop(_ attempt: AttemptID) { _ = orders.post(.stop(attempt)) }

  /// Kills the attempt's process trees.
  public func kill(_ attempt: AttemptID) { _ = orders.post(.kill(attempt)) }

  /// Returns the file of an ended attempt's stream; it exists until `end`, if anything was written.
  public func log(_ attempt: AttemptID, _ stream: LogStream) -> String {
    let path = Scratch.log(attempt, stream, in: folder)
    return Folders.target(of: path) ?? path
  }

  /// Returns the time limit, and the grace from the request to stop to the kill: the template's,
  /// else the command's; nil if neither gives one.
  public static func limits(
    of announcement: TemplateAnnouncement
  ) -> (timeout: Span?, grace: Span?) {
    guard announcement.work == .command else { return (announcement.timeout, announcement.grace) }
    let template = PreparedTemplate(announcement)
    return (template.timeout, template.grace)
  }

  /// Kills everything, reports the ends, and removes the executor's folder. Later calls do nothing.
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
