// Where a cluster of our own keeps its sockets, logs and state, and where the daemons' programs
// are. File system only; any thread.

import FoundationEssentials
import Glibc

/// A private folder (0700) of an own cluster, with the addresses and paths inside it.
struct ClusterFolder: Sendable {
  var path: String

  var clientAddress: String { "ipc://\(path)/client" }
  var workerAddress: String { "ipc://\(path)/worker" }
  func log(of name: String) -> String { "\(path)/\(name).log" }

  /// A fresh folder, for as long as a process uses it. Its path is short: the kernel allows a
  /// socket 107 bytes.
  static func temporary() throws(ClientError) -> ClusterFolder {
    let bases = [variable("XDG_RUNTIME_DIR"), "/tmp"].compactMap(\.self)
    // Numbers are drawn anew only when one is taken; any other failure is the folder's.
    for base in bases where base.utf8.count <= 64 {
      for _ in 0..<8 {
        let path = "\(base)/opcluster-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
        do throws(Kernel.Failure) {
          try Kernel.makePrivateFolder(path)
          return ClusterFolder(path: path)
        } catch {
          guard error.code == EEXIST else { break }
        }
      }
    }
    throw ClientError(
      .unreachable, "cannot make a folder for a cluster in \(bases.joined(separator: " or "))",
      hint: "make one of them writable, or set XDG_RUNTIME_DIR")
  }

  /// Makes a folder, with those above it; an existing one must be ours and is made private.
  static func lasting(_ path: String) throws(ClientError) -> ClusterFolder {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw ClientError(.unreachable, "cannot make the folder \(path): \(error)")
    }
    do throws(Kernel.Failure) {
      try Kernel.makePrivate(path)
    } catch {
      throw ClientError(
        .unreachable, "cannot make the folder \(path) private: \(error.text)",
        hint: "set XDG_RUNTIME_DIR and XDG_STATE_HOME to folders of your own")
    }
    return ClusterFolder(path: path)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// The last lines of a daemon's log, for messages.
  func endOfLog(of name: String) -> String {
    guard let content = FileManager.default.contents(atPath: log(of: name)) else { return "" }
    let text = String(decoding: content.suffix(2_048), as: UTF8.self)
    let lines = text.split(separator: "\n").suffix(3)
    return lines.joined(separator: "\n")
  }

  /// A program of ours: next to the one that runs, else in PATH.
  static func executable(_ name: String) throws(ClientError) -> String {
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

  /// A program that somebody else named, if it can be started.
  static func checked(_ path: String) throws(ClientError) -> String {
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw ClientError(
        .unreachable, "cannot start \(path): it is not a program",
        hint: "name an executable file by its whole path")
    }
    return path
  }

  static var user: UInt32 { getuid() }
  static var isRoot: Bool { geteuid() == 0 }

  /// CPUs that this process may use.
  static var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

  /// A variable of the environment; nil when it is not set or empty.
  static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}
