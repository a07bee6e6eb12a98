// Who may reach a socket file, and whose place a new server may take.

import Citations
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct LocalSocketFileTests {
  private func mode(of path: String) -> mode_t? {
    var information = stat()
    return unsafe stat(path, &information) == 0 ? information.st_mode : nil
  }

  /// Ends a server, whose file ends with it.
  private func end(_ socket: consuming Socket, path: String) {
    _ = consume socket
    #expect(mode(of: path) == nil)
  }

  @Test func privateMode() throws {
    try withFolder { folder in
      let path = "\(folder)/s"
      let router = try openRouter()
      let bound = try router.bind(Endpoint("ipc://\(path)"))
      #expect(bound.path == path)
      #expect(mode(of: path) == S_IFSOCK | 0o700)
      end(router, path: path)
    }
  }

  @Test func livingServerKeepsItsPlace() throws {
    try withFolder { folder in
      let endpoint = try Endpoint("ipc://\(folder)/s")
      let first = try openRouter()
      _ = try first.bind(endpoint)
      let second = try openRouter()
      let error = #expect(throws: SystemError.self) { _ = try second.bind(endpoint) }
      #expect(error?.code == EADDRINUSE)
      let dealer = try openDealer()
      try dealer.connect(endpoint)
      _ = try introduce(dealer, to: first)
      end(first, path: "\(folder)/s")
    }
  }

  // Somebody removed our file and another server took the path: its file is not ours to remove.
  @Test func filesOfOthersAreNotRemoved() throws {
    try withFolder { folder in
      let path = "\(folder)/s"
      let endpoint = try Endpoint("ipc://\(path)")
      var first: Socket? = try openRouter()
      _ = try first!.bind(endpoint)
      _ = unsafe unlink(path)
      let second = try openRouter()
      _ = try second.bind(endpoint)
      first = nil
      let dealer = try openDealer()
      try dealer.connect(endpoint)
      _ = try introduce(dealer, to: second)
      end(second, path: path)
    }
  }

  @Test func staleFileIsReplaced() throws {
    try withFolder { folder in
      let path = "\(folder)/s"
      try leaveStaleFile(at: path)
      #expect(mode(of: path) != nil)
      let router = try openRouter()
      let dealer = try openDealer()
      try dealer.connect(router.bind(Endpoint("ipc://\(path)")))
      _ = try introduce(dealer, to: router)
      end(router, path: path)
    }
  }

  /// Binds a plain socket and closes it: its file stays, as after a crash.
  private func leaveStaleFile(at path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { space in
      unsafe space.copyBytes(from: path.utf8)
    }
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(descriptor, generic, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(result == 0)
  }

  @Test func otherFilesAreLeftAlone() throws {
    try withFolder { folder in
      let path = "\(folder)/precious"
      unsafe close(open(path, O_CREAT | O_WRONLY, 0o600))
      defer { _ = unsafe unlink(path) }
      let router = try openRouter()
      let error = #expect(throws: SystemError.self) {
        _ = try router.bind(Endpoint("ipc://\(path)"))
      }
      #expect(error?.code == EEXIST)
      #expect(mode(of: path) == S_IFREG | 0o600)
    }
  }

  @Test func folderMustExist() throws {
    try withFolder { folder in
      let router = try openRouter()
      let missing = #expect(throws: SystemError.self) {
        _ = try router.bind(Endpoint("ipc://\(folder)/missing/s"))
      }
      #expect(missing?.code == ENOENT)
      #expect(missing?.description.contains("create it with mode 0700") == true)
      let path = "\(folder)/file"
      unsafe close(open(path, O_CREAT | O_WRONLY, 0o600))
      defer { _ = unsafe unlink(path) }
      let file = #expect(throws: SystemError.self) {
        _ = try router.bind(Endpoint("ipc://\(path)/s"))
      }
      #expect(file?.code == ENOTDIR)
    }
  }

  @Test func portInUse() throws {
    let first = try openRouter()
    let bound = try first.bind(anyPort())
    let second = try openRouter()
    let error = #expect(throws: SystemError.self) { _ = try second.bind(bound) }
    #expect(error?.code == EADDRINUSE)
    #expect(error?.description.contains("choose another address") == true)
  }

  // In a folder that others can write to, a socket could be replaced.
  @Test(.checks("G39", "F59")) func socketFoldersOfOthers() throws {
    try withFolder { folder in
      let endpoint = try Endpoint("ipc://\(folder)/s")
      #expect(endpoint.folderProblem == nil)
      for mode in [mode_t(0o777), 0o770, 0o1777] {
        _ = unsafe chmod(folder, mode)
        #expect(endpoint.folderProblem?.contains("folder \(folder) of the socket") == true)
      }
      _ = unsafe chmod(folder, 0o700)
      #expect(try Endpoint("ipc:///nonexistent/s").folderProblem == nil)
      #expect(try Endpoint("tcp://127.0.0.1:1").folderProblem == nil)
      if geteuid() == 0 {
        _ = unsafe chown(folder, 65_534, 65_534)
        #expect(endpoint.folderProblem?.contains("belongs to user 65534") == true)
        _ = unsafe chown(folder, 0, 0)
      }
    }
  }
}
