// What a started process is given and what is said when it cannot be started (G38, G40).

import CProcess
import Glibc
import Testing

@testable import OpClusterProcesses

extension ProcessTests {
  @Suite struct StartTests {
    @Test("G26: exit statuses are told as they are", arguments: [0, 1, 3, 127, 255] as [Int32])
    func exitStatus(code: Int32) throws {
      let bench = try Bench()
      #expect(try bench.run(bench.shell("exit \(code)")).status == .exited(code))
    }

    @Test("G26: so are signals", arguments: [SIGTERM, SIGKILL, SIGSEGV, SIGPIPE])
    func endSignal(signal: Int32) throws {
      let bench = try Bench()
      #expect(try bench.run(bench.shell("kill -\(signal) $$")).status == .signalled(signal))
    }

    @Test("G38: arguments arrive byte by byte, no shell sees them")
    func arguments() throws {
      let bench = try Bench()
      let odd = ["$(id)", "a b", "", "\u{1}\u{7f}", "line\nbreak", "'\"`\\", "*", "🐝é", "-n"]
      let ended = try bench.run(bench.command(["/usr/bin/printf", "<%s>"] + odd))
      #expect(ended.status == .exited(0))
      #expect(try bench.output() == odd.map { "<\($0)>" }.joined())
    }

    @Test("The environment is exactly what was given, and the mark")
    func environment() throws {
      let bench = try Bench()
      unsafe setenv("OPCLUSTER_LEAK", "1", 1)
      var specification = bench.command(["/usr/bin/env"])
      specification.environment = [("A", "1"), ("B", "x = y"), ("C", "")]
      _ = try bench.run(specification)
      let lines = try bench.output().split(separator: "\n").map(String.init)
      #expect(lines.first?.hasPrefix("OPCLUSTER_FENCE=bench/") == true)
      #expect(lines.dropFirst() == ["A=1", "B=x = y", "C="])
    }

    @Test("G40: no descriptor but 0 to 2, even ones that are not close-on-exec")
    func descriptors() throws {
      let bench = try Bench()
      let leaks = (0..<5).map { _ in unsafe Glibc.open("/dev/null", O_RDONLY) }
      defer { for leak in leaks { close(leak) } }
      _ = try bench.run(bench.command(["/bin/ls", "/proc/self/fd"]))
      // The fourth is the folder that ls itself reads.
      #expect(try bench.output() == "0\n1\n2\n3\n")
    }

    @Test("G40: own session and group, standard signals, no new privileges")
    func attributes() throws {
      let bench = try Bench()
      let before = signal(SIGPIPE, SIG_IGN)
      defer { _ = signal(SIGPIPE, before) }
      let reference = try bench.start(
        bench.command(["/bin/cat", "/proc/self/stat", "/proc/self/status"]))
      _ = try bench.end(of: reference)
      let text = try bench.output()
      let fields = text.split(separator: " ")
      #expect(fields[4] == "\(reference.process)")
      #expect(fields[5] == "\(reference.process)")
      for line in ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "NoNewPrivs:\t1"] {
        #expect(text.contains(line), "\(line)")
      }
    }

    @Test("Niceness, scheduling class and limits are applied")
    func service() throws {
      let bench = try Bench()
      var specification = bench.shell("ulimit -n; nice; cut -d' ' -f41 /proc/self/stat")
      specification.nice = 7
      specification.scheduling = .idle
      specification.limits = [ResourceLimit(.openFiles, 123)]
      #expect(try bench.run(specification).status == .exited(0))
      #expect(try bench.output() == "123\n7\n5\n")
    }

    @Test("Input comes from nothing, from bytes, or from a file")
    func input() throws {
      let bench = try Bench()
      var specification = bench.command(["/bin/cat"])
      _ = try bench.run(specification)
      #expect(try bench.output() == "")
      specification.input = .bytes(Array("hello\0world".utf8))
      _ = try bench.run(specification)
      #expect(try bench.output() == "hello\0world")
      specification.output = .file(bench.file("second"))
      specification.input = .file(path: bench.folder + "/out")
      _ = try bench.run(specification)
      #expect(try bench.output("second") == "hello\0world")
      specification.input = .bytes(
        [UInt8](repeating: 0, count: ProcessSpecification.inputLimit + 1))
      #expect(throws: SpawnError.self) { try bench.start(specification) }
    }

    @Test("An input file that is missing is told as such, not as a missing folder")
    func missingInput() throws {
      let bench = try Bench()
      var specification = bench.command(["/bin/cat"])
      let path = bench.folder + "/none"
      specification.input = .file(path: path)
      let error = #expect(throws: SpawnError.self) { try bench.start(specification) }
      #expect(error == .input(path: path, error: ENOENT))
      #expect(error?.description.contains("there is no such file on this worker") == true)
      #expect(error?.description.contains("folder does not exist") == false)
    }

    @Test("Both streams go into one file in the order in which they were written")
    func joinedStreams() throws {
      let bench = try Bench()
      var specification = bench.shell("echo a; echo b >&2; echo c")
      specification.error = .sameAsOutput
      _ = try bench.run(specification)
      #expect(try bench.output() == "a\nb\nc\n")
    }
  }

  @Suite struct RefusalTests {
    @Test("An executable that does not exist is told from one that may not run")
    func executables() throws {
      let bench = try Bench()
      func failure(_ name: String) -> SpawnError? {
        do {
          _ = try bench.start(bench.command([name]))
          return nil
        } catch { return error as? SpawnError }
      }
      #expect(failure("no-such-command") == .notFound(executable: "no-such-command"))
      #expect(failure("/no/such/command")?.exitCode == 127)
      #expect(failure("./no-such-command")?.exitCode == 127)
      #expect(failure("/etc/passwd")?.exitCode == 126)
      #expect(failure("/tmp")?.exitCode == 126)
      #expect(failure("").map { $0.exitCode == nil } == true)
      try makeExecutable(bench.folder + "/garbage", [0, 1, 2, 3])
      #expect(
        failure(bench.folder + "/garbage")
          == .notExecutable(executable: bench.folder + "/garbage", error: ENOEXEC))
      try makeExecutable(bench.folder + "/script", Array("#!/no/such/interpreter\n".utf8))
      #expect(failure(bench.folder + "/script")?.exitCode == 126)
      #expect(bench.host.count == 0)
      #expect(zombies() == 0)
    }

    @Test("G38: PATH is searched in absolute folders only", arguments: [".", "", "relative", ".:"])
    func relativePath(path: String) throws {
      let bench = try Bench()
      try makeExecutable(bench.folder + "/trap", Array("#!/bin/sh\necho trapped\n".utf8))
      var specification = bench.command(["trap"])
      specification.environment = [("PATH", path)]
      #expect(throws: SpawnError.notFound(executable: "trap")) { try bench.start(specification) }
      specification.environment = [("PATH", path + ":" + bench.folder)]
      #expect(try bench.run(specification).status == .exited(0))
    }

    @Test("A working directory that cannot be entered is named")
    func workingDirectory() throws {
      let bench = try Bench()
      var specification = bench.command(["/bin/true"])
      specification.workingDirectory = "/no/such/folder"
      #expect(throws: SpawnError.workingDirectory(path: "/no/such/folder", error: ENOENT)) {
        try bench.start(specification)
      }
    }

    @Test("What no kernel can take is refused before anything starts")
    func unusable() throws {
      let bench = try Bench()
      var specification = bench.command(["/bin/echo", "a\0b"])
      #expect(throws: SpawnError.self) { try bench.start(specification) }
      specification = bench.command(["/bin/echo", String(repeating: "x", count: 200_000)])
      #expect(throws: SpawnError.self) { try bench.start(specification) }
      specification = bench.command(["/bin/echo"])
      for name in ["OPCLUSTER_FENCE", "A=B", ""] {
        specification.environment = [(name, "x")]
        #expect(throws: SpawnError.self) { try bench.start(specification) }
      }
      let running = try bench.start(bench.shell("read line"))
      #expect(throws: SpawnError.tokenInUse(running.token)) {
        try bench.host.start(bench.shell("true"), token: running.token)
      }
      _ = try bench.end(of: running)
    }

    @Test("Every error says what to do, without control bytes")
    func descriptions() {
      let errors: [SpawnError] = [
        .notFound(executable: "a\u{1b}[31m"), .notExecutable(executable: "b", error: EACCES),
        .workingDirectory(path: "c", error: ENOENT), .file(path: "d", error: ELOOP),
        .tokenInUse(1), .refused(step: "create a process", error: EAGAIN),
      ]
      for error in errors {
        #expect(error.description.contains("; "))
        #expect(!error.description.utf8.contains(0x1b))
      }
    }
  }
}
