// Files that the worker makes stay where they belong, whatever lies in their way (G38, F58).

import Glibc
import Testing

@testable import OpClusterProcesses

extension ProcessTests {
  @Suite struct RootFolderTests {
    /// A folder with `inside`, and `outside` beside it that links in the first lead to.
    private static func withFolders(_ body: (String, String) throws -> Void) throws {
      let bench = try Bench()
      let (inside, outside) = (bench.folder + "/inside", bench.folder + "/outside")
      for folder in [inside, outside] { #expect(unsafe mkdir(folder, 0o700) == 0) }
      #expect(unsafe symlink(outside, inside + "/link") == 0)
      defer {
        for folder in [inside, outside] {
          for name in namesOfFolder(folder) { unsafe unlink(folder + "/" + name) }
          unsafe rmdir(folder)
        }
      }
      try body(inside, outside)
    }

    @Test("Nothing beneath a root leaves it")
    func beneath() throws {
      try Self.withFolders { inside, outside in
        guard let root = RootFolder(inside) else {
          Issue.record("cannot open \(inside)")
          return
        }
        #expect(root.touch("flag") == 0 && root.touch("flag") == 0)
        #expect(root.touch("link/flag") == ELOOP)
        #expect(root.touch("../outside/flag") == EXDEV)
        #expect(root.touch(outside + "/flag") == EXDEV)
        #expect(root.touch("link") == ELOOP)
        #expect(root.move("flag", to: "link/flag") == ELOOP)
        #expect(root.move("flag", to: "../outside/flag") == EXDEV)
        #expect(root.move("flag", to: "..") == EINVAL)
        #expect(root.move("flag", to: "moved") == 0)
        #expect(root.link("link/other", to: "/") == ELOOP)
        #expect(root.link("moved", to: "/") == 0)
        #expect(namesOfFolder(outside).isEmpty)
        #expect(Set(namesOfFolder(inside)) == ["link", "moved"])
      }
    }

    @Test("G38: an output's path may use links of its folder, and none that lead out")
    func innerLinks() throws {
      try Self.withFolders { inside, outside in
        func open(_ path: String) throws {
          _ = try OutputFile(path: path, beneath: inside, followsInnerLinks: true).openForWriting()
        }
        let real = inside + "/real"
        try #require(unsafe mkdir(real, 0o700) == 0)
        defer {
          for name in namesOfFolder(real) { unsafe unlink(real + "/" + name) }
          unsafe rmdir(real)
        }
        try #require(unsafe symlink("real", inside + "/alias") == 0)
        try #require(unsafe symlink("../inside/real", inside + "/around") == 0)
        try #require(unsafe symlink("x", real + "/last") == 0)
        try open("alias/one")
        try open("alias/../real/two")
        try open(".//three")
        for path in ["link/x", "../outside/x", "around/x", outside + "/x", "alias/../../outside/x"]
        {
          #expect(throws: SpawnError.file(path: path, error: EXDEV), "\(path)") { try open(path) }
        }
        #expect(throws: SpawnError.file(path: "real/last", error: ELOOP)) { try open("real/last") }
        #expect(namesOfFolder(outside).isEmpty)
        #expect(Set(namesOfFolder(real)) == ["one", "two", "last"])
      }
    }

    @Test("F58: an output beneath a folder, and one of the kernel's own files")
    func outputs() throws {
      try Self.withFolders { inside, outside in
        for path in ["link/out", "../outside/out", outside + "/out", "link"] {
          #expect(throws: SpawnError.self, "\(path)") {
            try OutputFile(path: path, beneath: inside).openForWriting()
          }
        }
        #expect(throws: SpawnError.file(path: "/proc/self/oom_score_adj", error: EPERM)) {
          try OutputFile(path: "/proc/self/oom_score_adj").openForWriting()
        }
        #expect(throws: SpawnError.self) {
          try OutputFile(path: "self/oom_score_adj", beneath: "/proc").openForWriting()
        }
        let bench = try Bench()
        var specification = bench.shell("cat")
        for path in ["/proc/self/environ", "/proc/self/fd/0"] {
          specification.input = .file(path: path)
          #expect(throws: SpawnError.self, "\(path)") { try bench.start(specification) }
        }
        #expect(namesOfFolder(outside).isEmpty)
      }
    }
  }
}
