// Finds the coordinator of a program and the source of its address: the program itself, the
// environment, a configuration file, or a coordinator of this user on this machine. Reads small
// files; any thread.

import OpClusterFolders
import OpClusterKeys
import OpClusterModel

/// The address of a coordinator, with its source.
public struct ClusterAddress: Hashable, Sendable {
  /// The address for `ClusterConnection.connect`.
  public var text: String
  public var origin: Origin

  /// The source of the address.
  public enum Origin: Hashable, Sendable {
    /// The option `--coordinator`.
    case flag
    case environment
    /// A configuration file, with its path.
    case file(String)
    /// The invitation from which our key was made, with the key's folder.
    case key(String)
    /// The cluster in the background.
    case up
    /// A coordinator that this user runs on this machine, with its journal in the default place.
    case serving

    /// The source as text, for messages and for `opbatch config show --origin`.
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

  /// Returns the address of the configured cluster; nil if none is configured and none was started
  /// with `opbatch up`.
  ///
  /// - Throws: `.badConfiguration` if a configuration file cannot be understood.
  public static func configured() throws(ClientError) -> String? { try find()?.text }

  /// Returns the address to use: `flag`, else the environment, else the user's or the machine's
  /// configuration file, else the address of our key, else the cluster in the background, else the
  /// coordinator that this user runs on this machine; nil if there is none.
  ///
  /// - Throws: `.badConfiguration` if a configuration file cannot be understood, our key cannot be
  ///   used, or others could have made the folder of the cluster in the background.
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
    if let address = try address(ofKeyIn: try ClusterKeys.folder(keys)) { return address }
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

  /// A key that cannot be used is an error: whoever has one means its cluster, and no other.
  private static func address(
    ofKeyIn folder: KeyFolder
  ) throws(ClientError) -> ClusterAddress? {
    do throws(KeyError) {
      guard let own = try folder.own(), let text = own.coordinator, own.role != .worker else {
        return nil
      }
      return ClusterAddress(text: text, origin: .key(folder.path))
    } catch {
      throw ClientError(error)
    }
  }
}
