// The operation as a Swift programmer holds it. The object is a handle with a mirror: the operation
// itself lives in a cluster (or in the local one) from the moment it is added to a queue, and goes
// on without the object and without this program (S5). Any thread.

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
/// What may be said before it is added is in `settings` and the properties beside it. Everything
/// read here is read from a mirror without waiting; after a call to the cluster has returned, its
/// effect is in the mirror (S3).
public final class ClusterOperation: Sendable {
  /// Order inside one queue (S47).
  public typealias QueuePriority = Priority
  /// Order between queues, and the scheduling class of the job (S55, S60).
  public typealias QualityOfService = OpClusterModel.QualityOfService
  /// How an operation ended (S18).
  public typealias Outcome = OpClusterModel.Outcome
  /// When a finished dependency lets its dependent go on (S22).
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
      .closure(.returning { try OutputValue.encode(try await body($0)) }), name: name)
  }

  /// Runs a closure that needs no context and leaves a value for dependents.
  public convenience init<Value: Codable & Sendable>(
    name: String? = nil, returning body: @escaping @Sendable () async throws -> Value
  ) {
    self.init(name: name, returning: { (_: OperationContext) in try await body() })
  }

  /// A fresh operation that runs the same with the same settings, without dependencies: an
  /// operation itself runs once (S11). Closures are let go of at the end: a clone that is made
  /// afterwards cannot be added.
  public func clone() -> ClusterOperation {
    let (work, settings) = life.withLock { ($0.work, $0.settings) }
    let copy = ClusterOperation(work)
    copy.life.withLock { $0.settings = settings }
    return copy
  }

  // MARK: - Who it is

  /// Its number in the cluster; nil before it is known there.
  public var id: OperationID? { life.withLock { $0.id } }

  /// What can be said before it is added; later changes of this value have no effect.
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

  /// For people, and for dependents that read outputs by name. Changes count until it is added.
  public var name: String? {
    get { settings.name }
    set { settings.name = newValue }
  }

  /// Nothing of it starts before this moment (S150). Changes count until it is added.
  public var notBefore: NotBefore? {
    get { settings.notBefore }
    set { settings.notBefore = newValue }
  }

  /// Changes count until it is added (S55).
  public var qualityOfService: QualityOfService {
    get { settings.qualityOfService ?? .default }
    set { settings.qualityOfService = newValue }
  }

  /// Informative only: queues ignore it, as in Foundation (S130).
  public var isAsynchronous: Bool { settings.isAsynchronous }

  /// The queue that it was added to. After the end an operation does not keep it: nil when nobody
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
  /// It was asked to stop, whether it does or not (S87).
  public var isCancelled: Bool { life.withLock { $0.isCancelled } }
  /// Nothing of it starts until `release()`, or until its `notBefore` has come (S44, S150).
  public var isHeld: Bool { life.withLock { $0.isHeld } }
  /// How it ended; nil while it has not.
  public var outcome: Outcome? { life.withLock { $0.outcome } }
  /// What its body threw, itself, not its description: of an operation that failed on a cluster in
  /// this process. nil elsewhere: an error does not travel to another process, its text does
  /// (`result()`).
  public var error: (any Error)? {
    life.withLock { $0.outcome == nil || $0.outcome == .succeeded ? nil : $0.thrown }
  }
  /// Why it was cancelled or skipped; nil: it was not.
  public var cancelReason: CancelReason? { life.withLock { $0.cancelReason } }
  /// Which run is the newest, from 1, as people count; 0 before the first (S12).
  public var run: UInt32 { life.withLock { $0.run } }
  /// What it depends on, finished ones included, in order of addition (S38).
  public var dependencies: [ClusterOperation] {
    life.withLock { $0.dependencies.map(\.operation) }
  }

  /// All flags at one moment: never executing and finished both (S9).
  public var flags: OperationFlags {
    let (flags, dependencies) = life.withLock { life in
      let flags = OperationFlags(
        isReady: life.isCancelled || (life.isReady && !life.isHeld), isExecuting: life.isExecuting,
        isFinished: life.isFinished,
        isCancelled: life.isCancelled)
      return (flags, life.ownDependencies)
    }
    guard let dependencies else { return flags }
    // Outside of the lock: these have locks of their own, and may depend on this one.
    var fresh = flags
    fresh.isReady = flags.isReady && dependencies.allSatisfy(\.isFinished)
    return fresh
  }

  /// Called once after it has finished, for cancelled ones as well, on any thread, never on the
  /// slot of a queue; dependents do not wait for it (S109, S110). Set after the end it is never
  /// called (S113).
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
