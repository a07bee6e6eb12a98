// The cluster object of a program, for each of the three backends; queues and operations are made
// against it. ClusterPlaces.swift makes it. Any thread.

import Dispatch
import Logging
import OpClusterModel
import Synchronization

/// The place where operations run: this process, embedded daemons, or a cluster.
///
/// Code for one works on the others, except closures and `start()`, which need a local one.
public final class OperationCluster: Sendable {
  let backend: any ClusterBackend
  let book: OperationBook
  let additions = AdditionLine()
  /// Observers are called on this queue, in order, so that they may call back (S117).
  let observers = DispatchQueue(label: "opcluster.observers")
  /// The coordinator's address; nil for a cluster in this process.
  public let address: String?
  /// A type of its own: a bare function in a lock is wrapped again by each access, until calling it
  /// overflows the stack.
  private struct ErrorHandler {
    var call: (@Sendable (ClusterError, String) -> Void)?
  }
  private let errorHandler = Mutex(ErrorHandler())
  private let isClosing = Atomic(false)
  private let acceptsCycles = Atomic(false)
  private let keyStem = String(UInt64.random(in: 0 ... .max), radix: 36)
  private let lastKey = Atomic<UInt64>(0)

  init(backend: any ClusterBackend, book: OperationBook, address: String? = nil) {
    self.address = address
    self.backend = backend
    self.book = book
    book.attach(observers)
  }

  /// Whether operations may wait for each other in a cycle, as Foundation allows: then none of them
  /// becomes ready until one is cancelled, or a dependency is removed. False by default: a cycle is
  /// refused as `cycle`. Applies to operations and dependencies that this program adds afterwards;
  /// each accepted cycle is reported as a warning to the error handler. A cycle that a barrier
  /// closes when an operation enters its queue later is always refused.
  public var allowsCycles: Bool {
    get { acceptsCycles.load(ordering: .acquiring) }
    set { acceptsCycles.store(newValue, ordering: .releasing) }
  }

  /// Whether operations run in this process.
  public var isLocal: Bool { backend.local != nil }

  /// Closes the cluster: an embedded one ends with its operations, an external one continues (S5).
  /// Waiting calls throw `connectionLost`.
  public func close() async {
    isClosing.store(true, ordering: .releasing)
    await backend.close()
  }

  /// Sets the handler of errors that cannot be thrown, for example in the setter of a property; the
  /// text names the object concerned. Without a handler such errors are logged (swift-log).
  public func setErrorHandler(_ handler: (@Sendable (ClusterError, String) -> Void)?) {
    errorHandler.withLock { $0.call = handler }
  }

  func report(_ error: ClusterError, of thing: String) {
    if let handler = errorHandler.withLock({ $0.call }) { return handler(error, thing) }
    Logger(label: "opcluster").error("\(thing): \(error)")
  }

  /// Reports what ends with the cluster, unless this program closes it.
  func reportUnlessClosing(_ error: ClusterError, of thing: String) {
    if !isClosing.load(ordering: .acquiring) { report(error, of: thing) }
  }

  /// A unique key, so that a repeated message is recognised (G19).
  func newKey() -> SubmissionKey {
    SubmissionKey("\(keyStem)-\(lastKey.wrappingAdd(1, ordering: .relaxed).newValue)")
  }
}
