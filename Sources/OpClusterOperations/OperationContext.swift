// What a running operation may know and say. Made by what runs it, for each attempt; used on
// whatever thread the operation runs on.

public import Logging
public import OpClusterModel
import OpClusterWire
import Synchronization

/// One attempt, as its operation sees it.
public final class OperationContext: Sendable {
  /// The context of the operation that runs in this task, wherever in it one is; the counterpart of
  /// `OperationQueue.current` (S146). nil outside of operations and in detached tasks.
  @TaskLocal public static var current: OperationContext?

  /// This start of the operation: no other has the same. What must not be done twice by a start
  /// that was thought lost can be fenced with it (G14).
  public let attempt: AttemptID
  /// Which run it is, as people count: 1, and more after a retry.
  public let run: UInt32
  /// The operation's name in its graph; elements of an array share it.
  public let name: String
  public let graphName: String
  /// The number that people see for an array's element; nil for a plain operation.
  public let index: UInt32?
  /// The queue that it came through, as people see it.
  public let queueName: String
  /// Where the cluster is to which this attempt belongs.
  public let home: OperationHome
  /// The gpus that it asked for, by the names that its worker gives them, mostly indices: no other
  /// operation has them meanwhile, but for one that was asked for in part. Empty where it asked for
  /// none. One in a child process finds them in `CUDA_VISIBLE_DEVICES` as well.
  public let gpus: [String]
  let inputs: [DependencyInput]
  private let baseLogger: Logger?
  private let scratch: OperationScratch
  private let onProgress: @Sendable (Double, String) -> Void
  private let flag = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    var handlers: [@Sendable () -> Void] = []
    var folder: String?
    var hasEnded = false
    var thrown: (any Error)?
    /// The inputs' outputs, decoded when they are first asked for by type.
    var opened: [OperationOutput?]?
  }

  /// For what runs operations, and for tests of operations.
  /// - Parameters:
  ///   - inputs: what its direct dependencies left, in order of addition.
  ///   - logger: gets the metadata `graph`, `operation` and `run`; nil: one labelled
  ///     `opcluster.operation`, made when it is asked for.
  ///   - onProgress: 0…1 and a text; called on the operation's thread, as often as it reports.
  public init(
    attempt: AttemptID, run: UInt32 = 1, name: String, graphName: String = "",
    index: UInt32? = nil, queueName: String = "", inputs: [DependencyInput] = [],
    gpus: [String] = [], home: OperationHome = .none, logger: Logger? = nil,
    scratch: OperationScratch = .none,
    onProgress: @escaping @Sendable (Double, String) -> Void = { _, _ in }
  ) {
    self.attempt = attempt
    self.run = run
    self.name = name
    self.graphName = graphName
    self.index = index
    self.queueName = queueName
    self.inputs = inputs
    self.gpus = gpus
    self.home = home
    baseLogger = logger
    self.scratch = scratch
    self.onProgress = onProgress
  }

  public var operation: OperationID { attempt.operation }

  // MARK: - Cancellation

  /// Whether it has been asked to stop. Local memory: look as often as you like (S87).
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }

  /// Throws `CancellationError` once it has been asked to stop: the short way out of `main`.
  public func checkCancellation() throws {
    if isCancelled { throw CancellationError() }
  }

  /// Has the handler called, once, when the operation is asked to stop; at once if it has been.
  /// Never after its end. It runs beside `main`, on another thread.
  public func onCancel(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if state.hasEnded { return false }
      if isCancelled { return true }
      state.handlers.append(handler)
      return false
    }
    if isLate { handler() }
  }

  /// Tells the operation that it has been cancelled: sets the flag and has the handlers called. For
  /// what runs operations, and for tests of them; repeats do nothing. An operation that wants to be
  /// cancelled asks its cluster (`cancel(reason:)` of OpCluster).
  public func deliverCancellation() {
    let handlers = state.withLock { state in
      flag.store(true, ordering: .relaxed)
      defer { state.handlers = [] }
      return state.handlers
    }
    if handlers.isEmpty { return }
    // A handler's thread is the operation's affair, not that of the one loop that brings the order.
    Task.detached { for handler in handlers { handler() } }
  }

  // MARK: - What it says

  /// Says how far it is, 0…1, with a word for people. Only the newest is told, once a second.
  public func reportProgress(_ fraction: Double, _ text: String = "") {
    guard fraction.isFinite else { return }
    onProgress(min(max(fraction, 0), 1), text)
  }

  /// A logger whose lines name the graph, the operation and the run.
  public var logger: Logger {
    var logger = baseLogger ?? Logger(label: "opcluster.operation")
    logger[metadataKey: "graph"] = "\(operation.graph.number)"
    logger[metadataKey: "operation"] = index.map { "\(name)/\($0)" } ?? "\(name)"
    logger[metadataKey: "run"] = "\(run)"
    return logger
  }

  /// The path of a folder of its own, made at the first call and removed when the attempt has
  /// ended.
  /// - Throws: what the machine has against it.
  public func scratchFolder() throws -> String {
    try state.withLock { state in
      if let folder = state.folder { return folder }
      let folder = try scratch.make()
      state.folder = folder
      return folder
    }
  }

  // MARK: - For what runs it

  /// What its body threw; nil: nothing, or it has not ended.
  public var thrownError: (any Error)? { state.withLock { $0.thrown } }

  func keep(thrown error: any Error) { state.withLock { $0.thrown = error } }

  /// The attempt is over: nothing more is called, and the folder goes.
  func end() {
    let folder = state.withLock { state in
      state.hasEnded = true
      state.handlers = []
      defer { state.folder = nil }
      return state.folder
    }
    if let folder { scratch.remove(folder) }
  }

  /// What each dependency left, decoded once; nil for what is absent or cannot be read.
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

/// Where the cluster is that runs an operation; opaque to everything but OpCluster's own way back.
public enum OperationHome: Sendable {
  /// Nowhere: the operation cannot submit others.
  case none
  /// The address that clients of the cluster connect to.
  case endpoint(String)
  /// The cluster inside this process.
  case local(any Sendable & AnyObject)
}
