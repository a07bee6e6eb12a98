// The file behind an `ipc://` endpoint: whose it is, with which mode it is made, and its removal.
// Used by `Socket.bind` and at the socket's end, on the socket's thread.

import Glibc
import OpClusterFolders
import OpClusterSystem
import Synchronization

/// A socket file that one of our sockets has made.
struct LocalSocketFile {
  private let path: String
  private let device: dev_t
  private let inode: ino_t

  /// Remembers the file that binding has just made; nil if it is already gone.
  init?(madeAt path: String) {
    guard case .success(let found) = LocalSocketFile.information(of: path) else { return nil }
    self.path = path
    device = found.st_dev
    inode = found.st_ino
  }

  /// Removes the file, unless another has taken its place: libzmq leaves it behind.
  func remove() {
    guard case .success(let found) = LocalSocketFile.information(of: path),
      found.st_dev == device, found.st_ino == inode
    else { return }
    _ = unsafe unlink(path)
  }

  /// Binding threads take turns, because the mode mask belongs to the whole process.
  private static let modeMask = Mutex<Void>(())

  /// Runs `body` while new files are for their owner alone.
  ///
  /// libzmq makes the socket file in the calling thread. Another thread that makes a file at this
  /// moment gets a stricter mode than it asked for, never a looser one.
  static func withPrivateMode(_ body: () -> Int32) -> Int32 {
    modeMask.withLock { _ in
      let before = umask(0o077)
      defer { umask(before) }
      return body()
    }
  }

  /// Throws if binding at `path` would fail without a clear cause or steal a living server's place.
  ///
  /// libzmq removes whatever file is there before it binds, so this is the only guard. Two servers
  /// that start at the same instant on the same stale file are not told apart.
  static func checkFree(path: String, action: String) throws(SystemError) {
    let folder = folder(of: path)
    switch information(of: folder) {
    case .success(let found) where found.st_mode & S_IFMT == S_IFDIR: break
    case .success: throw SystemError(action: action, code: ENOTDIR, advice: "choose a folder")
    case .failure(let error):
      throw SystemError(
        action: action, code: error.code,
        advice: "the folder \(folder) must exist and be yours; create it with mode 0700")
    }
    switch information(of: path) {
    case .failure(let error) where error.code == ENOENT: return
    case .failure(let error): throw SystemError(action: action, code: error.code)
    case .success(let found):
      guard found.st_mode & S_IFMT == S_IFSOCK else {
        throw SystemError(
          action: action, code: EEXIST, advice: "the file there is no socket; choose another path")
      }
    }
    let answer = try probe(path: path, action: action)
    // Refused: nobody listens, the file is stale. Gone meanwhile: as good.
    guard answer == ECONNREFUSED || answer == ENOENT else {
      throw SystemError(
        action: action, code: answer == 0 || answer == EAGAIN ? EADDRINUSE : answer)
    }
  }

  /// Why the folder of a socket is not safe: whoever may write to it, or to one above it, can put a
  /// socket of their own in the place of ours (G39, F59). A folder that is not there is for
  /// `checkFree` to judge.
  static func folderProblem(of path: String) -> String? {
    let folder = folder(of: path)
    guard let error = TrustedPath.problem(ofFolder: folder) else { return nil }
    return
      "folder \(folder) of the socket \(path) cannot be used: \(error.message); \(error.hint), "
      + "or name a folder of this user's own with mode 0700"
  }

  private static func folder(of path: String) -> String {
    let lastSlash = path.lastIndex(of: "/") ?? path.startIndex
    return lastSlash == path.startIndex ? "/" : String(path[..<lastSlash])
  }

  private static func information(of path: String) -> Result<stat, SystemError> {
    var found = stat()
    // Links are followed: the folder may be one.
    guard unsafe stat(path, &found) == 0 else {
      return .failure(SystemError(action: "look at \(path)", code: errno))
    }
    return .success(found)
  }

  /// What `connect` to the socket file answers: 0 or an `errno`.
  private static func probe(path: String, action: String) throws(SystemError) -> Int32 {
    let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let descriptor = socket(AF_UNIX, Int32(type), 0)
    guard descriptor >= 0 else { throw SystemError(action: action, code: errno) }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // An endpoint's path is at most 107 bytes; the closing zero is already there.
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { space in
      unsafe space.copyBytes(from: path.utf8.prefix(Endpoint.maximumPathBytes))
    }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe Glibc.connect(descriptor, generic, length) == 0 ? 0 : errno
      }
    }
  }
}

extension Endpoint {
  /// Why the folder of the socket file is not safe to bind in, with what to do; nil for other
  /// transports and while there is no such folder (G39).
  public var folderProblem: String? { path.flatMap(LocalSocketFile.folderProblem) }
}
