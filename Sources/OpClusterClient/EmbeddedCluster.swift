// A whole cluster for as long as one program runs: opcoord and workers as children, over sockets
// in a private folder, and files on the disk. Used by commands and tests that need no configured
// cluster; any task.

/// A coordinator and workers that this process started and that end with it.
public final class EmbeddedCluster: Sendable {
  /// What to start.
  public struct Settings: Sendable {
    /// 1…64.
    public var workers: Int
    /// CPUs that each worker offers; nil: those of the machine, shared out, at least one.
    public var cpusPerWorker: Int?
    /// Time for all of it to be ready.
    public var deadline: Duration
    /// The path of the program that serves as worker, with the arguments of `opworker serve`; nil:
    /// opworker itself.
    public var workerExecutable: String?
    public init(
      workers: Int = 2, cpusPerWorker: Int? = nil, deadline: Duration = .seconds(15),
      workerExecutable: String? = nil
    ) {
      self.workers = min(max(workers, 1), 64)
      self.cpusPerWorker = cpusPerWorker
      self.deadline = deadline
      self.workerExecutable = workerExecutable
    }
  }

  /// TERM to KILL when the cluster ends.
  public static let grace = Duration.seconds(5)

  public let connection: ClusterConnection
  /// Where other programs of this user can connect to while it lives.
  public var address: String { connection.address }
  private let folder: ClusterFolder
  private let daemons: [DaemonProcess]

  /// The processes it consists of, the coordinator first; for measurements and for tests.
  public var processes: [(name: String, number: Int32)] {
    daemons.map { ($0.name, $0.number) }
  }

  private init(
    connection: ClusterConnection, folder: ClusterFolder, daemons: [DaemonProcess]
  ) {
    self.connection = connection
    self.folder = folder
    self.daemons = daemons
  }

  /// Starts everything and returns when all workers have joined.
  ///
  /// - Throws: `.unreachable` with the end of the daemon's log if one does not come up.
  public static func start(
    _ settings: Settings = Settings()
  ) async throws(ClientError) -> EmbeddedCluster {
    let folder = try ClusterFolder.temporary()
    var launch = ClusterLaunch(
      folder: folder, state: "\(folder.files)/state", attachment: .lifeline)
    do throws(ClientError) {
      let connection = try await launch.start(
        workers: settings.workers, offer: SharedOffer(cpusPerWorker: settings.cpusPerWorker),
        workerExecutable: settings.workerExecutable, deadline: settings.deadline)
      return EmbeddedCluster(connection: connection, folder: folder, daemons: launch.daemons)
    } catch {
      await launch.end(grace: .seconds(1))
      folder.remove()
      throw error
    }
  }

  /// Ends the workers, then the coordinator, and removes the folder. Safe to call again.
  public func end() async {
    await connection.close()
    await ClusterLaunch.end(daemons, grace: Self.grace)
    folder.remove()
  }
}
