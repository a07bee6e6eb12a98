// The rows of section disk: F21 to F31. Any task.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let diskRows: [FaultRow] = [
  FaultRow(
    number: "F21", name: "power loss under load", promise: "G1 G5",
    injection: "the ext4 shutdown ioctl without a flush, kill -9, mounted anew",
    needs: [.ownNamespaces, .loopDevice], run: powerLoss),
  FaultRow(
    number: "F22", name: "data sync fails", promise: "G7",
    injection: "fdatasync returns EIO, once or from then on", needs: [.compiler],
    isShort: true, run: syncFails),
  FaultRow(
    number: "F24", name: "disk full", promise: "G8",
    injection: "state on a tmpfs of 256 MB, filled to its last byte, emptied later",
    needs: [.ownNamespaces], isShort: true, run: diskFull),
  FaultRow(
    number: "F26", name: "write-ahead log cut short", promise: "G5",
    injection: "cut by k bytes, k over the last three commits, of a journal of a killed opcoord",
    run: logCut),
  FaultRow(
    number: "F27", name: "one bit flipped", promise: "G5 G6",
    injection:
      "200 places of the log's last frame, 200 before it; 200 of the database of one that stopped",
    run: bitFlipped),
  FaultRow(
    number: "F31", name: "two coordinators on one state folder", promise: "",
    injection: "a second opcoord, also with the first one stopped", isShort: true,
    run: secondCoordinator),
]

/// F21
private func powerLoss(_ trial: Trial) async throws {
  let rounds = trial.scale.count(10, short: 1)
  var shape = trial.shape()
  shape.prepare = { folder in
    let image = "\(folder)/disk.img"
    guard unsafe mkdir("\(folder)/state", 0o700) == 0 else { throw Trouble("mkdir: \(errno)") }
    try Surroundings.runNow("truncate", "-s", "512M", image, in: folder)
    try Surroundings.runNow("mkfs.ext4", "-q", "-F", image, in: folder)
    try mountImage(folder)
    _ = unsafe chmod("\(folder)/state", 0o700)
  }
  shape.cleanUp = { unsafe umount2("\($0)/state", Int32(MNT_DETACH)) }
  try await trial.underLoad(shape) { cluster, load in
    for round in 1...rounds {
      try await cluster.witnessed(round * 10, by: load)
      try await Task.sleep(for: .milliseconds(Int.random(in: 0..<500)))
      let before = load.acceptedCount
      let loss = Moment.now
      try shutDown("\(cluster.folder)/state")
      try await cluster.kill("opcoord")
      try Surroundings.runNow("umount", "\(cluster.folder)/state", in: cluster.folder)
      try mountImage(cluster.folder)
      load.losePower(since: loss)
      try await cluster.startCoordinator()
      trial.injected("loss of power of the journal's disk")
      trial.note("\(before) graphs were acknowledged before")
    }
    let log = cluster.daemon("opcoord")?.error ?? ""
    let warnings = log.split(separator: "\n").count { $0.contains("never committed") }
    trial.note("an uncommitted end was dropped and told \(warnings) times")
  }
}

private func mountImage(_ folder: String) throws {
  do {
    try Surroundings.runNow(
      "mount", "-o", "loop", "\(folder)/disk.img", "\(folder)/state", in: folder)
  } catch let trouble as Trouble {
    throw NotRun(reason: "no ext4 on a loop device here: \(trouble)")
  }
}

/// EXT4_IOC_SHUTDOWN, NOLOGFLUSH: whatever has not been synced is gone.
private func shutDown(_ path: String) throws {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { throw Trouble("cannot open \(path)") }
  defer { close(file) }
  var how: UInt32 = 2
  guard unsafe ioctl(file, 0x8004_587D, &how) == 0 else {
    throw NotRun(reason: "this kernel cannot shut an ext4 down: \(errno)")
  }
}

/// F22
private func syncFails(_ trial: Trial) async throws {
  let rounds = trial.scale.count(20, short: 2)
  try await FaultDisk.with { disk in
    var shape = trial.shape()
    shape.launches["opcoord"] = disk.launch
    try await trial.underLoad(shape) { cluster, load in
      var ends = Series()
      for round in 1...rounds {
        try await cluster.witnessed(round * 10, by: load)
        let failures = disk.failures
        disk.arm(at: Int.random(in: 1...20), round % 2 == 0 ? .failForEver : .failOnce)
        try await eventually("a sync fails", within: .seconds(120)) { disk.failures > failures }
        let start = Moment.now
        guard let daemon = cluster.daemon("opcoord") else { throw Trouble("no coordinator") }
        let status = try await daemon.ended(within: .seconds(20))
        ends.add(Moment.now.seconds(since: start))
        trial.expect(status == 74, "G7: opcoord ended with \(status), not with 74")
        // An answer that left before may be heard after it; what was in the sync that failed is
        // looked at where the syncs are the test's own (`FailingSyncTests`).
        let late = load.calls.filter { call in
          if case .accepted = call.end { call.sent > start } else { false }
        }
        trial.expect(late.isEmpty, "G7: \(late.map(\.key)) acknowledged after the failure")
        trial.injected("EIO of fdatasync, \(round % 2 == 0 ? "from then on" : "once")")
        disk.disarm()
        try await cluster.startCoordinator()
      }
      trial.note("from the failed sync to the end of the process: \(ends.text)")
      trial.expect(ends.largest <= 1, "G7: the end came after \(ends.largest) s")
      noRerun(load, trial)
    }
  }
}

/// F24
private func diskFull(_ trial: Trial) async throws {
  var shape = trial.shape()
  shape.timing += ["--disk-reserve", "\(8 << 20)"]
  shape.prepare = { folder in
    let state = "\(folder)/state"
    guard unsafe mkdir(state, 0o700) == 0,
      unsafe mount("none", state, "tmpfs", 0, "size=256m,mode=0700") == 0
    else { throw Trouble("cannot mount a tmpfs: \(errno)") }
  }
  shape.cleanUp = { unsafe umount2("\($0)/state", Int32(MNT_DETACH)) }
  try await trial.underLoad(shape) { cluster, load in
    try await cluster.witnessed(20, by: load)
    let process = try cluster.process("opcoord")
    let before = load.acceptedCount
    let ballast = "\(cluster.folder)/state/ballast"
    try fill(ballast)
    trial.injected("disk filled to its last byte")
    let start = Moment.now
    try await eventually("submissions are refused", within: .seconds(20)) {
      load.calls.contains { call in
        if case .refused(let refusal) = call.end { refusal.message.contains("disk") } else { false }
      }
    }
    trial.note(
      "refused after \(Moment.text(Moment.now.seconds(since: start))) s; "
        + "\(load.acceptedCount - before) more were acknowledged before")
    // What runs goes on, and its ends are written down.
    let ends = Trial.ends(load)
    try await eventually("running work ends", within: .seconds(120)) {
      let journal = JournalModel(try await JournalLine.all(of: cluster))
      let lines = WitnessLine.all(in: load.witness).filter { !$0.isStart }
      return lines.allSatisfy { journal.lives[$0.operation]?.end != nil } && lines.count >= ends
    }
    trial.expect(
      cluster.daemon("opcoord")?.end == nil && cluster.daemon("opcoord")?.process == process,
      "G8: opcoord ended with the disk full")
    guard unsafe unlink(ballast) == 0 else { throw Trouble("cannot remove the ballast") }
    let emptied = Moment.now
    let count = load.acceptedCount
    try await eventually("submissions are taken again", within: .seconds(20)) {
      load.acceptedCount > count
    }
    trial.note(
      "taken again \(Moment.text(Moment.now.seconds(since: emptied))) s after there was room")
  }
}

/// Takes all that is free of a disk, as root too, but nothing of a reserve that the coordinator
/// frees meanwhile: that is to be the coordinator's.
private func fill(_ path: String) throws {
  let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
  guard file >= 0 else { throw Trouble("cannot make \(path)") }
  defer { close(file) }
  var disk = statvfs()
  guard unsafe fstatvfs(file, &disk) == 0 else { throw Trouble("no room of \(path): \(errno)") }
  var left = Int(disk.f_bavail) * Int(disk.f_frsize)
  let block = [UInt8](repeating: 1, count: 1 << 16)
  var size = block.count
  while size > 0, left > 0 {
    let count = unsafe write(file, block, min(size, left))
    if count > 0 { left -= count } else { size /= 2 }
  }
}

/// F31
private func secondCoordinator(_ trial: Trial) async throws {
  try await Cluster.with(trial.shape(workers: 0)) { cluster in
    let first = try cluster.process("opcoord")
    for isStopped in [false, true] {
      if isStopped { cluster.daemon("opcoord")?.signal(SIGSTOP) }
      let start = Moment.now
      let second = try ChildProgram(
        "second", try Cluster.executable("opcoord"),
        [
          "serve", "--allow-root", "--client", "ipc://\(cluster.folder)/c2", "--worker",
          "ipc://\(cluster.folder)/w2", "--state", "\(cluster.folder)/state",
        ], environment: cluster.environment, folder: cluster.folder)
      let status = try await second.ended(within: .seconds(20))
      trial.expect(status == 73, "the second ended with \(status), not with 73")
      trial.expect(
        second.error.contains("process \(first)"), "it does not name the first: \(second.error)")
      trial.note("refused with 73 after \(Moment.text(Moment.now.seconds(since: start))) s")
      trial.injected("second opcoord beside \(isStopped ? "a stopped" : "a serving") one")
    }
    cluster.daemon("opcoord")?.signal(SIGCONT)
    try await cluster.coordinatorAnswers()
  }
}

/// The journal of a coordinator that was killed, and what it says.
private func killedJournal(
  _ trial: Trial, _ body: @escaping @Sendable (Cluster, [UInt8], [Substring]) async throws -> Void
) async throws {
  try await Cluster.with(trial.shape(workers: 0)) { cluster in
    let load = try Load(trial.scale.load, on: cluster)
    let connection = try await cluster.reach()
    for number in 1...10 {
      try await load.submit(Load.probe("probe-\(number)"), over: connection)
    }
    await connection.close()
    try await cluster.kill("opcoord")
    let log = [UInt8](
      FileManager.default.contents(atPath: "\(cluster.folder)/state/journal.db-wal") ?? Data())
    guard log.count > 3 * 4_120 else { throw Trouble("the log has \(log.count) bytes") }
    let whole = try await export(of: "\(cluster.folder)/state", cluster)
    try await body(cluster, log, whole.lines)
  }
}

private func export(
  of folder: String, _ cluster: Cluster
) async throws -> (status: Int32, lines: [Substring], error: String) {
  let name = "export-\(UInt32.random(in: 0 ... .max))"
  let tool = try ChildProgram(
    name, try Cluster.executable("opcoord"), ["journal", "export", "--state", folder],
    environment: cluster.environment, folder: cluster.folder, input: "/dev/null")
  let status = try await tool.ended()
  return (status, tool.output.split(separator: "\n"), tool.error)
}

/// Exports a copy of the state with another log or database; judges that it is a prefix or, where
/// it may be, a refusal.
private func judge(
  _ log: [UInt8]?, database: [UInt8]? = nil, mayRefuse: Bool, _ cluster: Cluster,
  _ whole: [Substring], _ what: String, _ trial: Trial
) async throws -> (kept: Int, isRefused: Bool) {
  let copy = "\(cluster.folder)/copy"
  try? FileManager.default.removeItem(atPath: copy)
  guard unsafe mkdir(copy, 0o700) == 0 else { throw Trouble("cannot make \(copy)") }
  for name in ["journal.db", "journal.created"] {
    try FileManager.default.copyItem(
      atPath: "\(cluster.folder)/state/\(name)", toPath: "\(copy)/\(name)")
  }
  if let log { try Data(log).write(to: URL(filePath: "\(copy)/journal.db-wal")) }
  if let database { try Data(database).write(to: URL(filePath: "\(copy)/journal.db")) }
  let found = try await export(of: copy, cluster)
  if found.status == 0 {
    trial.expect(
      found.lines.elementsEqual(whole.prefix(found.lines.count)),
      "G5: \(what) gives \(found.lines.count) other facts than a prefix")
    return (found.lines.count, false)
  }
  trial.expect(mayRefuse, "G5: \(what) is refused: \(found.error)")
  trial.expect(
    found.status == 65 && found.error.contains("damaged at"),
    "G6: \(what) ends with \(found.status): \(found.error)")
  return (0, true)
}

/// F26
private func logCut(_ trial: Trial) async throws {
  let cuts = trial.scale.count(300, short: 20)
  try await killedJournal(trial) { cluster, log, whole in
    var kept: Set<Int> = []
    let span = min(log.count - 32, 3 * 8 * 4_120)
    for cut in 0..<cuts {
      let bytes = cut < 30 ? cut : Int.random(in: 1...span)
      let found = try await judge(
        Array(log.dropLast(bytes)), mayRefuse: false, cluster, whole, "a cut by \(bytes)", trial)
      kept.insert(found.kept)
      trial.injected("log cut by k bytes")
    }
    trial.note(
      "\(whole.count) facts; what was left: \(kept.sorted().suffix(12)), always a prefix")
  }
}

/// F27
private func bitFlipped(_ trial: Trial) async throws {
  let inside = trial.scale.count(200, short: 10)
  try await killedJournal(trial) { cluster, log, whole in
    let last = log.count - 4_120
    var refused = 0
    for number in 0..<(inside * 2) {
      let isLast = number < inside
      let place = isLast ? last + number * 4_120 / inside : Int.random(in: 32..<last)
      var other = log
      other[place] ^= 1 << UInt8.random(in: 0..<8)
      let found = try await judge(
        other, mayRefuse: true, cluster, whole, "a bit flipped at \(place)", trial)
      if found.isRefused { refused += 1 }
      trial.injected("bit flipped in \(isLast ? "the last frame" : "the middle of the log")")
    }
    trial.note("of the log: \(refused) refused with the record's name, the others a prefix")
    try await databaseFlipped(inside, cluster, trial)
  }
}

/// The same in a database without a log: there is no end that could be missing, so that everything
/// is there or the damage is named.
private func databaseFlipped(_ count: Int, _ cluster: Cluster, _ trial: Trial) async throws {
  try await cluster.startCoordinator()
  cluster.daemon("opcoord")?.signal(SIGTERM)
  try await cluster.daemon("opcoord")?.ended()
  let state = "\(cluster.folder)/state"
  let whole = try await export(of: state, cluster).lines
  let database = [UInt8](FileManager.default.contents(atPath: "\(state)/journal.db") ?? Data())
  guard !database.isEmpty, !whole.isEmpty else { throw Trouble("there is no database") }
  var refused = 0
  for _ in 0..<count {
    let place = Int.random(in: 0..<database.count)
    var other = database
    other[place] ^= 1 << UInt8.random(in: 0..<8)
    let found = try await judge(
      nil, database: other, mayRefuse: true, cluster, whole,
      "a bit of the database flipped at \(place)", trial)
    if found.isRefused { refused += 1 }
    trial.expect(
      found.isRefused || found.kept == whole.count,
      "G6: a bit flipped at \(place) of the database leaves \(found.kept) of \(whole.count) facts")
    trial.injected("bit flipped in the database")
  }
  trial.note("of the database: \(refused) refused with a name, the others changed no fact")
  trial.expect(refused > 0 || count < 100, "G6: not one flip was noticed")
}
