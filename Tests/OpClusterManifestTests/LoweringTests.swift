// What becomes of declarations: queues, settings, join points, what comes last, and files on a
// real disk.

import Citations
import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct LoweringTests {
  @Test func queuesAreOwnOrOfTheCluster() throws {
    let compiled = compile(
      """
      version: 1
      queues:
        io: {max_concurrent: 2, qos: utility, suspended: true}
        free: {require: {disk: ssd, zone: [a, b]}}
      operations:
        a: {run: x, queue: io}
        b: {run: x, queue: gpu}
        c: {run: x}
        d: {barrier: true, needs: a}
        e: {run: x, queue: free}
        f: {run: x, queue: gpu}
      """)
    let submission = try compiled.submission
    #expect(
      submission.queues == [
        .own(QueueSettings(name: "io", qos: .utility, maximumConcurrent: 2, isSuspended: true)),
        .own(
          QueueSettings(
            name: "free",
            pool: [
              LabelRequirement(key: "disk", values: ["ssd"]),
              LabelRequirement(key: "zone", values: ["a", "b"]),
            ])), .named("gpu"), .named("default"),
      ])
    #expect(submission.templates.map { $0.queue } == [0, 2, 3, 3, 1, 2])
  }

  @Test func defaultsAreMergedKeyByKeyOrReplaced() throws {
    let compiled = compile(
      """
      version: 1
      env: {A: 1, B: 1}
      defaults:
        env: {B: 2, C: 2}
        labels: {x: 1, y: 1}
        resources: {cpus: 2, memory: 1GiB, lic: 1}
        require: {os: linux, gpu: [a, b]}
        retry: {max: 5, backoff: 3s}
        cancel: {signal: INT, grace: 3s}
        on_worker_lost: fail
        priority: low
      operations:
        a:
          run: x
          env: {C: 3}
          labels: {y: 2}
          resources: {cpus: 0}
          require: {gpu: c}
          retry: 1
          cancel: {grace: 0s}
          on_worker_lost: restart
          priority: 10
          shell: [zsh, -c]
          workdir: ./sub
          stdout: /abs/o
          stderr: e
          stdin: {file: in}
          ok_exit_codes: [0, 3]
          logs: {max: 1KiB, keep: always}
        b: {run: x, max_lost: 2}
        c: {run: x, workdir: .}
      """)
    let a = try compiled.template("a")
    #expect(a.labels == [Label(key: "x", value: "1"), Label(key: "y", value: "2")])
    #expect(
      a.demand
        == Resources(
          cpus: .zero, memoryBytes: 1 << 30,
          custom: [.init(name: "lic", amount: ResourceAmount(1))]))
    #expect(
      a.requirements == [
        LabelRequirement(key: "os", values: ["linux"]), LabelRequirement(key: "gpu", values: ["c"]),
      ])
    #expect(a.retry == RetryPolicy(maximum: 1))
    #expect(a.maximumLosses == Limits.lossesBeforeGivingUp)
    // S48: pulled toward normal to the first level met.
    #expect(a.priority == .veryHigh)
    let command = try compiled.command("a")
    #expect(command.environment.map { $0.name } == ["A", "B", "C"])
    let values = command.environment.map { $0.value }
    #expect(values == [CommandText("1"), CommandText("2"), CommandText("3")])
    #expect(command.stopSignal == 2)
    #expect(command.grace == .zero)
    #expect(command.workingDirectory == "/base/sub")
    #expect(command.standardOutput == CommandText("/abs/o"))
    #expect(command.standardError == CommandText("./e"))
    #expect(command.standardInput == .file(CommandText("/base/in")))
    #expect(command.successStatuses == [0, 3])
    #expect(command.maximumOutputBytes == 1024)
    let b = try compiled.template("b")
    #expect(b.maximumLosses == 2)
    #expect(b.retry == RetryPolicy(maximum: 5, backoff: .seconds(3)))
    #expect(try compiled.command("b").workingDirectory == "/here")
    #expect(try compiled.command("c").workingDirectory == "/base")
  }

  @Test func onWorkerLostFailIsNoLoss() throws {
    let compiled = compile("version: 1\noperations: {a: {run: x, on_worker_lost: fail}}")
    #expect(try compiled.template("a").maximumLosses == 0)
  }

  /// ```
  ///   a ─finished─▶ j ─succeeded─▶ b,   and z waits for all three to finish, y for a's failure
  /// ```
  @Test func barriersJoinAndFinallyComesLast() throws {
    let compiled = compile(
      """
      version: 1
      operations: {a: {run: x}, b: {run: x}}
      barriers: [{name: j, after: [a], before: [b], when: finished}]
      finally:
        y: {run: x, needs: {a: failed}}
        z: {run: x, needs: y}
      on_failure: cancel
      max_failures: 50%
      """)
    let submission = try compiled.submission
    #expect(submission.templates.map { $0.name } == ["a", "b", "j", "y", "z"])
    #expect(submission.templates.map { $0.isFinal } == [false, false, false, true, true])
    #expect(submission.templates[2].work == .nothing)
    #expect(submission.templates[2].demand == .none)
    let expected: [(UInt32, UInt32, EdgePolicy)] = [
      (2, 1, .succeeded), (0, 2, .finished), (0, 3, .failed), (1, 3, .finished),
      (2, 3, .finished), (3, 4, .succeeded), (0, 4, .finished), (1, 4, .finished),
      (2, 4, .finished),
    ]
    #expect(
      submission.groupEdges == expected.map { GroupEdge(from: $0.0, to: $0.1, policy: $0.2) })
    #expect(submission.failurePolicy == .cancel)
    #expect(submission.maximumFailures == 1)
  }

  @Test func theExpandedViewHasCommandsAndElements() throws {
    let compiled = compile(
      """
      version: 1
      params: {p: a b}
      operations:
        a: {array: {items: [x y]}, run: "f ${{ params.p }} ${{ item }} ${{ index }}"}
        b:
          {needs: {a: finished}, queue: q, run: [g, "${{ params.p }}", "${{ needs.a.outputs.k }}"]}
        c: {call: {type: sleep}}
      """)
    let expanded = compiled.result.expanded
    #expect(
      expanded.map { $0.command } == [
        "f 'a b' ${{ item }} ${{ index }}", "g 'a b' ${{ needs.a.outputs.k }}", "(call sleep)",
      ])
    #expect(expanded[0].element(0).command == "f 'a b' 'x y' 1")
    #expect(expanded[1].needs == [.init(name: "a", policy: .finished, match: .all)])
    #expect(expanded.map { $0.queue } == ["default", "q", "default"])
  }

  @Test func filesOfADisk() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/manifest-\(UUID().uuidString)"
    let files = FileManager.default
    try files.createDirectory(atPath: folder + "/in", withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    _ = files.createFile(atPath: folder + "/in/b.txt", contents: Data("one\ntwo".utf8))
    _ = files.createFile(atPath: folder + "/in/a.bin", contents: Data([0xFF]))
    try files.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "in/b.txt")
    try files.createSymbolicLink(atPath: folder + "/device", withDestinationPath: "/dev/zero")
    let disk = FileAccess.disk
    #expect(disk.read(folder + "/link") == .success(Array("one\ntwo".utf8)))
    #expect(Set(disk.list(folder + "/in") ?? []) == ["a.bin", "b.txt"])
    #expect(disk.list(folder + "/none") == nil)
    for (name, reason) in [
      ("device", "it is not a regular file"), ("in", "it is not a regular file"),
      ("none", "there is no such file"),
    ] {
      #expect(disk.read("\(folder)/\(name)") == .failure(.init(reason: reason)))
    }
    let compiler = ManifestCompiler(
      source: "version: 1\noperations: {a: {run: x, array: {lines: in/a.bin}}}", fileName: "f",
      surroundings: Surroundings(baseFolder: folder))
    let found = compiler.compile(encoders: .empty).diagnostics.map { $0.message }
    #expect(found == ["cannot read 'in/a.bin': it is not UTF-8"])
  }

  // A relative output starts from the operation's own working directory, else from the
  // manifest's folder, and the worker is told which folder it may not leave.
  @Test(.checks("G38")) func whereOutputsStart() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        own: {run: x, workdir: sub, stdout: o/x, stderr: link/e}
        base: {run: x, stdout: o/x, stderr: ./e}
        free: {run: x, stdout: /abs/x}
        inner: {run: x, stdout: a/../b}
      """)
    let own = try compiled.command("own")
    #expect(own.standardOutput == CommandText("./o/x"))
    #expect(own.standardError == CommandText("./link/e"))
    let base = try compiled.command("base")
    #expect(base.workingDirectory == "/here")
    #expect(base.standardOutput == CommandText("/base/./o/x"))
    #expect(try compiled.command("free").standardOutput == CommandText("/abs/x"))
    #expect(try compiled.command("inner").standardOutput == CommandText("/base/./a/../b"))
    for (name, what) in [("../x", "stdout"), ("a/../../x", "stderr"), ("./../x", "stdout")] {
      let found = ManifestCompiler(
        source: "version: 1\noperations: {a: {run: x, \(what): \(name)}}", fileName: "f",
        surroundings: Surroundings(baseFolder: "/base")
      ).compile(encoders: .empty).diagnostics
      #expect(found.map(\.message) == ["'\(what)' leads out of the folder it starts from"])
      #expect(found.map(\.hint) == ["write an absolute path"])
    }
  }

  // What the client writes, the worker reads.
  @Test func pathsOfOutputs() {
    for folder in ["/", "/base", "/base/", "/./base/./deep"] {
      let text = OutputPath.beginning(beneath: folder) + "a/./b"
      let path = OutputPath(text, in: "/work")
      #expect(path.name == "a/./b")
      #expect(path.root == (folder == "/" ? "/" : folder.contains("deep") ? "/base/deep" : "/base"))
    }
    #expect(OutputPath("/base/./x", in: "/w").path == "/base/x")
    #expect(OutputPath("./x", in: "/w").root == "/w")
    #expect(OutputPath("/abs//x", in: "/w").root == nil)
    // A value cannot move the folder once it is named.
    #expect(OutputPath("/base/./link/./x", in: "/w").root == "/base")
    #expect(!OutputPath.leadsOut("a/..") && OutputPath.leadsOut("a/../.."))
    // For the kernel a slash is one, whatever mark combines with it.
    #expect(OutputPath.leadsOut("../\u{301}b"))
    #expect("/a/\u{301}b//c".pathNames == ["a", "\u{301}b", "c"])
  }

  /// A command at the limit of a payload, and one past it.
  @Test func theLargestCommand() {
    let compiler = ManifestCompiler(
      source: "version: 1\noperations: {a: {run: x}}", fileName: "f",
      surroundings: Surroundings(baseFolder: "/"))
    for (bytes, isFine) in [(Limits.payloadBytes, true), (Limits.payloadBytes + 1, false)] {
      let result = compiler.compile(
        encoders: PayloadEncoders(
          command: { _ in Array(repeating: 0, count: bytes) }, callInput: { _ in [] },
          blocks: { _ in [] }, blockElement: { $0 }))
      #expect((result.submission != nil) == isFine)
    }
  }

  @Test(arguments: [[[Int]](), [[1], [2], []], [[1, 2], [2], [3], []]])
  func graphsWithoutACircle(needs: [[Int]]) { #expect(Cycles.find(needs: needs).isEmpty) }

  @Test func circlesAreFoundAndLongChainsAreWalked() {
    #expect(Cycles.find(needs: [[0]]) == [[0]])
    #expect(Cycles.find(needs: [[1], [2], [0], [4], [3]]) == [[0, 1, 2], [3, 4]])
    let chain = (0..<200_000).map { $0 == 0 ? [] : [$0 - 1] }
    #expect(Cycles.find(needs: chain).isEmpty)
  }
}
