// Which coordinator a program speaks to, and who said so: the program itself, the environment, a
// configuration file, the cluster of `opbatch up`. Reads small files; any thread.

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

    /// For messages, and for `opbatch config show --origin`.
    public var text: String {
      switch self {
      case .flag: "--coordinator"
      case .environment: ClusterAddress.variable
      case .file(let path): path
      case .key(let path): "the key in \(path)"
      case .up: "opbatch up"
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
  /// file, else the one that the key was made for, else the cluster in the background; nil when
  /// there is none of them.
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
    return try BackgroundCluster.running().map { ClusterAddress(text: $0.address, origin: .up) }
  }
}
