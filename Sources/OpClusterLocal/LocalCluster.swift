// The scheduler and the execution core in one process: operations and queues without a daemon, a
// socket or a journal. Any thread may call it; it has no thread of its own for decisions.

public import FoundationEssentials
import Glibc
import OpClusterAttempts
public import OpClusterModel
public import OpClusterOperations
import OpClusterSystem
import Synchronization

/// A cluster inside this process.
///
/// Requests have the same meaning, and the same refusals, as at a coordinator. Decisions are made
/// on the thread that sends a request, or on one that has just run an operation: a thread that
/// finds nobody deciding decides for all.
///
/// Observers and completions are called on such a thread. They may call back, but must not block
/// until another decision is made: no other thread would make it.
public final class LocalCluster: Sendable {
  let inbox = Inbox()
  let brains: Mutex<Brains>
  let registry: Mutex<OperationRegistry>
  let running = RunningAttempts()
  let idle = IdleRunners()
  let short = ShortStarts()
  let scratch = StepperScratch()
  let executors = CommandExecutors()
  let alarm = Alarm()
  let values = LocalValues()
  let threads: OperationThreads
  /// Whether any known type needs a process of its own.
  private let knowsIsolated: Atomic<Bool>
  private let observer = Mutex(Observer())

  /// A type of its own: a bare closure would be wrapped again by each access.
  private struct Observer {
    var handler: (@Sendable ([EventRun]) -> Void)?
    var errors: (@Sendable (OperationID, any Error) -> Void)?
  }

  /// - Parameters:
  ///   - registry: The operation types known from the start.
  ///   - slots: The number of operations that run at once if their queue has no lower limit (S64),
  ///     1 to 4,096; by default the number of processors, at least 2. A program whose operations
  ///     mostly wait may use more.
  ///   - labels: The labels of the worker, for operations and queues that require them.
  public init(
    registry: OperationRegistry = OperationRegistry(), slots: Int = LocalCluster.defaultSlots,
    labels: [Label] = []
  ) {
    self.registry = Mutex(registry)
    knowsIsolated = Atomic(registry.hasIsolated)
    let now = Instant(nanoseconds: MonotonicClock.now())
    let types = registry.types + [OperationRegistry.closureType]
    let slots = min(max(slots, 1), LocalCluster.maximumSlots)
    threads = OperationThreads(most: slots)
    brains = Mutex(Brains(types: types, slots: slots, labels: labels, at: now))
    alarm.atDeadline { [weak self] in self?.look() }
  }

  deinit {
    alarm.end()
    executors.end()
  }

  /// Sends a request. `completion` is called exactly once, possibly before this returns. Requests
  /// of one thread take effect in order.
  public func send(
    _ request: ClientRequest,
    completion: @escaping @Sendable (Result<ClientReply, Refusal>) -> Void
  ) {
    if case .submit(let submission) = request {
      if let refusal = isolationRefusal(submission) { return completion(.failure(refusal)) }
      short.noteAddition(at: MonotonicClock.now())
    }
    if !post(.request(request, completion)) { completion(.failure(Self.closedRefusal)) }
  }

  /// Sets the only observer, before the first request. It is called with the events of a turn, in
  /// order and in runs, before the completions of that turn's requests, and never by two threads at
  /// once.
  public func observe(_ handler: @escaping @Sendable ([EventRun]) -> Void) {
    observer.withLock { $0.handler = handler }
    brains.withLock { $0.isObserved = true }
  }

  /// Sets the observer of errors thrown by operations; it is called before the end is reported.
  /// Errors of blocks and children are only texts and are not passed.
  public func observeErrors(_ handler: @escaping @Sendable (OperationID, any Error) -> Void) {
    observer.withLock { $0.errors = handler }
  }

  /// Registers an operation type; a later one replaces one with the same name and version.
  public func register<Operation: RegisteredOperation>(_ type: Operation.Type) {
    registry.withLock { registry in
      registry.add(type)
      if registry.hasIsolated { knowsIsolated.store(true, ordering: .releasing) }
    }
    post(.typesChanged)
  }

  /// The bytes of a value that is too large for a message; nil: it has been dropped.
  public func value(of content: StoredContent) -> Data? { values.find(content.digest) }

  /// Where the bytes of a file are; nil: it is a value, or has been dropped.
  public func path(of content: StoredContent) -> String? { values.path(of: content.digest) }

  /// The result with a large value among the values. What the operation has left among them goes
  /// if it came to nothing.
  func keepingValue(of result: AttemptResult, _ context: OperationContext) -> AttemptResult {
    let result = result.fittingMessages { [values] in values.keep($0) }.result
    if !result.isSuccess { values.drop(context.keptFiles.map(\.digest)) }
    return result
  }

  /// The types that the worker announces.
  var announcedTypes: [OperationType] {
    registry.withLock { $0.types } + [OperationRegistry.closureType]
  }

  /// Whether operations of a type run in children of this process.
  func isIsolated(_ type: OperationType) -> Bool {
    knowsIsolated.load(ordering: .acquiring)
      && registry.withLock { $0.isolation(of: type) } == .child
  }

  /// Refuses operations that need a process of their own if none can be started, before adding
  /// them.
  private func isolationRefusal(_ submission: GraphSubmission) -> Refusal? {
    guard knowsIsolated.load(ordering: .acquiring) else { return nil }
    for template in submission.templates {
      for type in template.work.calledTypes where isIsolated(type) {
        guard let objection = CommandExecutor.objection(to: type) else { continue }
        return Refusal(
          .badRequest, objection,
          hint: "make that call the first line of main, or add it to a cluster of workers")
      }
    }
    return nil
  }

  /// Keeps a closure for one operation (S124). The number, in decimal digits, is the argument of an
  /// operation of the type `OperationRegistry.closureType`, or of one element of an array of it.
  /// The closure is released when that operation has finished.
  public func register(
    closure: @escaping @Sendable (OperationContext) async throws -> [UInt8]
  ) -> UInt64 {
    registry.withLock { $0 }.add(encodingClosure: closure)
  }

  /// Refuses new requests, cancels all operations, and returns when nothing runs.
  public func close() async {
    inbox.close()
    await withCheckedContinuation { continuation in
      _ = post(.close { continuation.resume() })
    }
    executors.end()
  }

  /// The number of processors, at least 2.
  public static var defaultSlots: Int { max(2, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
  static let maximumSlots = 4_096
  /// The queue whose operations run on the main thread. Its blocks and commands run elsewhere.
  public static let mainQueueName = ":main"
  static let closedRefusal = Refusal(
    .shuttingDown, "the local cluster has been closed", hint: "make a new one")

  /// Reports the error of an attempt that has run in this process.
  func tellError(of context: OperationContext, _ result: AttemptResult) {
    if result.isSuccess { return }
    guard let error = context.thrownError, let handler = observer.withLock({ $0.errors }) else {
      return
    }
    handler(context.operation, error)
  }

  /// Calls the observer; only the stepper does.
  func tell(_ events: [EventRun]) {
    if let handler = observer.withLock({ $0.handler }) { handler(events) }
  }
}

extension Work {
  fileprivate var calledTypes: [OperationType] {
    switch self {
    case .nothing, .command: []
    case .call(let type): [type]
    case .blocks(let types): types
    }
  }
}
