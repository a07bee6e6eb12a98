// The interface of a running operation to its environment. The runner makes one for each attempt;
// used on any thread of the operation.

public import Logging
public import OpClusterModel
import OpClusterWire
import Synchronization

/// One attempt, as its operation sees it.
public final class OperationContext: Sendable {
  /// The context of the operation that runs in this task or in a parent task; the counterpart of
  /// `OperationQueue.current` (S146). nil outside of operations and in detached tasks.
  @TaskLocal public static var current: OperationContext?

  /// The unique number of this attempt. It can fence external effects against repetition by an
  /// attempt that was thought lost (G14).
  public let attempt: AttemptID
  /// The number of the run for people: 1, and more after a retry.
  public let run: UInt32
  /// The operation's name in its graph; elements of an array share it.
  public let name: String
  public let graphName: String
  /// The element number for people; nil for a plain operation.
  public let index: UInt32?
  /// The name of its queue for people.
  public let queueName: String
  /// The cluster that this attempt belongs to.
  public let home: OperationHome
  /// The gpus assigned to it, by their names at the worker, usually indices: no other operation has
  /// them meanwhile, except a gpu that was requested in part. Empty if it requested none. In a
  /// child process, `CUDA_VISIBLE_DEVICES` contains them as well.
  public let gpus: [String]
  /// Its span in the trace of who submitted the graph, as a parent of what it calls; nil if that
  /// had none.
  public let traceParent: TraceParent?
  let inputs: [DependencyInput]
  /// Where values of the inputs are that lie in a store.
  let contents: OperationContents
  /// The files that its graph names as inputs; nil: it names none.
  let inputFiles: OperationInputFiles?
  private let baseLogger: Logger?
  private let scratch: OperationScratch
  private let fileStore: OperationFileStore
  private let onProgress: @Sendable (Double, String) -> Void
  private let flag = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    var handlers: [@Sendable () -> Void] = []
    var folder: String?
    var hasEnded = false
    var thrown: (any Error)?
    /// Files of its output, also of one that came to nothing.
    var kept: [StoredContent] = []
    /// The inputs' outputs, decoded at the first request by type.
    var opened: [OperationOutput?]?
  }

  /// For runners of operations, and for tests of operations.
  /// - Parameters:
  ///   - inputs: The outputs of its direct dependencies, in order of addition.
  ///   - contents: Finds values of the inputs that lie in a store.
  ///   - inputFiles: Finds the files that its graph names as inputs; nil: it names none.
  ///   - fileStore: Takes the files of its output.
  ///   - logger: Gets the metadata `graph`, `operation` and `run`; nil: a logger labelled
  ///     `opcluster.operation`, made on demand.
  ///   - onProgress: 0…1 and a text; called on the operation's thread for each report.
  public init(
    attempt: AttemptID, run: UInt32 = 1, name: String, graphName: String = "",
    index: UInt32? = nil, queueName: String = "", inputs: [DependencyInput] = [],
    gpus: [String] = [], home: OperationHome = .none, logger: Logger? = nil,
    scratch: OperationScratch = .none, contents: OperationContents = .none,
    inputFiles: OperationInputFiles? = nil, fileStore: OperationFileStore = .none,
    traceParent: TraceParent? = nil,
    onProgress: @escaping @Sendable (Double, String) -> Void = { _, _ in }
  ) {
    self.attempt = attempt
    self.run = run
    self.name = name
    self.graphName = graphName
    self.index = index
    self.queueName = queueName
    self.inputs = inputs
    self.contents = contents
    self.inputFiles = inputFiles
    self.gpus = gpus
    self.home = home
    self.traceParent = traceParent
    baseLogger = logger
    self.scratch = scratch
    self.fileStore = fileStore
    self.onProgress = onProgress
  }

  public var operation: OperationID { attempt.operation }

  // MARK: - Cancellation

  /// Whether it has been asked to stop. Reads local memory: check as often as you like (S87).
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }

  /// Throws `CancellationError` if it has been asked to stop: the short way out of `main`.
  public func checkCancellation() throws {
    if isCancelled { throw CancellationError() }
  }

  /// Calls the handler once when the operation is asked to stop; at once if it has been. Never
  /// after its end. The handler runs concurrently with `main`, on another thread.
  public func onCancel(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if state.hasEnded { return false }
      if isCancelled { return true }
      state.handlers.append(handler)
      return false
    }
    if isLate { handler() }
  }

  /// Delivers a cancellation: sets the flag and calls the handlers. For runners of operations, and
  /// for their tests; repetitions have no effect. An operation that wants to be cancelled asks its
  /// cluster (`cancel(reason:)` of OpCluster).
  public func deliverCancellation() {
    let handlers = state.withLock { state in
      flag.store(true, ordering: .relaxed)
      defer { state.handlers = [] }
      return state.handlers
    }
    if handlers.isEmpty { return }
    // In a task of its own: handlers must not block the loop that delivers the order.
    Task.detached { for handler in handlers { handler() } }
  }

  // MARK: - What it says

  /// Reports its progress, 0…1, with a text for people. Only the newest is sent, once per second.
  public func reportProgress(_ fraction: Double, _ text: String = "") {
    guard fraction.isFinite else { return }
    onProgress(min(max(fraction, 0), 1), text)
  }

  /// A logger whose lines contain the graph, the operation and the run.
  public var logger: Logger {
    var logger = baseLogger ?? Logger(label: "opcluster.operation")
    logger[metadataKey: "graph"] = "\(operation.graph.number)"
    logger[metadataKey: "operation"] = index.map { "\(name)/\($0)" } ?? "\(name)"
    logger[metadataKey: "run"] = "\(run)"
    return logger
  }

  /// The path of a private folder, created at the first call and removed after the attempt.
  /// - Throws: An error of the file system.
  public func scratchFolder() throws -> String {
    try state.withLock { state in
      if let folder = state.folder { return folder }
      let folder = try scratch.make()
      state.folder = folder
      return folder
    }
  }

  // MARK: - For what runs it

  /// The error that its body threw; nil if there is none, or it has not ended.
  public var thrownError: (any Error)? { state.withLock { $0.thrown } }

  func keep(thrown error: any Error) { state.withLock { $0.thrown = error } }

  /// What its store has kept of its files; complete when its end is told.
  package var keptFiles: [StoredContent] { state.withLock { $0.kept } }

  /// Puts a file of its output into its store.
  func keepFile(_ path: String) async throws -> OperationFileStore.Kept {
    let kept = try await fileStore.keep(path)
    state.withLock { $0.kept.append(kept.content) }
    return kept
  }

  /// Ends the attempt: nothing more is called, and the folder is removed.
  func end() {
    let folder = state.withLock { state in
      state.hasEnded = true
      state.handlers = []
      defer { state.folder = nil }
      return state.folder
    }
    if let folder { scratch.remove(folder) }
  }

  /// The outputs of the dependencies, decoded once; nil for missing or unreadable ones.
  var openedInputs: [OperationOutput?] {
    state.withLock { state in
      if let opened = state.opened { return opened }
      let opened = inputs.map { input -> OperationOutput? in
        guard input.outcome == .succeeded, let bytes = input.output else { return nil }
        return try? Wire.decodeOutput(bytes)
      }
      state.opened = opened
      return opened
    }
  }
}

/// The cluster that runs an operation; opaque except to OpCluster's own connection to it.
public enum OperationHome: Sendable {
  /// None: the operation cannot submit others.
  case none
  /// The address for clients of the cluster.
  case endpoint(String)
  /// The cluster inside this process.
  case local(any Sendable & AnyObject)
}
