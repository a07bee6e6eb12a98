// What others put where our programs look for their own (G39): records that name other processes,
// folders of strangers, pipes and links, folders that all can write to, and coordinators of others.
// Real programs; those of another user where the tests are root's.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite struct ForeignFolderTests {
  private static let isRoot = geteuid() == 0
  private static let stranger: uid_t = 65_534

  @Test("G39: a record that names another process than a daemon of ours is not believed")
  func recordsOfOthers() async throws {
    try await Lodging.with { lodging in
      try lodging.make(lodging.place)
      for name in ["opcoord", "opworker-1", "sleep"] {
        let (bystander, line) = try lodging.bystander(as: name)
        try lodging.record(line)
        let down = try await lodging.run("opbatch", "down")
        #expect(down.end == 0 && down.error.contains("no local cluster is running"), "\(name)")
        #expect(bystander.end == nil, "\(name): a bystander was ended")
      }
      // The longest record, and one byte more.
      let (bystander, line) = try lodging.bystander()
      for count in [Limits.daemonRecordBytes, Limits.daemonRecordBytes + 1] {
        try lodging.record(line + String(repeating: "\n", count: count - line.utf8.count))
        let down = try await lodging.run("opbatch", "down")
        #expect((down.end == 0) == (count <= Limits.daemonRecordBytes), "\(count): \(down.error)")
      }
      #expect(bystander.end == nil)
    }
  }

  /// What every command meets that looks for the cluster of `up`.
  private static func expectRefusal(
    _ lodging: Lodging, _ what: String, naming path: String
  ) async throws {
    let (bystander, line) = try lodging.bystander()
    if FileManager.default.fileExists(atPath: lodging.place),
      !FileManager.default.fileExists(atPath: "\(lodging.place)/daemons")
    {
      try lodging.record(line)
    }
    for arguments in [["down"], ["ls"], ["up"], ["status"], ["run", "--", "/bin/true"]] {
      let command = try lodging.start("opbatch", arguments)
      let status = try await command.ended(within: .seconds(240))
      // `run -- CMD` keeps 0 to 123 for what CMD says.
      let expected: Int32 = arguments[0] == "run" ? 125 : 78
      #expect(status == expected, "\(what), \(arguments[0]): \(status) \(command.error)")
      #expect(command.error.contains(path), "\(what), \(arguments[0]): \(command.error)")
      #expect(command.error.contains("XDG_RUNTIME_DIR"), "\(what), \(arguments[0]): no next step")
    }
    #expect(bystander.end == nil, "\(what): a bystander was ended")
  }

  @Test("G39: a runtime folder that others can reach into is not used")
  func openRuntimeFolders() async throws {
    try await Lodging.with { lodging in
      for mode: mode_t in [0o777, 0o755] {
        try lodging.make(lodging.place, mode)
        try await Self.expectRefusal(lodging, "mode \(mode)", naming: lodging.place)
        try FileManager.default.removeItem(atPath: lodging.place)
      }
      // Its own mode is right, but it can be exchanged.
      try lodging.make(lodging.place)
      #expect(unsafe chmod(lodging.runtime, 0o777) == 0)
      try await Self.expectRefusal(lodging, "open parent", naming: lodging.runtime)
      #expect(unsafe chmod(lodging.runtime, 0o700) == 0)
      try FileManager.default.removeItem(atPath: lodging.place)
      // A link to a folder that is ours.
      #expect(unsafe symlink(lodging.home, lodging.place) == 0)
      try await Self.expectRefusal(lodging, "link", naming: lodging.place)
      #expect(unsafe unlink(lodging.place) == 0)
    }
  }

  @Test("G39: pipes and links in place of the record of daemons keep nobody waiting")
  func recordsThatAreNoFiles() async throws {
    try await Lodging.with { lodging in
      try lodging.make(lodging.place)
      let path = "\(lodging.place)/daemons"
      #expect(unsafe mkfifo(path, 0o600) == 0)
      try await Self.expectRefusal(lodging, "pipe", naming: path)
      #expect(unsafe unlink(path) == 0)
      #expect(unsafe symlink("/etc/passwd", path) == 0)
      try await Self.expectRefusal(lodging, "link", naming: path)
      #expect(unsafe unlink(path) == 0)
    }
  }

  @Test("G39: a runtime folder of another user", .enabled(if: isRoot, "owners take root"))
  func foreignRuntimeFolder() async throws {
    try await Lodging.with { lodging in
      try lodging.make(lodging.place, 0o755)
      let (bystander, line) = try lodging.bystander()
      try lodging.record(line)
      for path in ["\(lodging.place)/daemons", lodging.place] {
        #expect(unsafe chown(path, Self.stranger, Self.stranger) == 0)
      }
      try await Self.expectRefusal(lodging, "foreign", naming: "belongs to user \(Self.stranger)")
      #expect(unsafe chmod(lodging.place, 0o700) == 0)
      try await Self.expectRefusal(lodging, "foreign", naming: "belongs to user \(Self.stranger)")
      // The file alone.
      #expect(unsafe chown(lodging.place, 0, 0) == 0)
      try await Self.expectRefusal(lodging, "foreign file", naming: "\(lodging.place)/daemons")
      #expect(bystander.end == nil)
      // What is above it.
      #expect(unsafe chown("\(lodging.place)/daemons", 0, 0) == 0)
      #expect(unsafe chown(lodging.runtime, Self.stranger, Self.stranger) == 0)
      try await Self.expectRefusal(lodging, "foreign parent", naming: lodging.runtime)
    }
  }

  /// A stranger's coordinator behind a socket that everybody may write to.
  @Test(
    "G39: nothing is said to a coordinator of another user",
    .enabled(if: isRoot, "two users take root"))
  func coordinatorsOfOthers() async throws {
    try await Lodging.with { lodging in
      #expect(unsafe chmod(lodging.folder, 0o755) == 0)
      let den = "\(lodging.folder)/den"
      try lodging.make(den)
      #expect(unsafe chown(den, Self.stranger, Self.stranger) == 0)
      let (client, worker) = ("ipc://\(den)/client", "ipc://\(den)/worker")
      let theirs = try lodging.start(
        "opcoord", ["serve", "--client", client, "--worker", worker, "--state", "\(den)/state"],
        through: [
          "/usr/bin/setpriv", "--reuid=\(Self.stranger)", "--regid=\(Self.stranger)",
          "--clear-groups", "--",
        ])
      try await eventually("it serves", details: { theirs.error }) {
        theirs.output.contains("workers=")
      }
      for path in [den, "\(den)/client", "\(den)/worker"] {
        #expect(unsafe chmod(path, 0o777) == 0)
      }
      let at = ["--coordinator", client]
      for (arguments, status) in [
        (["ping"] + at, 77), (["ls"] + at, 77),
        (["run"] + at + ["--", "/bin/echo", "secret"], 125),
      ] as [([String], Int32)] {
        let command = try lodging.start("opbatch", arguments)
        #expect(try await command.ended() == status, "\(arguments): \(command.error)")
        #expect(
          command.error.contains("served by a process of user \(Self.stranger)"),
          "\(command.error)")
      }
      let error = await #expect(throws: ClientError.self) {
        _ = try await ClusterConnection.connect(to: client)
      }
      #expect(error?.kind == .foreignServer && error?.hint.isEmpty == false)
      let ours = try lodging.start(
        "opworker",
        [
          "serve", "--allow-root", "--coordinator", worker, "--scratch",
          "\(lodging.folder)/scratch",
        ])
      #expect(try await ours.ended() == 77)
      #expect(ours.error.contains("user \(Self.stranger)"), "\(ours.error)")
      // It was told nothing; and this test would have noticed.
      let witness = try await ClusterConnection.connect(
        to: client, deadline: .seconds(240), servedByUser: Self.stranger)
      #expect(try await witness.graphs(Selection(graphs: .all)).isEmpty)
      #expect(try await witness.workers().isEmpty)
      await witness.close()
    }
  }

  @Test("G39: keys, journals and scratch folders that can be moved away are not used")
  func folderAboveIsOpen() async throws {
    try await Lodging.with { lodging in
      let open = "\(lodging.folder)/open"
      try lodging.make(open)
      try lodging.make("\(open)/inner")
      let sockets = [
        "--client", "ipc://\(lodging.folder)/c", "--worker", "ipc://\(lodging.folder)/w",
      ]
      let away = ["--client", "ipc://\(open)/inner/c", "--worker", "ipc://\(open)/inner/w"]
      let network = ["--client", "tcp://127.0.0.1:*", "--worker", "tcp://127.0.0.1:*"]
      #expect(unsafe chmod(open, 0o777) == 0)
      let state = ["--state", "\(lodging.folder)/state"]
      let commands: [(String, [String], Int32)] = [
        ("opcoord", ["serve", "--allow-root", "--state", "\(open)/inner/state"] + sockets, 77),
        ("opcoord", ["serve", "--allow-root", "--state", "\(open)/inner"] + sockets, 77),
        ("opcoord", ["serve", "--allow-root"] + state + away, 77),
        (
          "opcoord", ["serve", "--allow-root", "--keys", "\(open)/inner/keys"] + state + network, 78
        ),
        (
          "opworker",
          [
            "serve", "--allow-root", "--coordinator", "ipc://\(lodging.folder)/w", "--scratch",
            "\(open)/inner/scratch",
          ], 77
        ),
        ("opbatch", ["key", "show", "--keys", "\(open)/inner"], 78),
      ]
      for (program, arguments, status) in commands {
        let command = try lodging.start(program, arguments)
        let end = try await command.ended(within: .seconds(240))
        #expect(end == status, "\(program) \(arguments): \(end) \(command.error)")
        #expect(command.error.contains("\(open) above it has mode 0777"), "\(command.error)")
      }
      #expect(lodging.names(in: "\(open)/inner") == [], "something was left there")
    }
  }

  @Test("G39: a configuration that others can change is not used")
  func configurations() async throws {
    try await Lodging.with { lodging in
      let folder = "\(lodging.home)/.config/opcluster"
      try lodging.make("\(lodging.home)/.config")
      try lodging.make(folder)
      let path = "\(folder)/config.yaml"
      let text = "coordinator: tcp://127.0.0.1:1\n"
      #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
      for (spoilt, mode) in [(path, 0o666), (folder, 0o777)] as [(String, mode_t)] {
        #expect(unsafe chmod(spoilt, mode) == 0)
        for (program, arguments) in [
          ("opbatch", ["ls"]), ("opcoord", ["config", "show"]), ("opworker", ["resources"]),
        ] {
          let command = try lodging.start(program, arguments)
          #expect(try await command.ended() == 78, "\(program): \(command.error)")
          #expect(command.error.contains(spoilt), "\(program): \(command.error)")
        }
        #expect(unsafe chmod(spoilt, 0o700) == 0)
      }
    }
  }

  @Test("G39: without a home a worker's folder is below nobody's but ours")
  func scratchWithoutHome() async throws {
    try await Lodging.with { lodging in
      // XDG_STATE_HOME stands for the home that is not there.
      let foreign = "\(lodging.folder)/foreign"
      try lodging.make(foreign, 0o777)
      let worker = try lodging.start(
        "opworker", ["serve", "--allow-root", "--coordinator", "ipc://\(lodging.folder)/w"],
        through: ["/usr/bin/env", "XDG_STATE_HOME=\(foreign)"])
      #expect(try await worker.ended(within: .seconds(240)) == 77)
      #expect(worker.error.contains("\(foreign) above it"), "\(worker.error)")
      #expect(lodging.names(in: foreign) == [])
    }
  }
}

/// Sockets are in the runtime folder, which is memory on many machines; all that grows is not.
@Suite struct LocalClusterFolderTests {
  @Test("what `up` keeps is in the state folder") func upKeepsItsFilesOnTheDisk() async throws {
    try await Lodging.with { lodging in
      let up = try await lodging.run("opbatch", "up")
      #expect(up.end == 0, "\(up.error)")
      let run = try await lodging.run("opbatch", "run", "--", "/bin/sh", "-c", "echo $OP_SCRATCH")
      #expect(run.end == 0, "\(run.error)")
      #expect(run.output.hasPrefix("\(lodging.state)/local-files/scratch-1/"), "\(run.output)")
      #expect(lodging.names(in: lodging.place) == ["client", "daemons", "worker"])
      #expect(lodging.names(in: lodging.runtime) == ["opcluster"])
      #expect(
        lodging.names(in: "\(lodging.state)/local-files")
          == ["opcoord.log", "opworker-1.log", "scratch-1"])
      #expect(lodging.names(in: "\(lodging.state)/local").contains("journal.lock"))
      let down = try await lodging.run("opbatch", "down")
      #expect(down.end == 0 && down.error.contains("has ended"), "\(down.error)")
      #expect(lodging.names(in: lodging.place) == [])
    }
  }

  @Test("what `run` keeps is in the state folder, and goes with it, however it ends")
  func runKeepsItsFilesOnTheDisk() async throws {
    try await Lodging.with { lodging in
      let script = "echo $OP_SCRATCH; exec sleep 1000"
      let killed = try lodging.start(
        "opbatch", ["run", "--no-stdin", "--", "/bin/sh", "-c", script], input: nil)
      try await eventually("it runs", details: { killed.error }) {
        killed.output.hasPrefix("\(lodging.state)/run-")
      }
      #expect(lodging.names(in: lodging.state).count == 1)
      for name in lodging.names(in: lodging.runtime) {
        #expect(lodging.names(in: "\(lodging.runtime)/\(name)") == ["client", "worker"])
      }
      // Beside one that lives, its folder stays.
      let beside = try await lodging.run("opbatch", "run", "--", "/bin/true")
      #expect(beside.end == 0, "\(beside.error)")
      #expect(lodging.names(in: lodging.state).count == 1)
      killed.signal(SIGKILL)
      _ = try await killed.ended()
      let next = try await lodging.run("opbatch", "run", "--", "/bin/true")
      #expect(next.end == 0, "\(next.error)")
      // Its daemons notice by themselves, and may have been about to write.
      try await eventually("what the killed one left is taken away") {
        _ = try await lodging.run("opbatch", "run", "--", "/bin/true")
        return lodging.names(in: lodging.state).isEmpty
      }
    }
  }

  @Test("G39: no core of a command, and no look into it by its own user")
  func commandsAreHidden() async throws {
    try await Lodging.with { lodging in
      let user: uid_t = geteuid() == 0 ? 65_534 : geteuid()
      var through: [String] = []
      if geteuid() == 0 {
        for path in [lodging.folder, lodging.home, lodging.runtime] {
          #expect(unsafe chown(path, user, user) == 0)
        }
        through = [
          "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--",
        ]
      }
      let shell = [
        "/bin/sh", "-c", "ulimit -c unlimited; cd '\(lodging.folder)'; exec \"$0\" \"$@\"",
      ]
      let command = try lodging.start(
        "opbatch", ["run", "--no-stdin", "--", "/bin/sh", "-c", "echo begun; exec sleep 1000"],
        through: through + shell, input: nil)
      try await eventually("it runs", details: { command.error }) {
        command.output.contains("begun")
      }
      var status = stat()
      #expect(unsafe stat("/proc/\(command.process)/mem", &status) == 0)
      #expect(status.st_uid == 0, "it is its user's, who could look into it")
      command.signal(SIGSEGV)
      #expect(try await command.ended() == 128 + SIGSEGV)
      #expect(lodging.names(in: lodging.folder).allSatisfy { !$0.hasPrefix("core") })
    }
  }

  @Test("a worker that lives and does not join is waited for as long as was asked")
  func workersThatDoNotJoin() async throws {
    #expect(EmbeddedCluster.Settings().deadline == Limits.localStart)
    try await Lodging.with { lodging in
      let worker = "\(lodging.folder)/worker"
      try RealCluster.write("#!/bin/sh\nexec sleep 1000\n", to: "\(worker).text")
      try await makeExecutable(worker, from: "\(worker).text")
      // A loaded machine may need the whole of a short deadline to start its coordinator.
      for seconds in [3, 12, 48] {
        let message = try await Self.complaint(of: worker, within: seconds)
        if message.contains("did not join") { return }
        #expect(message.contains("did not listen within \(seconds) s"), "\(message)")
      }
      Issue.record("no coordinator listened")
    }
  }

  /// What the start of a cluster says whose worker does not join in time.
  private static func complaint(of worker: String, within seconds: Int) async throws -> String {
    do {
      let cluster = try await EmbeddedCluster.start(
        EmbeddedCluster.Settings(
          workers: 1, deadline: .seconds(seconds), workerExecutable: worker))
      Issue.record("it joined")
      await cluster.end()
      return ""
    } catch {
      #expect(error.kind == .unreachable)
      return error.message
    }
  }
}
