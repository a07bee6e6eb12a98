// The operation object of a program: a handle with a mirror. The operation itself lives in a
// cluster (or the local one) from the moment it is added to a queue, and continues without the
// object and without this program (S5). Any thread.

public import OpClusterModel
public import OpClusterOperations
import OpClusterWire
import Synchronization

/// One unit of work that runs once: the counterpart of Foundation's `Operation`.
///
///     let load = ClusterOperation(LoadImage(path: "in.png"))
///     let shift = ClusterOperation(TiltShift(radius: 8))
///     try shift.addDependency(load)
///     try await queue.addOperations([load, shift])
///     let picture = try await shift.output(of: TiltShift.self)
///
/// Before the operation is added, configure it by `settings` and related properties. Everything
/// read here comes from a mirror without waiting; after a call to the cluster has returned, the
/// mirror contains its effect (S3).
public final class ClusterOperation: Sendable {
  /// Order inside one queue (S47).
  public typealias QueuePriority = Priority
  /// Order between queues, and the scheduling class of the job (S55, S60).
  public typealias QualityOfService = OpClusterModel.QualityOfService
  /// The end of an operation (S18).
  public typealias Outcome = OpClusterModel.Outcome
  /// The condition under which a finished dependency releases its dependent (S22).
  public typealias Condition = EdgePolicy

  let life: Mutex<OperationLife>

  init(_ work: OperationWork, name: String? = nil) {
    var settings = OperationSettings()
    settings.name = name
    if case .call(let invocation) = work { settings.isAsynchronous = invocation.isAsynchronous }
    life = Mutex(OperationLife(settings: settings, work: work))
  }

  /// An operation with nothing to run: a join point (S4).
  public convenience init(name: String? = nil) { self.init(.nothing, name: name) }

  /// Runs a value of a registered type on a worker that has the type (S125).
  public convenience init<Body: RegisteredOperation>(_ body: Body, name: String? = nil) {
    self.init(.call(OperationWork.Invocation(body)), name: name)
  }

  /// Runs a process.
  public convenience init(_ command: ClusterCommand, name: String? = nil) {
    self.init(.command(command.specification), name: name)
  }

  /// Runs a closure in this process: local clusters only; adding it anywhere else throws
  /// `localOnly` (S124).
  public convenience init(name: String? = nil, _ body: @escaping OperationClosure) {
    self.init(.closure(.plain(body)), name: name)
  }

  /// Runs a closure that needs no context (S124).
  public convenience init(name: String? = nil, _ body: @escaping PlainClosure) {
    self.init(name: name) { _ in try await body() }
  }

  /// Runs a closure in this process that leaves a value for dependents.
  public convenience init<Value: Codable & Sendable>(
    name: String? = nil,
    returning body: @escaping @Sendable (OperationContext) async throws -> Value
  ) {
    self.init(
      .closure(.returning { try await OutputValue.encode(body($0), leftBy: $0) }), name: name)
  }

  /// Runs a closure that needs no context and leaves a value for dependents.
  public convenience init<Value: Codable & Sendable>(
    name: String? = nil, returning body: @escaping @Sendable () async throws -> Value
  ) {
    self.init(name: name, returning: { (_: OperationContext) in try await body() })
  }

  /// A block operation without blocks; if none are added, it finishes at once (S121).
  public static func blocks(name: String? = nil) -> ClusterOperation {
    ClusterOperation(.blocks([]), name: name)
  }

  /// A new operation that runs the same work with the same settings, without dependencies: an
  /// operation itself runs only once (S11). Closures are released at the end: a clone made
  /// afterwards cannot be added.
  public func clone() -> ClusterOperation {
    let (work, settings) = life.withLock { ($0.work, $0.settings) }
    let copy = ClusterOperation(work)
    copy.life.withLock { $0.settings = settings }
    return copy
  }

  // MARK: - Who it is

  /// Its number in the cluster; nil before the cluster knows it.
  public var id: OperationID? { life.withLock { $0.id } }

  /// The settings before it is added; later changes of this value have no effect.
  public var settings: OperationSettings {
    get { life.withLock { $0.settings } }
    set {
      life.withLock { life in
        guard case .fresh = life.stage else { return }
        life.settings = newValue
        life.isHeld = newValue.isHeld || newValue.isDelayed
      }
    }
  }

  /// For people, and for dependents that read outputs by name. Changes take effect until it is
  /// added.
  public var name: String? {
    get { settings.name }
    set { settings.name = newValue }
  }

  /// The earliest moment of its start (S150). Changes take effect until it is added.
  public var notBefore: NotBefore? {
    get { settings.notBefore }
    set { settings.notBefore = newValue }
  }

  /// Changes take effect until it is added (S55).
  public var qualityOfService: QualityOfService {
    get { settings.qualityOfService ?? .default }
    set { settings.qualityOfService = newValue }
  }

  /// Informative only: queues ignore it, as in Foundation (S130).
  public var isAsynchronous: Bool { settings.isAsynchronous }

  /// The queue that it was added to. A finished operation does not keep its queue: nil if nothing
  /// else does.
  public var queue: ClusterOperationQueue? { life.withLock { $0.newestQueue }?.handle }

  // MARK: - Where it stands

  /// No unfinished dependency, no hold, no barrier ahead, or cancelled (S42); true from then on.
  public var isReady: Bool {
    flags.isReady
  }
  /// From the start of its first attempt to its end, retries included (S12).
  public var isExecuting: Bool { life.withLock { $0.isExecuting } }
  /// No more work will be done; says nothing of success (S18).
  public var isFinished: Bool { life.withLock { $0.isFinished } }
  /// Whether it was asked to stop, even if it does not (S87).
  public var isCancelled: Bool { life.withLock { $0.isCancelled } }
  /// Whether it is held until `release()`, or until its `notBefore` (S44, S150).
  public var isHeld: Bool { life.withLock { $0.isHeld } }
  /// The outcome; nil before the end.
  public var outcome: Outcome? { life.withLock { $0.outcome } }
  /// The error that its body threw, as a value, if it failed on a cluster in this process. nil
  /// elsewhere: only the text of an error travels to another process (`result()`).
  public var error: (any Error)? {
    life.withLock { $0.outcome == nil || $0.outcome == .succeeded ? nil : $0.thrown }
  }
  /// The reason why it was cancelled or skipped; nil if it was not.
  public var cancelReason: CancelReason? { life.withLock { $0.cancelReason } }
  /// The number of the newest run for people, from 1; 0 before the first (S12).
  public var run: UInt32 { life.withLock { $0.run } }
  /// Its dependencies, including finished ones, in order of addition (S38).
  public var dependencies: [ClusterOperation] {
    life.withLock { $0.dependencies.map(\.operation) }
  }

  /// All flags at one moment: never executing and finished at once (S9).
  public var flags: OperationFlags {
    let (flags, dependencies) = life.withLock { life in
      let flags = OperationFlags(
        isReady: life.isCancelled || (life.isReady && !life.isHeld), isExecuting: life.isExecuting,
        isFinished: life.isFinished,
        isCancelled: life.isCancelled)
      return (flags, life.ownDependencies)
    }
    guard let dependencies else { return flags }
    // Outside of the lock: dependencies have locks of their own, and may depend on this operation.
    var fresh = flags
    fresh.isReady = flags.isReady && dependencies.allSatisfy(\.isFinished)
    return fresh
  }

  /// Called once after it has finished, also if cancelled, on any thread, never in the slot of a
  /// queue; dependents do not wait for it (S109, S110). If set after the end it is never called
  /// (S113).
  public var completionBlock: (@Sendable () -> Void)? {
    get { life.withLock { $0.completion } }
    set { life.withLock { if !$0.hasCompleted { $0.completion = newValue } } }
  }
}

/// The four flags of an operation at one moment.
public struct OperationFlags: Hashable, Sendable {
  public var isReady: Bool
  public var isExecuting: Bool
  public var isFinished: Bool
  public var isCancelled: Bool
}

extension ClusterOperation {
  /// The name by which dependents find it.
  var templateName: String { life.withLock { $0.settings.name ?? $0.work.defaultName } }
}

extension ClusterOperation: Hashable, CustomStringConvertible {
  public static func == (a: ClusterOperation, b: ClusterOperation) -> Bool { a === b }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  public var description: String {
    life.withLock { life in
      let name = life.settings.name ?? life.work.defaultName
      return life.id.map { "\(name) (\($0.graph.number)/\($0.index))" } ?? name
    }
  }
}
