// The folders of a cluster of our own: its sockets, and on the disk its logs, scratch folders and
// state. Also finds the daemons' programs. File system only; any thread.

import FoundationEssentials
import Glibc
import OpClusterFolders
import OpClusterModel
import OpClusterSystem

/// The private folders (0700) of our own cluster, with the addresses and paths inside them.
package struct ClusterFolder: Sendable {
  /// The folder of the sockets alone: short, and in memory on many machines.
  var path: String
  /// The folder for everything that grows.
  var files: String
  /// The lock that marks the files as used; nil if the files stay.
  private var use: FolderLock?

  init(path: String, files: String? = nil) {
    self.path = path
    self.files = files ?? path
  }

  /// The first of two ports on loopback, with encryption; nil means sockets in the folder.
  var port: UInt16?

  var clientAddress: String { port.map { "tcp://127.0.0.1:\($0)" } ?? "ipc://\(path)/client" }
  var workerAddress: String {
    port.map { "tcp://127.0.0.1:\(UInt32($0) + 1)" } ?? "ipc://\(path)/worker"
  }
  /// The folder of the keys that all programs of the cluster share; nil without encryption.
  var keys: String? { port == nil ? nil : "\(files)/keys" }
  func log(of name: String) -> String { "\(files)/\(name).log" }
  func scratch(of worker: Int) -> String { "\(files)/scratch-\(worker)" }

  /// Makes fresh folders that live as long as the process. The path of the sockets is short: the
  /// kernel limits it to 107 bytes.
  static func temporary() throws(ClientError) -> ClusterFolder {
    var folder = ClusterFolder(path: try temporarySockets())
    do throws(FolderError) {
      try folder.makeTemporaryFiles()
    } catch {
      // Without a usable home the files go beside the sockets, unless others could reach that
      // folder.
      guard !error.isExposed else {
        folder.remove()
        throw ClientError(error, advice: "set XDG_STATE_HOME to a folder of your own")
      }
    }
    return folder
  }

  private static func temporarySockets() throws(ClientError) -> String {
    let bases = [variable("XDG_RUNTIME_DIR"), "/tmp"].compactMap(\.self)
    var problems: [String] = []
    // Draw a new number only if the first is taken; any other failure concerns the folder.
    for base in bases where base.utf8.count <= 64 {
      for _ in 0..<8 {
        let folder = PrivateFolder("\(base)/opcluster-\(randomName)")
        do throws(FolderError) {
          if try folder.makeNew() { return folder.path }
        } catch {
          problems.append(error.message)
          break
        }
      }
    }
    throw ClientError(
      .unreachable,
      "cannot make a folder for a cluster in \(bases.joined(separator: " or ")): "
        + problems.joined(separator: ", "),
      hint: "make one of them writable, or set XDG_RUNTIME_DIR to a folder of your own")
  }

  private static var randomName: String {
    String(UInt32.random(in: 0 ... .max), radix: 36)
  }

  private static let temporaryPrefix = "run-"

  /// Makes the files' folder. Also looks at each folder of earlier clusters and removes those whose
  /// process did not live to do it.
  private mutating func makeTemporaryFiles() throws(FolderError) {
    let base = PrivateFolder("\(UserFolders.state)/opcluster")
    try TrustedPath.makeFolders(base.path)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: base.path)) ?? []
    for name in names where name.hasPrefix(Self.temporaryPrefix) {
      let left = PrivateFolder(base.file(name))
      if left.isLeftOver { try? FileManager.default.removeItem(atPath: left.path) }
    }
    let folder = PrivateFolder(base.file(Self.temporaryPrefix + Self.randomName))
    guard try folder.makeNew() else { return }
    use = try folder.use()
    files = folder.path
  }

  /// Makes a folder and its parents; an existing one must be ours alone.
  static func lasting(_ path: String, files: String? = nil) throws(ClientError) -> ClusterFolder {
    do throws(FolderError) {
      for folder in [path, files ?? path] { try PrivateFolder(folder).make() }
    } catch {
      throw ClientError(
        error, advice: "set XDG_RUNTIME_DIR and XDG_STATE_HOME to folders of your own")
    }
    return ClusterFolder(path: path, files: files)
  }

  func remove() {
    for folder in [files, path] { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Returns the last lines of a daemon's log, for messages.
  func endOfLog(of name: String) -> String {
    guard let content = FileManager.default.contents(atPath: log(of: name)) else { return "" }
    let text = String(decoding: content.suffix(2_048), as: UTF8.self)
    let lines = text.split(separator: "\n").suffix(3)
    return lines.joined(separator: "\n")
  }

  /// Finds one of our programs: beside the running one, else in PATH.
  package static func executable(_ name: String) throws(ClientError) -> String {
    var folders: [String] = []
    if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
      let slash = own.lastIndex(of: "/")
    {
      folders.append(String(own[..<slash]))
    }
    folders += (variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
      .map(String.init)
    for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(name)") {
      return "\(folder)/\(name)"
    }
    throw ClientError(
      .unreachable, "cannot find the program \(name)",
      hint: "install it next to this program or in a folder of PATH")
  }

  /// Checks that the named program can be started.
  static func checked(_ path: String) throws(ClientError) -> String {
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw ClientError(
        .unreachable, "cannot start \(path): it is not a program",
        hint: "name an executable file by its whole path")
    }
    return path
  }

  static var user: UInt32 { OwnProcess.user }
  static var isRoot: Bool { OwnProcess.isRoot }

  /// The CPUs that this process may use.
  static var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

  /// The names of the gpus found.
  static var gpus: [String] {
    GPUSetting.present(
      visible: ProcessInfo.processInfo.environment["CUDA_VISIBLE_DEVICES"],
      devices: (try? FileManager.default.contentsOfDirectory(atPath: "/dev")) ?? [])
  }

  /// A variable of the environment; nil when it is not set or empty.
  static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}

extension ClientError {
  /// Converts a folder's error; `advice` names another way.
  init(_ error: FolderError, advice: String) {
    self.init(
      error.isExposed ? .badConfiguration : .unreachable, error.message,
      hint: "\(error.hint), or \(advice)")
  }
}
