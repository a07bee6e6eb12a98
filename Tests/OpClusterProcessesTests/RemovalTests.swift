// Folders that operations leave are removed whatever was done to them, by whoever owns them and not
// only by root, whom modes do not stop (G38).

import Glibc
import Testing

@testable import OpClusterProcesses

/// A user that is nobody on this machine.
private let stranger: uid_t = 61_234

extension Bench {
  /// Removes a folder of this bench as another user, and returns the `errno`.
  fileprivate func removeAsStranger(_ name: String) throws -> Int32 {
    try #require(unsafe chown(folder, stranger, stranger) == 0)
    let ended = try run(
      command([try StandIn.path(), "remove", "\(stranger)", folder + "/" + name]))
    try #require(ended.status == .exited(0), "\(ended)")
    let text = try output()
    return try #require(Int32(text.split(separator: "\n").last ?? ""), "\(text)")
  }

  /// Runs a text in the folder.
  fileprivate func prepare(_ text: String) throws {
    var specification = shell("set -e; \(text)")
    specification.error = .file(file("err"))
    let ended = try run(specification)
    let words = try output("err")
    try #require(ended.status == .exited(0), "\(words)")
  }

  fileprivate func exists(_ name: String) -> Bool {
    var status = stat()
    return unsafe lstat(folder + "/" + name, &status) == 0
  }
}

/// Makes folders in each other, each with a file and closed to its owner, so many levels deep.
private func makeDeep(_ path: String, levels: Int, owner: uid_t) throws {
  var name = path
  var parent = Descriptor(-1)
  for _ in 0..<levels {
    let base = parent.number < 0 ? AT_FDCWD : parent.number
    try #require(unsafe mkdirat(base, name, 0o700) == 0)
    let inner = unsafe openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try #require(inner >= 0)
    close(unsafe openat(inner, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0))
    _ = unsafe fchownat(inner, "file", owner, owner, 0)
    if parent.number >= 0 { _ = fchmod(parent.number, 0o500) }
    _ = fchown(inner, owner, owner)
    parent = Descriptor(inner)
    name = "d"
  }
  _ = fchmod(parent.number, 0)
}

extension ProcessTests {
  @Suite(.enabled(if: geteuid() == 0, "makes folders of another user, which takes root"))
  struct RemovalTests {
    @Test("What is closed to its owner is removed by its owner")
    func closed() throws {
      let bench = try Bench()
      try bench.prepare(
        """
        mkdir -p t/none/inner t/cache/module t/empty outside; echo kept > outside/file
        echo secret > t/none/inner/file; echo module > t/cache/module/go.mod
        ln -s "$PWD/outside" t/link; ln -s "$PWD/outside/file" t/cache/module/link; mkfifo t/fifo
        : > "t/$(printf '\\377\\376')"; : > t/.hidden
        chmod 0 t/none/inner/file t/none/inner t/none t/empty; chmod 0555 t/cache/module t/cache
        chmod 0 t; chown -Rh \(stranger):\(stranger) t
        """)
      #expect(try bench.removeAsStranger("t") == 0)
      #expect(!bench.exists("t"))
      #expect(bench.exists("outside/file"), "links are not followed")
      try bench.prepare("rm -r outside")
    }

    @Test("A tree of ten thousand levels takes neither stack nor descriptors")
    func deep() throws {
      let bench = try Bench()
      try makeDeep(bench.folder + "/t", levels: 10_000, owner: stranger)
      #expect(try bench.removeAsStranger("t") == 0)
      #expect(!bench.exists("t"))
    }

    @Test("A folder of thirty thousand files is emptied in pieces, each of a bounded size")
    func wide() throws {
      let bench = try Bench()
      try bench.prepare("mkdir t; cd t; seq 30000 | xargs touch; mkdir inner; touch inner/file")
      guard let folder = RootFolder(bench.folder) else {
        Issue.record("cannot open \(bench.folder)")
        return
      }
      let root = RootHolder(folder)
      var pieces = 0
      while root.folder.empty("t", atMost: 7_000) == EAGAIN {
        pieces += 1
        // The inner folder's file counts as well.
        let removed = 30_001 - namesOfFolder(bench.folder + "/t").count
        #expect(removed == 7_000 * pieces || removed == 7_000 * pieces - 1)
      }
      #expect(pieces == 4)
      #expect(bench.exists("t") && namesOfFolder(bench.folder + "/t").isEmpty)
      #expect(root.folder.empty("t", atMost: 0) == 0)
      #expect(root.folder.remove("t") == 0 && !bench.exists("t"))
      #expect(root.folder.remove("t") == 0 && root.folder.empty("t", atMost: 1) == ENOENT)
    }

    @Test("What belongs to somebody else stays, and says so")
    func foreign() throws {
      let bench = try Bench()
      try bench.prepare(
        "mkdir -p t/foreign t/own/deep; touch t/foreign/file t/own/deep/file; chmod 0 t/own; "
          + "chown \(stranger) t t/own t/own/deep")
      #expect(try bench.removeAsStranger("t") == EACCES)
      #expect(bench.exists("t/foreign/file"))
      #expect(!bench.exists("t/own"), "the rest is gone all the same")
      #expect(RootFolder.removeTree(bench.folder + "/t") == 0)
    }

    @Test("A file system that is mounted in it is not entered")
    func mounted() throws {
      let bench = try Bench()
      try bench.prepare("mkdir -p t/m data; touch t/file data/precious")
      // MS_BIND, and below MNT_DETACH.
      let error = unsafe mount(bench.folder + "/data", bench.folder + "/t/m", "", 4_096, nil)
      try #require(error == 0, "error \(errno)")
      // Of the same device: only the kernel's word for it tells that it is another mount.
      let outcome = RootFolder.removeTree(bench.folder + "/t")
      _ = unsafe umount2(bench.folder + "/t/m", 2)
      #expect(outcome == EXDEV || outcome == EBUSY, "error \(outcome)")
      #expect(bench.exists("data/precious") && !bench.exists("t/file"))
      try bench.prepare("rm -r t data")
    }

    @Test("Root removes what is marked immutable; another user is told that he cannot")
    func immutable() throws {
      let bench = try Bench()
      try bench.prepare("mkdir -p t/inner; touch t/inner/file t/other")
      func mark() -> Int32 {
        var error: Int32 = 0
        for name in ["t/inner/file", "t/inner", "t"] {
          let file = unsafe open(bench.folder + "/" + name, O_RDONLY | O_CLOEXEC)
          // FS_IOC_SETFLAGS and FS_IMMUTABLE_FL.
          var flags: Int32 = 0x10
          if unsafe ioctl(file, 0x4008_6602, &flags) != 0 { error = errno }
          close(file)
        }
        return error
      }
      // File systems without such flags have nothing to repair.
      let error = mark()
      guard error == 0 else { return #expect(error == ENOTTY || error == EOPNOTSUPP) }
      #expect(try bench.removeAsStranger("t") == EPERM)
      #expect(bench.exists("t/inner/file") && bench.exists("t/other"))
      #expect(RootFolder.removeTree(bench.folder + "/t") == 0)
      #expect(!bench.exists("t"))
    }
  }
}

/// Keeps a folder that cannot be copied.
private final class RootHolder {
  let folder: RootFolder
  init(_ folder: consuming RootFolder) { self.folder = folder }
}
