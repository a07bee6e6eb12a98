// Commands from end to end: real processes, real sockets.

import Citations
import Glibc
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// One host of processes at a time: the test process adopts the orphans of all of them.
@Suite(.serialized) struct WorkerTests {}

extension WorkerTests {
  // Environment, streams, outputs, logs also after the end.
  @Test(.checks("G15")) func commandEndToEnd() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    var specification = FakeCoordinator.shell(
      """
      echo "$OP_GRAPH $OP_NAME $OP_INDEX $OP_ITEM $OP_ATTEMPT $OP_CPUS $OP_MEMORY_BYTES"
      echo "$COLOUR"; pwd; echo "$OP_SCRATCH"; test -e "$OP_CANCELLED" || echo "not cancelled"
      mkdir -p deep/er; touch deep/er/file; ln -s /etc link
      test -n "$OP_FENCE" && test -z "$HOSTILE" && echo oops >&2
      echo "answer=4 2" > "$OP_OUTPUT"; echo "other=x=y" >> "$OP_OUTPUT"
      """)
    specification.elementKeys = ["item"]
    specification.outputs = ["answer"]
    specification.environment = [
      .init(
        name: "COLOUR",
        value: CommandText(segments: [
          .literal("sky "), .value(.element(0), quoting: .none), .value(.index, quoting: .none),
        ]))
    ]
    let result = try coordinator.run(
      FakeCoordinator.command(firstIndex: 7, name: "paint", isArray: true, specification),
      argument: ElementValues.encode(["a b"]))
    #expect(result.isSuccess)
    #expect(result.endedAt >= result.startedAt)
    let outputs = try Wire.decodeOutputs(result.output)
    #expect(outputs.map(\.key) == ["answer", "other"])
    #expect(outputs.map(\.value) == ["4 2", "x=y"])
    let attempt = FakeCoordinator.attempt(7)
    let chunk = try coordinator.log(attempt, .standardOutput)
    let folder = "\(worker.folder)/slots/0"
    #expect(
      String(decoding: chunk.bytes, as: UTF8.self)
        == "12 paint 1 a b 1 1 0\nsky a b1\n\(folder)\n\(folder)\nnot cancelled\n")
    #expect(chunk.isComplete && chunk.size == UInt64(chunk.bytes.count))
    let tail = try coordinator.log(attempt, .standardError, offset: -5)
    #expect(String(decoding: tail.bytes, as: UTF8.self) == "oops\n")
    // The slot is as the next command wants it; the logs have moved.
    #expect(Folders.names(in: folder) == [])
    #expect(Folders.names(in: "\(worker.folder)/slots") == ["0"])
    #expect(Folders.names(in: "\(worker.folder)/12").sorted() == ["7.1.err", "7.1.out"])
  }

  // The memory of a short operation is its own or not told, never the worker's; that of a
  // large one is told, and by a cgroup where there is one also that of a small one.
  @Test(.checks("G26")) func memoryIsTheOperationsOwn() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    func bytes(_ position: UInt32, _ words: [String], memory: Int64 = 0) throws -> UInt64 {
      var template = FakeCoordinator.command(
        at: position, firstIndex: position,
        CommandSpecification(form: .arguments(words.map { CommandText($0) })))
      template.demand.memoryBytes = memory
      let result = try coordinator.run(template)
      #expect(result.isSuccess, "\(result)")
      return result.maximumResidentBytes
    }
    for position in 0..<UInt32(10) {
      #expect(try bytes(position, ["/bin/true"]) < 8 << 20)
      #expect(try bytes(10 + position, ["/bin/true"], memory: 64 << 20) < 8 << 20)
    }
    let dd = ["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=400M", "count=1", "status=none"]
    #expect((400 << 20..<440 << 20).contains(try bytes(20, dd)))
    #expect(try worker.end(coordinator) == .stopped)
  }

  // What a shell does not find is told with what to do about it; not where PATH was chosen.
  @Test func whatIsNotFound() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    var own = FakeCoordinator.shell("no-such-program")
    var texts: [String] = []
    for (position, form) in [own.form, .arguments([CommandText("no-such-program")])].enumerated() {
      let result = try coordinator.run(
        FakeCoordinator.command(
          at: UInt32(position), firstIndex: UInt32(position), CommandSpecification(form: form)))
      #expect(!result.isSuccess && result.exitStatus == 127)
      texts.append(result.diagnostic)
    }
    #expect(texts.allSatisfy { $0.contains("no-such-program") })
    #expect(
      texts.allSatisfy { $0.hasSuffix("in a manifest by env: {inherit: [PATH]}") }, "\(texts)")
    own.environment = [.init(name: "PATH", value: CommandText("/bin"))]
    let chosen = try coordinator.run(FakeCoordinator.command(at: 2, firstIndex: 2, own))
    #expect(chosen.exitStatus == 127 && !chosen.diagnostic.contains("inherit"))
    // The end of a long stderr gives way.
    let long = try coordinator.run(
      FakeCoordinator.command(
        at: 3, firstIndex: 3, FakeCoordinator.shell("yes é | head -c 9000 >&2; exit 127")))
    #expect(long.diagnostic.utf8.count <= Limits.diagnosticBytes)
    #expect(long.diagnostic.hasSuffix("[PATH]}"))
    #expect(try worker.end(coordinator) == .stopped)
  }

  // `${{ needs.OP.outputs.KEY }}`, quoted, from a dependency of the same worker.
  @Test(.checks("S135", "S151")) func outputsOfALocalDependency() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    let read = CommandText(segments: [
      .literal("printf '%s.' "),
      .value(.output(operation: "make", key: "word"), quoting: .shell),
    ])
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          at: 0, name: "make", isArray: true,
          FakeCoordinator.shell("echo \"word=it's $OP_INDEX\" > $OP_OUTPUT")),
        FakeCoordinator.command(
          at: 1, firstIndex: 2, name: "use",
          CommandSpecification(form: .shell(interpreter: ["/bin/sh", "-c"], text: read))),
      ]
      $0.dispatches = [
        Dispatch(
          attempt: FakeCoordinator.attempt(2), template: 1,
          awaits: [0, 1].map {
            LocalDependency(
              operation: FakeCoordinator.attempt($0).operation, policy: .succeeded)
          }),
        Dispatch(attempt: FakeCoordinator.attempt(0), template: 0),
        Dispatch(attempt: FakeCoordinator.attempt(1), template: 0),
      ]
    }
    let attempt = FakeCoordinator.attempt(2)
    try coordinator.until("the end") { coordinator.result(attempt) != nil }
    let chunk = try coordinator.log(attempt, .standardOutput)
    #expect(String(decoding: chunk.bytes, as: UTF8.self) == "it's 1.it's 2.")
    withExtendedLifetime(worker) {}
  }

  // Each way to fail, with its cause (closed list) and what a person reads.
  @Test func failures() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    func fail(_ index: UInt32, _ specification: CommandSpecification) throws -> AttemptResult {
      try coordinator.run(FakeCoordinator.command(at: index, firstIndex: index, specification))
    }
    let status = try fail(0, FakeCoordinator.shell("echo broken >&2; exit 3"))
    #expect(status.cause == .failed && status.exitStatus == 3)
    #expect(status.diagnostic == "broken\n")
    let signal = try fail(1, FakeCoordinator.shell("kill -SEGV $$"))
    #expect(signal.cause == .signal && signal.signal == SIGSEGV)
    let missing = try fail(
      2, CommandSpecification(form: .arguments([CommandText("/no/such/program")])))
    #expect(missing.cause == .cannotStart && missing.diagnostic.contains("/no/such/program"))
    let promised = try fail(3, FakeCoordinator.shell("true") { $0.outputs = ["size"] })
    #expect(promised.cause == .badOutput && promised.diagnostic.contains("'size'"))
    let input = CommandText(segments: [
      .value(.output(operation: "gone", key: "k"), quoting: .shell)
    ])
    let absent = try fail(
      4, CommandSpecification(form: .shell(interpreter: ["/bin/sh", "-c"], text: input)))
    #expect(absent.cause == .missingInput && absent.diagnostic.contains("needs.gone.outputs.k"))
    let allowed = try fail(
      5, FakeCoordinator.shell("exit 3") { $0.successStatuses = [0, 3] })
    #expect(allowed.isSuccess && allowed.exitStatus == 3)
    let large = try fail(
      6, FakeCoordinator.shell("printf 'k=%070000d' 0 > $OP_OUTPUT"))
    #expect(large.cause == .badOutput)
    withExtendedLifetime(worker) {}
  }

  // What a command leaves closed, or beside its folder, no later one finds.
  @Test(.checks("G38")) func nothingIsLeftForTheNextOne() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let unreadable =
      geteuid() == 0 ? "mkdir $OP_OUTPUT; echo k=1 > $OP_OUTPUT/inner" : "echo k=1 > $OP_OUTPUT"
    let first = try coordinator.run(
      FakeCoordinator.command(
        FakeCoordinator.shell(
          """
          mkdir -p a/b c; echo secret > a/b/file; chmod 0 a/b/file a/b a; chmod 0555 c
          \(unreadable); chmod 0 $OP_OUTPUT
          """)))
    #expect(first.cause == .badOutput || geteuid() == 0, "\(first)")
    let second = try coordinator.run(
      FakeCoordinator.command(
        at: 1, firstIndex: 1,
        FakeCoordinator.shell("pwd; ls -A; test ! -e $OP_OUTPUT && echo k=2 > $OP_OUTPUT")))
    #expect(second.isSuccess, "\(second)")
    #expect(try Wire.decodeOutputs(second.output).map(\.value) == ["2"])
    let log = try coordinator.log(FakeCoordinator.attempt(1), .standardOutput)
    #expect(String(decoding: log.bytes, as: UTF8.self) == "\(worker.folder)/slots/0\n")
  }

  // A slot that cannot be emptied is nobody's any more.
  @Test(.enabled(if: geteuid() == 0, "a mount stands for what cannot be removed"))
  func aFullSlotIsSetAside() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let folder = "\(worker.folder)/slots/0"
    defer { _ = unsafe umount2("\(folder)/m", 2) }
    let first = try coordinator.run(
      FakeCoordinator.command(
        FakeCoordinator.shell("mkdir m && mount -t tmpfs none m && echo secret > m/file")))
    try #require(first.isSuccess, "\(first)")
    for index in 1...2 as ClosedRange<UInt32> {
      let next = try coordinator.run(
        FakeCoordinator.command(at: index, firstIndex: index, FakeCoordinator.shell("pwd; ls -A")))
      #expect(next.isSuccess)
      let log = try coordinator.log(FakeCoordinator.attempt(index), .standardOutput)
      #expect(String(decoding: log.bytes, as: UTF8.self) == "\(worker.folder)/slots/1\n")
    }
    #expect(Folders.text(of: "\(folder)/m/file") == "secret\n")
  }

  // Whatever a command did to its slot, the next one finds a fresh folder and no foreign words.
  @Test func aSlotIsUsedAgain() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let first = try coordinator.run(
      FakeCoordinator.command(
        FakeCoordinator.shell(
          "echo k=1 > $OP_OUTPUT; echo first; cd /; rm -rf \"$OP_SCRATCH\"; exit 1")))
    #expect(first.cause == .failed)
    let second = try coordinator.run(
      FakeCoordinator.command(
        at: 1, firstIndex: 1, FakeCoordinator.shell("pwd; ls -A; test ! -e $OP_OUTPUT")))
    #expect(second.isSuccess && second.output == [])
    let log = try coordinator.log(FakeCoordinator.attempt(1), .standardOutput)
    #expect(String(decoding: log.bytes, as: UTF8.self) == "\(worker.folder)/slots/0\n")
    let old = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    #expect(String(decoding: old.bytes, as: UTF8.self) == "first\n")
  }

  // A relative output stays in the working directory, whatever links are in it; what leads out
  // is refused with the reason, and nothing is made there.
  @Test(.checks("G38")) func relativeOutputsStay() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let (folder, outside) = ("\(worker.folder)/work", "\(worker.folder)/outside")
    for path in [folder, outside, "\(folder)/real"] { try Folders.make(path) }
    try #require(unsafe symlink(outside, "\(folder)/link") == 0)
    try #require(unsafe symlink("real", "\(folder)/alias") == 0)
    var index: UInt32 = 0
    func run(_ output: String) throws -> AttemptResult {
      defer { index += 1 }
      return try coordinator.run(
        FakeCoordinator.command(
          at: index, firstIndex: index,
          FakeCoordinator.shell("echo words") {
            $0.workingDirectory = folder
            $0.standardOutput = CommandText(output)
          }))
    }
    for path in [
      "link/x", "../outside/x", ".//../outside/x", "alias/../../outside/x", "\(folder)/./link/x",
      "\(folder)/real/./../real/x",
    ] {
      let result = try run(path)
      #expect(result.cause == .cannotStart, "\(path)")
      #expect(result.diagnostic.contains("leads out of the folder it starts from"), "\(result)")
    }
    #expect(Folders.names(in: outside) == [])
    #expect(try run("alias/x").isSuccess)
    #expect(Folders.text(of: "\(folder)/real/x") == "words\n")
    let log = try coordinator.log(FakeCoordinator.attempt(index - 1), .standardOutput)
    #expect(String(decoding: log.bytes, as: UTF8.self) == "words\n")
  }

  // Standard input as text, output to a path of the user's, both streams into one.
  @Test func streams() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let path = "\(worker.folder)/result.txt"
    let result = try coordinator.run(
      FakeCoordinator.command(
        FakeCoordinator.shell("cat; echo more >&2") {
          $0.standardInput = .text(CommandText("hello "))
          $0.standardOutput = CommandText(path)
          $0.standardError = CommandText(path)
          $0.workingDirectory = worker.folder
        }))
    #expect(result.isSuccess)
    #expect(Folders.text(of: path) == "hello more\n")
    // The log is where the stream went.
    let chunk = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    #expect(String(decoding: chunk.bytes, as: UTF8.self) == "hello more\n")
  }

  // A log can be read while it is written.
  @Test func logOfARunningOne() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [FakeCoordinator.command(FakeCoordinator.shell("echo first; exec sleep 100"))]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("a start") { coordinator.hasStarted(FakeCoordinator.attempt(0)) }
    var chunk = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    while chunk.bytes.isEmpty {
      chunk = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    }
    #expect(String(decoding: chunk.bytes, as: UTF8.self) == "first\n")
    #expect(!chunk.isComplete)
    let none = try coordinator.log(FakeCoordinator.attempt(99), .standardOutput)
    #expect(none.bytes.isEmpty)
    withExtendedLifetime(worker) {}
  }

  // The whole tree, also what left its session, after the grace; OP_CANCELLED appears.
  @Test(.checks("G20")) func cancelEndsTheTree() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let mark = "86400.\(UInt32.random(in: 0...UInt32.max))"
    let seen = "\(worker.folder)/seen"
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          FakeCoordinator.shell(
            """
            trap 'test -e "$OP_CANCELLED" && touch \(seen)' TERM
            setsid sleep \(mark) & (trap '' TERM; sleep \(mark)) & touch \(worker.folder)/ready
            while true; do sleep 0.05; done
            """))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("it runs") {
      Folders.text(of: "\(worker.folder)/ready") != nil && processes(with: mark).count >= 2
    }
    try coordinator.order {
      $0.cancels = [
        CancelOrder(attempt: FakeCoordinator.attempt(0), grace: .milliseconds(500))
      ]
    }
    try coordinator.until("its end") { coordinator.result(FakeCoordinator.attempt(0)) != nil }
    let result = try #require(coordinator.result(FakeCoordinator.attempt(0)))
    #expect(result.wasStopped && result.wasForced && result.cause == .none)
    #expect(coordinator.entries.contains(.cancelTaken(FakeCoordinator.attempt(0))))
    #expect(processes(with: mark) == [])
    #expect(Folders.text(of: seen) != nil)
  }

  // Its own time limit, then its own grace.
  @Test(.checks("G21")) func timeout() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let result = try coordinator.run(
      FakeCoordinator.command(
        FakeCoordinator.shell("trap '' TERM; while true; do sleep 0.05; done") {
          $0.timeout = .milliseconds(300)
          $0.grace = .milliseconds(200)
        }))
    #expect(result.cause == .timeout && result.wasForced)
    withExtendedLifetime(worker) {}
  }

  // Quality of service is the scheduling class of the job.
  @Test(.checks("S55")) func qualityOfServiceIsNiceness() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let result = try coordinator.run(
      FakeCoordinator.command(qos: .background, FakeCoordinator.shell("nice")))
    #expect(result.isSuccess)
    let chunk = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    #expect(String(decoding: chunk.bytes, as: UTF8.self) == "\(min(19, own + 10))\n")
    withExtendedLifetime(worker) {}
  }
}
