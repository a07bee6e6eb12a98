// X5: another user of the same machine, who was there first: folders, records of daemons, pipes,
// links and a coordinator of his own wherever our programs look for theirs. No command waits for
// him, ends a process that is none of ours, or tells him anything. Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let localUserAttack = FaultRow(
  number: "X5", name: "another user of the machine", promise: "G39",
  injection: "runtime folders, records of daemons, sockets, state and settings of another user, "
    + "pipes and links in their places, parents that all may write to, his own coordinator",
  needs: [.otherUsers], isShort: true, run: trap)

/// Nobody.
private let stranger: uid_t = 65_534

/// Where our programs look, as he left it.
private struct Prank: Sendable {
  var name: String
  /// Prepares it with what is his, in this folder; answers the folders in which nothing of ours
  /// may appear.
  var prepare: @Sendable (_ lodging: Lodging, _ den: String) throws -> [String]
  /// Programs start without XDG_RUNTIME_DIR, and find his folder as /tmp.
  var hidesRuntime = false
}

/// X5
private func trap(_ trial: Trial) async throws {
  // Each in a home of its own; most of the time is waiting.
  try await withThrowingTaskGroup(of: Void.self) { group in
    for prank in pranks {
      group.addTask {
        try await Lodging.with { lodging in
          guard unsafe chmod(lodging.folder, 0o755) == 0 else { throw Trouble("chmod: \(errno)") }
          try await Visit(lodging, prank, trial).make()
        }
      }
    }
    try await group.waitForAll()
  }
  trial.note("\(pranks.count) pranks; every command ended by itself, nobody was told anything")
}

// MARK: - What he prepares

private let pranks: [Prank] = [
  Prank(name: "his runtime folder") { lodging, den in
    try plant(lodging.place, lodging, den, isHis: true)
    guard unsafe chmod(lodging.place, 0o755) == 0 else { throw Trouble("chmod: \(errno)") }
    return [lodging.place]
  },
  Prank(name: "his runtime folder, in which all may write") { lodging, den in
    try plant(lodging.place, lodging, den, isHis: true)
    guard unsafe chmod(lodging.place, 0o777) == 0 else { throw Trouble("chmod: \(errno)") }
    return [lodging.place]
  },
  Prank(name: "his sockets and record in a folder of ours") { lodging, den in
    try plant(lodging.place, lodging, den, isHis: false)
    return []
  },
  Prank(name: "a runtime folder that all may exchange") { lodging, den in
    try plant(lodging.place, lodging, den, isHis: false)
    guard unsafe chmod(lodging.runtime, 0o777) == 0 else { throw Trouble("chmod: \(errno)") }
    return [lodging.place]
  },
  Prank(name: "a link to his folder") { lodging, den in
    try plant("\(den)/opcluster", lodging, den, isHis: true)
    guard unsafe symlink("\(den)/opcluster", lodging.place) == 0 else {
      throw Trouble("symlink: \(errno)")
    }
    return ["\(den)/opcluster"]
  },
  Prank(name: "pipes for record and sockets") { lodging, _ in
    try lodging.make(lodging.place)
    try pipes(["daemons", "client", "worker"], in: lodging.place)
    return []
  },
  Prank(name: "pipes for settings, keys and journal") { lodging, _ in
    try folders(["", "/.config", "/.config/opcluster", "/.config/opcluster/keys"], in: lodging)
    try pipes(["config.yaml"], in: "\(lodging.home)/.config/opcluster")
    try pipes(
      ["server.key", "own.key", "allowed"], in: "\(lodging.home)/.config/opcluster/keys")
    try folders(["/.local", "/.local/state", "/.local/state/opcluster"], in: lodging)
    try pipes(["journal.db", "journal.lock"], in: lodging.state)
    return []
  },
  Prank(name: "his settings, which name his coordinator") { lodging, den in
    try folders(["/.config", "/.config/opcluster"], in: lodging)
    let path = "\(lodging.home)/.config/opcluster/config.yaml"
    try write("coordinator: ipc://\(den)/client\n", to: path)
    try give(path)
    return []
  },
  Prank(name: "our settings, which name his coordinator") { lodging, den in
    try folders(["/.config", "/.config/opcluster"], in: lodging)
    let path = "\(lodging.home)/.config/opcluster/config.yaml"
    try write("coordinator: ipc://\(den)/client\n", to: path)
    guard unsafe chmod(path, 0o600) == 0 else { throw Trouble("chmod: \(errno)") }
    return []
  },
  Prank(name: "his state folder") { lodging, _ in
    try folders(["/.local", "/.local/state", "/.local/state/opcluster"], in: lodging)
    try write("no journal", to: "\(lodging.state)/journal.db")
    try give("\(lodging.state)/journal.db")
    try give(lodging.state)
    return [lodging.state]
  },
  Prank(
    name: "no XDG_RUNTIME_DIR, and his folder in /tmp",
    prepare: { lodging, den in
      let inside = "\(lodging.folder)/tmp"
      try lodging.make(inside, 0o1777)
      try lodging.make("\(inside)/home")
      let place = "\(inside)/opcluster-\(geteuid())"
      try plant(place, lodging, den, isHis: true)
      guard unsafe chmod(place, 0o755) == 0 else { throw Trouble("chmod: \(errno)") }
      return [place]
    }, hidesRuntime: true),
]

/// A runtime folder with sockets that lead to his coordinator, and a record that names a process
/// of ours which is no daemon.
private func plant(
  _ place: String, _ lodging: Lodging, _ den: String, isHis: Bool
) throws {
  try lodging.make(place)
  for name in ["client", "worker"] {
    guard unsafe symlink("\(den)/\(name)", "\(place)/\(name)") == 0 else {
      throw Trouble("symlink: \(errno)")
    }
  }
  var record = ""
  for name in ["opcoord", "opworker-1"] { record += try lodging.bystander(as: name).line }
  try write(record, to: "\(place)/daemons")
  guard unsafe chmod("\(place)/daemons", 0o600) == 0 else { throw Trouble("chmod: \(errno)") }
  if isHis {
    try give("\(place)/daemons")
    try give(place)
  }
}

private func give(_ path: String) throws {
  guard unsafe chown(path, stranger, stranger) == 0 else { throw Trouble("chown: \(errno)") }
}

private func pipes(_ names: [String], in folder: String) throws {
  for name in names {
    guard unsafe mkfifo("\(folder)/\(name)", 0o600) == 0 else { throw Trouble("fifo: \(errno)") }
  }
}

private func folders(_ paths: [String], in lodging: Lodging) throws {
  for path in paths where !path.isEmpty { try lodging.make(lodging.home + path) }
}

// MARK: - Who comes by

/// Every command, in the surroundings of one prank.
private struct Visit {
  private let lodging: Lodging
  private let prank: Prank
  private let trial: Trial
  /// All that is his.
  private var den: String { "\(lodging.folder)/den" }

  init(_ lodging: Lodging, _ prank: Prank, _ trial: Trial) {
    self.lodging = lodging
    self.prank = prank
    self.trial = trial
  }

  private func start(
    _ program: String, _ arguments: [String], input: String? = "/dev/null"
  ) throws -> ChildProgram {
    guard prank.hidesRuntime else {
      return try lodging.start(program, arguments, input: input)
    }
    let script = "mount --bind '\(lodging.folder)/tmp' /tmp && exec \"$0\" \"$@\""
    return try lodging.start(
      program, arguments,
      through: [
        "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script,
      ], input: input, variables: ["HOME=/tmp/home"])
  }

  func make() async throws {
    if prank.hidesRuntime, !Surroundings.hasOwnMounts {
      return trial.note("not shown, for want of mounts: \(prank.name)")
    }
    try lodging.make(den)
    try give(den)
    let theirs = try await coordinator()
    let watched = try prank.prepare(lodging, den)
    let before = watched.map(lodging.names(in:))
    let manifest = "\(lodging.folder)/run/secret.yaml"
    try write("version: 1\noperations:\n  a: {run: \"echo secret\"}\n", to: manifest)
    var commands = [
      ["ls"], ["status"], ["doctor"], ["submit", manifest], ["run", "--", "/bin/echo", "secret"],
      ["up"], ["down"],
    ]
    if !trial.scale.isShort {
      commands += [
        ["ping"], ["ls", "-a", "-o", "json"], ["show", "1"], ["logs", "1"], ["cancel", "1"],
        ["wait", "1"], ["worker", "ls"], ["queue", "ls"], ["story", "1"], ["key", "show"],
        ["config", "show"], ["run", "secret.yaml"], ["down"],
      ]
    }
    for words in commands { try await visit(words) }
    for (program, words) in [
      ("opcoord", ["serve"]), ("opworker", ["serve"]), ("opcoord", ["journal", "verify"]),
    ] { try await serve(program, words) }
    for living in lodging.bystanders where living.end != nil {
      trial.broken("G39: \(prank.name): a process that is no daemon was ended")
    }
    for (folder, names) in zip(watched, before) where lodging.names(in: folder) != names {
      trial.broken("G39: \(prank.name): \(folder) has \(lodging.names(in: folder)) now")
    }
    try await heardNothing(theirs)
  }

  /// His, behind sockets that everybody may write to.
  private func coordinator() async throws -> ChildProgram {
    let theirs = try lodging.start(
      "opcoord",
      [
        "serve", "--client", "ipc://\(den)/client", "--worker", "ipc://\(den)/worker", "--state",
        "\(den)/state",
      ],
      through: [
        "/usr/bin/setpriv", "--reuid=\(stranger)", "--regid=\(stranger)", "--clear-groups", "--",
      ])
    try await eventually("his coordinator serves", details: { theirs.error }) {
      theirs.output.contains("workers=")
    }
    // He lets everybody in; his folder is his alone to write to, as in a real home.
    for (path, mode) in [(den, 0o755), ("\(den)/client", 0o777), ("\(den)/worker", 0o777)]
      as [(String, mode_t)]
    {
      guard unsafe chmod(path, mode) == 0 else { throw Trouble("chmod: \(errno)") }
    }
    return theirs
  }

  private func visit(_ words: [String]) async throws {
    let command = try start("opbatch", words)
    trial.injected("opbatch command in a trap")
    let what = "G39: \(prank.name): opbatch \(words[0])"
    do {
      let status = try await command.ended(within: .seconds(45))
      trial.expect(
        status < 128 && status != 70, "\(what) ended with \(status): \(command.error)")
      let needsHim = ["submit", "ls", "ping"].contains(words[0])
      trial.expect(!needsHim || status != 0, "\(what) succeeded: \(command.output)")
    } catch {
      trial.broken("\(what) hangs: \(command.error)")
    }
  }

  /// A daemon ends by itself, or serves and ends when it is told to.
  private func serve(_ program: String, _ words: [String]) async throws {
    let root = words == ["serve"] ? ["--allow-root", "--until-stdin-closes"] : []
    let daemon = try start(program, words + root, input: nil)
    trial.injected("daemon in a trap")
    let start = Moment.now
    while daemon.end == nil, Moment.now.seconds(since: start) < 3 {
      try await Task.sleep(for: .milliseconds(20))
    }
    daemon.signal(SIGTERM)
    let what = "G39: \(prank.name): \(program) \(words[0])"
    do {
      let status = try await daemon.ended(within: .seconds(45))
      trial.expect(
        status < 128 || status == 128 + SIGTERM, "\(what) ended with \(status): \(daemon.error)")
    } catch {
      trial.broken("\(what) hangs: \(daemon.error)")
    }
  }

  private func heardNothing(_ theirs: ChildProgram) async throws {
    trial.expect(theirs.end == nil, "\(prank.name): his own coordinator ended: \(theirs.error)")
    let witness = try await ClusterConnection.connect(
      to: "ipc://\(den)/client", deadline: .seconds(30), servedByUser: stranger)
    let graphs = try await witness.graphs(Selection(graphs: .all))
    let workers = try await witness.workers()
    await witness.close()
    trial.expect(
      graphs.isEmpty && workers.isEmpty,
      "G39: \(prank.name): he was told of \(graphs.count) graphs and \(workers.count) workers")
  }
}
