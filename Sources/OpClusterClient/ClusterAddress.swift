// Which coordinator a program speaks to, and who said so: the program itself, the environment, a
// configuration file, a coordinator of this user on this machine. Reads small files; any thread.

import OpClusterFolders
import OpClusterKeys
import OpClusterModel

/// A coordinator that somebody named.
public struct ClusterAddress: Hashable, Sendable {
  /// What `ClusterConnection.connect` takes.
  public var text: String
  public var origin: Origin

  /// Who named it.
  public enum Origin: Hashable, Sendable {
    /// The option `--coordinator`.
    case flag
    case environment
    /// With its path.
    case file(String)
    /// The invitation that a key was made by, with the key's folder.
    case key(String)
    /// The cluster in the background.
    case up
    /// A coordinator that this user runs on this machine, with its journal where it is if nobody
    /// says otherwise.
    case serving

    /// For messages, and for `opbatch config show --origin`.
    public var text: String {
      switch self {
      case .flag: "--coordinator"
      case .environment: ClusterAddress.variable
      case .file(let path): path
      case .key(let path): "the key in \(path)"
      case .up: "opbatch up"
      case .serving: "opcoord serve of this user on this machine"
      }
    }
  }

  /// The variable of the environment.
  public static let variable = "OPBATCH_COORDINATOR"

  /// The address of the cluster that is configured; nil when nobody named one and none was started
  /// with `opbatch up`.
  ///
  /// - Throws: `.badConfiguration` when a configuration file cannot be understood.
  public static func configured() throws(ClientError) -> String? { try find()?.text }

  /// The one to use: `flag`, else the environment, else the user's or the machine's configuration
  /// file, else the one that the key was made for, else the cluster in the background, else the
  /// coordinator that this user runs on this machine; nil when there is none of them.
  ///
  /// - Throws: `.badConfiguration` when a configuration file cannot be understood, or others could
  ///   have made the folder of the cluster in the background.
  public static func find(
    flag: String? = nil, keys: String? = nil
  ) throws(ClientError) -> ClusterAddress? {
    if let flag { return ClusterAddress(text: flag, origin: .flag) }
    if let text = ClusterFolder.variable(variable) {
      return ClusterAddress(text: text, origin: .environment)
    }
    for path in ConfigurationFile.paths {
      guard let settings = try ClientConfiguration.read(path) else { continue }
      if let text = settings["coordinator"] {
        return ClusterAddress(text: text, origin: .file(path))
      }
    }
    let folder = try ClusterKeys.folder(keys)
    // A key that cannot be used is spoken of when it is needed.
    if let own = try? folder.own(), let text = own.coordinator, own.role != .worker {
      return ClusterAddress(text: text, origin: .key(folder.path))
    }
    if let cluster = try BackgroundCluster.running() {
      return ClusterAddress(text: cluster.address, origin: .up)
    }
    do throws(FolderError) {
      return try CoordinatorRecord.current()
        .map { ClusterAddress(text: $0.client, origin: .serving) }
    } catch {
      throw ClientError(error, advice: "name the coordinator with --coordinator")
    }
  }
}
