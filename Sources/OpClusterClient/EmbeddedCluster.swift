// A whole cluster for the life of one program: opcoord and workers as child processes, sockets in a
// private folder, files on the disk. For commands and tests without a configured cluster; any task.

import OpClusterModel

/// A coordinator and workers that this process starts and that end with it. One that ends before,
/// such as by the kernel for want of memory, is started again: what it ran is tried again, as after
/// any loss of a worker.
public final class EmbeddedCluster: Sendable {
  /// The parts to start.
  public struct Settings: Sendable {
    /// The number of workers, 1…64; set to 0 afterwards, others join at `workerAddress`.
    public var workers: Int
    /// CPUs of each worker; nil: an equal share of the machine's, at least one.
    public var cpusPerWorker: Int?
    /// The time until everything must be ready; a minute where nothing is said.
    public var deadline: Duration
    /// The path of the program that serves as worker, called with the arguments of `opworker
    /// serve`; nil means opworker.
    public var workerExecutable: String?
    /// Is given a line about each part that has ended and is started again.
    public var told: @Sendable (String) -> Void = { _ in }
    /// The first of two free ports: the parts speak over TCP on loopback, encrypted, instead of
    /// sockets in a private folder. For measurements.
    package var loopbackPort: UInt16?
    /// The coordinator's state folder; nil means one in the cluster's folder. For measurements.
    package var state: String?
    public init(
      workers: Int = 2, cpusPerWorker: Int? = nil, deadline: Duration? = nil,
      workerExecutable: String? = nil
    ) {
      self.workers = min(max(workers, 1), 64)
      self.cpusPerWorker = cpusPerWorker
      self.deadline = deadline ?? Limits.localStart
      self.workerExecutable = workerExecutable
    }
  }

  /// Time from TERM to KILL at the end of the cluster.
  public static let grace = Duration.seconds(5)

  public let connection: ClusterConnection
  /// The address for other programs of this user.
  public var address: String { connection.address }
  /// The address for workers that this process does not start; for measurements.
  package var workerAddress: String { folder.workerAddress }
  /// The coordinator's state folder; for measurements.
  package let stateFolder: String
  private let folder: ClusterFolder
  private let supervised: SupervisedDaemons

  /// The processes of the cluster, the coordinator first; for measurements and tests.
  public var processes: [(name: String, number: Int32)] {
    supervised.daemons.map { ($0.name, $0.number) }
  }

  private init(
    connection: ClusterConnection, folder: ClusterFolder, launch: ClusterLaunch,
    told: @escaping @Sendable (String) -> Void
  ) {
    self.connection = connection
    self.folder = folder
    stateFolder = launch.state
    supervised = SupervisedDaemons(launch.daemons, told: told)
  }

  /// Starts everything and returns when all workers have joined.
  ///
  /// - Throws: `.unreachable` with the end of the daemon's log if one does not start.
  public static func start(
    _ settings: Settings = Settings()
  ) async throws(ClientError) -> EmbeddedCluster {
    var folder = try ClusterFolder.temporary()
    folder.port = settings.loopbackPort
    var launch = ClusterLaunch(
      folder: folder, state: settings.state ?? "\(folder.files)/state", attachment: .lifeline)
    do throws(ClientError) {
      let connection = try await launch.start(
        workers: settings.workers, offer: SharedOffer(cpusPerWorker: settings.cpusPerWorker),
        workerExecutable: settings.workerExecutable, deadline: settings.deadline)
      return EmbeddedCluster(
        connection: connection, folder: folder, launch: launch, told: settings.told)
    } catch {
      await launch.end(grace: .seconds(1))
      folder.remove()
      throw error
    }
  }

  /// Ends the workers, then the coordinator, and removes the folder. May be called again.
  public func end() async {
    await connection.close()
    await supervised.end(grace: Self.grace)
    folder.remove()
  }
}
