// A cluster as a program holds it: where operations run. One object for each of the three backends;
// queues and operations are made against it. Any thread.

import Dispatch
import Logging
public import OpClusterClient
import OpClusterLocal
import OpClusterModel
public import OpClusterOperations
import Synchronization

/// Where operations run: in this process, in daemons of our own, or on a cluster.
///
/// What works on one works on the others, except closures and `start()`, which need a local one.
public final class OperationCluster: Sendable {
  let backend: any ClusterBackend
  let book: OperationBook
  /// Observers are called here, in order, so that they may call back (S117).
  let observers = DispatchQueue(label: "opcluster.observers")
  /// The coordinator's address; nil for a cluster in this process.
  public let address: String?
  /// In a value of its own: a bare function in a lock is wrapped anew at each look, until calling
  /// it overflows the stack.
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

  /// The cluster in this process that queues use if they are told no other.
  public static let inProcess = OperationCluster.local()

  /// A cluster in this process: no daemon, no socket, no disk; gone with the process.
  ///
  /// - Parameters:
  ///   - types: Operation types that others may name; those of values that are added here become
  ///     known by themselves.
  ///   - slots: Operations that run at once; the number of processors unless said otherwise.
  ///   - labels: What operations and queues may ask for (`OperationSettings.requirements`,
  ///     `ClusterOperationQueue.pool`): this process stands for one worker.
  public static func local(
    types: [any RegisteredOperation.Type] = [], slots: Int? = nil, labels: [String: String] = [:]
  ) -> OperationCluster {
    var registry = OperationRegistry()
    for type in types { registry.add(type) }
    let cluster = LocalCluster(
      registry: registry, slots: slots ?? LocalCluster.defaultSlots,
      labels: labels.sorted { $0.key < $1.key }.map { Label(key: $0.key, value: $0.value) })
    let book = OperationBook()
    cluster.observe { book.take($0) }
    cluster.observeErrors { book.take(thrown: $1, by: $0) }
    let object = OperationCluster(backend: LocalBackend(cluster: cluster), book: book)
    LocalHomes.shared.register(object, for: cluster)
    return object
  }

  /// The door for operations that want a process of their own (`OperationIsolation.child`) on a
  /// cluster in this process: such an operation runs in a child that is this program once more.
  ///
  ///     @main struct Converter {
  ///       static func main() async throws {
  ///         OperationCluster.runAsChildIfAsked(types: [Decode.self])
  ///         …
  ///
  /// To be called first in `main`. In the program itself it returns at once; in a child it runs
  /// what it is told to, and never returns. Without it, or for a type that is not in its list,
  /// adding such an operation to a cluster in this process throws `badRequest`, which says so;
  /// clusters of workers need none of this. What the operation prints is not the program's output,
  /// and it cannot reach the program's cluster (`context.cluster()` throws).
  ///
  /// - Parameter types: All types of isolation `.child` that this program runs in its own name.
  public static func runAsChildIfAsked(types: [any RegisteredOperation.Type]) {
    var registry = OperationRegistry()
    for type in types { registry.add(type) }
    LocalCluster.runAsChildIfAsked(registry)
  }

  /// A coordinator and workers of our own on this machine, over private sockets; they end with
  /// `close()`, or with this process however it ends.
  ///
  /// - Throws: `unreachable` with the end of a daemon's log if one does not come up.
  public static func embedded(
    _ settings: EmbeddedCluster.Settings = EmbeddedCluster.Settings()
  ) async throws(ClusterError) -> OperationCluster {
    do throws(ClientError) {
      let embedded = try await EmbeddedCluster.start(settings)
      return remote(embedded.connection, embedded: embedded)
    } catch {
      throw ClusterError(error)
    }
  }

  /// A cluster by the address of its coordinator.
  ///
  /// - Parameter address: `tcp://HOST:PORT` or `ipc:///PATH`; nil: the one that is configured
  ///   (`OPBATCH_COORDINATOR`, the configuration file, the one that `opbatch up` started, or one
  ///   that this user serves on this machine).
  /// - Parameter keys: The folder of our key, for TCP; nil: the one that is configured
  ///   (`OPBATCH_KEYS`, the configuration file, or `$XDG_CONFIG_HOME/opcluster/keys`).
  /// - Throws: `unreachable`, `badAddress`, `badConfiguration` without a key or with one that
  ///   others can read, `keyRefused`, `wrongServerKey`, `versionMismatch`, `forbidden`.
  public static func connect(
    to address: String? = nil, keys: String? = nil
  ) async throws(ClusterError) -> OperationCluster {
    do throws(ClientError) {
      let configured = address == nil ? try ClusterAddress.find(keys: keys)?.text : address
      guard let address = configured else {
        throw ClientError(
          .unreachable, "no cluster is configured",
          hint: "give an address, set OPBATCH_COORDINATOR, or use OperationCluster.embedded()")
      }
      return remote(try await ClusterConnection.connect(to: address, keys: keys), embedded: nil)
    } catch {
      throw ClusterError(error)
    }
  }

  static func remote(
    _ connection: ClusterConnection, embedded: EmbeddedCluster?
  ) -> OperationCluster {
    let book = OperationBook()
    let backend = RemoteBackend(connection, embedded: embedded, book: book)
    let cluster = OperationCluster(backend: backend, book: book, address: connection.address)
    book.reportLosses { [weak cluster] error in
      guard let cluster, !cluster.isClosing.load(ordering: .acquiring) else { return }
      cluster.report(error, of: "the cluster at \(connection.address)")
    }
    return cluster
  }

  /// Whether operations may wait for each other in a circle, as Foundation's may: then none of them
  /// becomes ready until one is cancelled, or a dependency is taken back. Off unless set: a circle
  /// is refused as `cycle`. Counts for the operations and dependencies that this program adds
  /// from then on, and is told as a warning where the cluster's errors go. A circle that a barrier
  /// closes when something enters its queue later is refused in any case.
  public var allowsCycles: Bool {
    get { acceptsCycles.load(ordering: .acquiring) }
    set { acceptsCycles.store(newValue, ordering: .releasing) }
  }

  /// Whether operations run in this process.
  public var isLocal: Bool { backend.local != nil }

  /// Lets go of the cluster: an own one ends with what runs on it, another goes on (S5). Who waits
  /// for something on it is told that the connection is lost.
  public func close() async {
    isClosing.store(true, ordering: .releasing)
    await backend.close()
  }

  /// Takes what goes wrong where nothing can be thrown, such as in the setter of a property; with
  /// the thing concerned. Unless it is set, such errors are logged (swift-log).
  public func setErrorHandler(_ handler: (@Sendable (ClusterError, String) -> Void)?) {
    errorHandler.withLock { $0.call = handler }
  }

  func report(_ error: ClusterError, of thing: String) {
    if let handler = errorHandler.withLock({ $0.call }) { return handler(error, thing) }
    Logger(label: "opcluster").error("\(thing): \(error)")
  }

  /// A name that no other submission has, so that a repeated message is recognised (G19).
  func newKey() -> SubmissionKey {
    SubmissionKey("\(keyStem)-\(lastKey.wrappingAdd(1, ordering: .relaxed).newValue)")
  }
}
