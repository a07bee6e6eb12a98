// The places where a cluster can be: this process, daemons of its own on this machine, or behind an
// address. Each puts a backend under the same object. Any thread.

public import OpClusterClient
import OpClusterLocal
import OpClusterModel
public import OpClusterOperations

extension OperationCluster {
  /// The cluster in this process that queues use by default.
  public static let inProcess = OperationCluster.local()

  /// A cluster in this process: no daemon, no socket, no disk; it ends with the process.
  ///
  /// - Parameters:
  ///   - types: Operation types that others may name; the types of added values are registered
  ///     automatically.
  ///   - slots: The number of operations that run at once; by default the number of processors.
  ///   - labels: The labels that operations and queues may require
  ///     (`OperationSettings.requirements`, `ClusterOperationQueue.pool`): this process counts as
  ///     one worker.
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

  /// The entry for operations that need a process of their own (`OperationIsolation.child`) on a
  /// cluster in this process: such an operation runs in a child that executes this program again.
  ///
  ///     @main struct Converter {
  ///       static func main() async throws {
  ///         OperationCluster.runAsChildIfAsked(types: [Decode.self])
  ///         …
  ///
  /// Call it first in `main`. In the program itself it returns at once; in a child it runs the
  /// requested operation, and never returns. Without the call, or for a type that is not in its
  /// list, adding such an operation to a cluster in this process throws `badRequest` with this
  /// explanation; clusters of workers do not need it. The operation's output is not the program's
  /// output, and it cannot reach the program's cluster (`context.cluster()` throws).
  ///
  /// - Parameter types: All types of isolation `.child` that this program runs itself.
  public static func runAsChildIfAsked(types: [any RegisteredOperation.Type]) {
    var registry = OperationRegistry()
    for type in types { registry.add(type) }
    LocalCluster.runAsChildIfAsked(registry)
  }

  /// An own coordinator and own workers on this machine, over private sockets; they end with
  /// `close()`, or with this process, even after a crash.
  ///
  /// - Throws: `unreachable` with the end of a daemon's log if one does not start.
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

  /// Connects to a cluster by the address of its coordinator.
  ///
  /// - Parameter address: `tcp://HOST:PORT` or `ipc:///PATH`; nil: the configured one
  ///   (`OPBATCH_COORDINATOR`, the configuration file, the one that `opbatch up` started, or one
  ///   that this user serves on this machine).
  /// - Parameter keys: The folder of this program's key, for TCP; nil: the configured one
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
      cluster?.reportUnlessClosing(error, of: "the cluster at \(connection.address)")
    }
    return cluster
  }
}
