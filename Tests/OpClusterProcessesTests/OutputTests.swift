// The files that operations write: where they may be, how they are read and cut (G26, G38).

import Glibc
import Testing

@testable import OpClusterProcesses

extension ProcessTests {
  @Suite struct OutputTests {
    @Test("G38: a path neither climbs out of its root nor follows a link")
    func beneath() throws {
      let bench = try Bench()
      #expect(unsafe symlink("/tmp", bench.folder + "/link") == 0)
      #expect(unsafe symlink(bench.folder + "/target", bench.folder + "/file-link") == 0)
      var specification = bench.command(["/bin/echo", "x"])
      let escapes = ["../escaped", "/tmp/escaped", "link/escaped", "file-link", "/proc/self/cwd/x"]
      for path in escapes {
        specification.output = .file(OutputFile(path: path, beneath: bench.folder))
        #expect(throws: SpawnError.self, "\(path)") { try bench.start(specification) }
      }
      #expect(unsafe access("/tmp/escaped", F_OK) != 0)
      #expect(unsafe access(bench.folder + "/target", F_OK) != 0)
      specification.output = .file(OutputFile(path: bench.folder + "/file-link"))
      #expect(throws: SpawnError.self) { try bench.start(specification) }
      specification.output = .file(OutputFile(path: "inside", beneath: bench.folder))
      _ = try bench.run(specification)
      #expect(try bench.output("inside") == "x\n")
    }

    @Test("Files are the worker's alone; they are emptied or continued")
    func modes() throws {
      let bench = try Bench()
      for (appends, text) in [(false, "x\n"), (false, "x\n"), (true, "x\nx\n")] {
        var file = bench.file("out")
        file.appends = appends
        var specification = bench.command(["/bin/echo", "x"])
        specification.output = .file(file)
        _ = try bench.run(specification)
        #expect(try bench.output() == text)
      }
      var information = stat()
      #expect(unsafe stat(bench.folder + "/out", &information) == 0)
      #expect(information.st_mode & 0o777 == 0o600)
    }

    @Test("G26: a file used again is open for the next process only if it was left untouched")
    func usedAgain() throws {
      let bench = try Bench()
      func run(_ text: String) throws -> EndedProcess {
        var specification = bench.shell(text)
        specification.output = .file(
          OutputFile(path: bench.folder + "/out", appends: true, isUsedAgain: true))
        return try bench.run(specification)
      }
      func runUntilKept() throws {
        // Not in the tick of the kernel's clock in which the file was made.
        let isKept = try eventually {
          _ = try run("true")
          return !bench.host.idleOutputs.isEmpty
        }
        try #require(isKept)
      }
      try runUntilKept()
      #expect(try run("true").outputSize == 0)
      #expect(!bench.host.idleOutputs.isEmpty)
      #expect(try run("echo one").outputSize == 4)
      #expect(bench.host.idleOutputs.isEmpty)
      #expect(try bench.output() == "one\n")
      for meddling in ["mv out away", "rm out", "chmod 400 out", "mv out away; : > out"] {
        unsafe unlink(bench.folder + "/out")
        try runUntilKept()
        _ = try run(meddling)
        #expect(bench.host.idleOutputs.isEmpty, "\(meddling)")
        unsafe unlink(bench.folder + "/out")
        #expect(try run("echo two").outputSize == 4, "\(meddling)")
        #expect(try bench.output() == "two\n", "\(meddling)")
        unsafe unlink(bench.folder + "/away")
      }
    }

    @Test(
      "G26: what is written is in the file of that name, also where that was removed")
    func usedAgainAfterTidying() throws {
      let bench = try Bench()
      let path = bench.folder + "/out"
      func run(_ text: String) throws -> EndedProcess {
        var specification = bench.shell(text)
        specification.output = .file(OutputFile(path: path, appends: true, isUsedAgain: true))
        return try bench.run(specification)
      }
      // As a worker does after a command that failed: between two processes.
      let tidyings: [() -> Void] = [
        { unsafe unlink(path) }, { unsafe rename(path, path + ".away") },
      ]
      for tidy in tidyings {
        let isKept = try eventually {
          _ = try run("true")
          return !bench.host.idleOutputs.isEmpty
        }
        try #require(isKept)
        tidy()
        #expect(try run("echo two").outputSize == 4)
        #expect(try bench.output() == "two\n")
        unsafe unlink(path)
      }
    }

    @Test("What a process does to the flags of its output does not reach the next one")
    func flags() throws {
      let bench = try Bench()
      let file = try bench.file("out").openForWriting()
      _ = fcntl(file.descriptor.number, F_SETFL, O_NONBLOCK)
      _ = OutputStream(file: file, limit: nil, isOutput: true)
      let flags = fcntl(file.descriptor.number, F_GETFL)
      #expect(flags & O_APPEND != 0 && flags & O_NONBLOCK == 0)
    }

    @Test("A pipe in the place of an output file is refused and does not hang the worker")
    func pipe() throws {
      let bench = try Bench()
      #expect(unsafe mkfifo(bench.folder + "/out", 0o600) == 0)
      #expect(throws: SpawnError.self) { try bench.start(bench.command(["/bin/true"])) }
      #expect(throws: SpawnError.self) { try OutputTail.last(of: bench.file("out")) }
    }

    @Test("G26: the last 64 KiB, and any piece, of a file")
    func tail() throws {
      let bench = try Bench()
      _ = try bench.run(bench.shell("seq 100000"))
      let file = bench.file("out")
      let last = try OutputTail.last(of: file)
      #expect(last.bytes.count == 65_536)
      #expect(last.offset + last.bytes.count == last.fileSize)
      #expect(String(decoding: last.bytes, as: UTF8.self).hasSuffix("99999\n100000\n"))
      #expect(try OutputTail.last(3, of: file).bytes == Array("00\n".utf8))
      #expect(try OutputTail.read(file, from: 2, upTo: 4).bytes == Array("2\n3\n".utf8))
      let beyond = try OutputTail.read(file, from: 1 << 40)
      #expect(beyond.bytes.isEmpty && beyond.offset == beyond.fileSize)
      #expect(throws: SpawnError.file(path: bench.folder + "/none", error: ENOENT)) {
        try OutputTail.last(of: bench.file("none"))
      }
    }

    @Test("G26: output beyond its limit is cut, marked, and costs the worker no memory (F19)")
    func limit() throws {
      let bench = try Bench()
      var specification = bench.shell("printf start; head -c 300000000 /dev/zero; echo e >&2")
      specification.outputLimit = 1_000_000
      specification.error = .file(bench.file("err"))
      var before = rusage()
      _ = unsafe getrusage(RUSAGE_SELF.rawValue, &before)
      let ended = try bench.run(specification)
      var after = rusage()
      _ = unsafe getrusage(RUSAGE_SELF.rawValue, &after)
      #expect(after.ru_maxrss - before.ru_maxrss < 32 << 10)
      #expect(ended.status == .exited(0))
      #expect(ended.outputWasCut && !ended.errorWasCut)
      let marker = ProcessHost.cutMarker(1_000_000)
      let last = try OutputTail.last(of: bench.file("out"))
      #expect(last.fileSize == 1_000_000 + marker.utf8.count)
      #expect(String(decoding: last.bytes.suffix(marker.utf8.count), as: UTF8.self) == marker)
      #expect(try OutputTail.read(bench.file("out"), from: 0, upTo: 5).bytes == Array("start".utf8))
      #expect(try bench.output("err") == "e\n")
    }

    @Test("G26: a file is cut while its process goes on writing")
    func limitWhileRunning() throws {
      let bench = try Bench()
      var specification = bench.shell("yes")
      specification.outputLimit = 10_000
      let reference = try bench.start(specification)
      #expect(
        eventually { (try? OutputTail.last(1, of: bench.file("out")).fileSize > 1 << 20) ?? false })
      // Not asked for: the host's own timer does it.
      var lengths: [Int] = []
      #expect(
        eventually {
          _ = bench.host.collectEnded()
          lengths.append((try? OutputTail.last(1, of: bench.file("out")).fileSize) ?? 0)
          return lengths.count > 1 && lengths[lengths.count - 1] < lengths[lengths.count - 2]
        })
      bench.host.killTree(reference)
      let ended = try bench.end(of: reference)
      #expect(ended.outputWasCut)
      #expect(try bench.output().hasSuffix(ProcessHost.cutMarker(10_000)))
    }
  }
}
