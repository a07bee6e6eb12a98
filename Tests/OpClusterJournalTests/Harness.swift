// What the tests of the journal share: folders that vanish, a recorder of callbacks, turns.

import FoundationEssentials
import Glibc
import OpClusterJournal
import Synchronization
import Testing

/// Told apart from the `Attachment` of Swift Testing.
typealias Row = OpClusterJournal.Attachment

/// A folder for one test, removed with it.
final class TestFolder: Sendable {
  let path: String

  init() throws {
    let base = FileManager.default.temporaryDirectory
    let url = base.appendingPathComponent("journal-test-\(UInt64.random(in: 0...(.max)))")
    let mode = [FileAttributeKey.posixPermissions: 0o700]
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: mode)
    path = url.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var database: String { path + "/journal.db" }
  var log: String { path + "/journal.db-wal" }

  var mark: String { path + "/journal.mark" }

  /// Copies what a crash at this moment would leave.
  /// - Parameter isKill: The system lives on, and with it what was written and not synced.
  func copyFiles(to other: TestFolder, isKill: Bool = false) throws {
    let names = ["journal.db", "journal.db-wal", "journal.created"]
    for name in isKill ? names + ["journal.mark", "journal.reserve"] : names {
      guard let data = FileManager.default.contents(atPath: path + "/" + name) else { continue }
      try data.write(to: URL(fileURLWithPath: other.path + "/" + name))
    }
  }
}

/// What files a folder holds, but for the lock, in which the last opener stands, and the index of
/// the log in shared memory; a log without a byte is none.
func content(of folder: TestFolder) throws -> [String: [UInt8]] {
  var found: [String: [UInt8]] = [:]
  for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
  where name != "journal.lock" && !name.hasSuffix("-shm") {
    let bytes = bytes("\(folder.path)/\(name)")
    if name.hasSuffix("-wal"), bytes.isEmpty { continue }
    found[name] = bytes
  }
  return found
}

/// A journal that was killed, with everything that the system kept: some turns are in the database,
/// the others in the log only.
func killedJournal(turns: UInt64, settings given: JournalSettings? = nil) throws -> TestFolder {
  let folder = try TestFolder()
  let recorder = Recorder()
  var settings = given ?? JournalSettings()
  if given == nil { settings.checkpointPages = 12 }
  let journal = try SQLiteJournal.open(
    folder: folder.path, settings: settings, observer: recorder.observer()
  ).journal
  for sequence in 1...turns {
    _ = journal.append(turn(sequence, [.stream(first: sequence, count: 1, body: [1])]))
    recorder.waitDurable(sequence)
  }
  let copy = try TestFolder()
  try folder.copyFiles(to: copy, isKill: true)
  journal.close()
  return copy
}

func bytes(_ path: String) -> [UInt8] {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else {
    // What cannot be read is not empty.
    if errno != ENOENT { Issue.record("cannot open \(path): error \(errno)") }
    return []
  }
  defer { close(descriptor) }
  var content: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = unsafe read(descriptor, &buffer, buffer.count)
    if count < 0, errno == EINTR { continue }
    if count < 0 { Issue.record("cannot read \(path): error \(errno)") }
    if count <= 0 { return content }
    content.append(contentsOf: buffer.prefix(count))
  }
}

/// Leaves the disk alone: a sync for each of thousands of damaged copies would take minutes beside
/// other work.
func write(_ bytes: [UInt8], to path: String) throws {
  let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
  try #require(descriptor >= 0)
  defer { close(descriptor) }
  var written = 0
  while written < bytes.count {
    let count = unsafe bytes.withUnsafeBytes { buffer in
      unsafe Glibc.write(descriptor, buffer.baseAddress! + written, bytes.count - written)
    }
    try #require(count > 0)
    written += count
  }
}

/// Collects what a journal tells its owner.
final class Recorder: Sendable {
  struct Told {
    var durable: [UInt64] = []
    var failures: [JournalError] = []
    var snapshots: [UInt64] = []
    var reserves = 0
  }

  private let state = Mutex(Told())

  var told: Told { state.withLock { $0 } }

  func observer(
    alsoOnDurable hook: @escaping @Sendable (UInt64) -> Void = { _ in }
  ) -> JournalObserver {
    JournalObserver(
      onDurable: { through in
        hook(through)
        self.state.withLock { $0.durable.append(through) }
      },
      onFailure: { error in self.state.withLock { $0.failures.append(error) } },
      onSnapshot: { through in self.state.withLock { $0.snapshots.append(through) } },
      onReserve: { self.state.withLock { $0.reserves += 1 } })
  }

  /// Waits until `condition` holds; records an issue after a generous deadline.
  func wait(for condition: (Told) -> Bool) {
    let deadline = ContinuousClock.now + .seconds(240)
    while !condition(told) {
      if ContinuousClock.now > deadline {
        Issue.record("not told in time: \(told.durable.suffix(1)) \(told.failures)")
        return
      }
      usleep(500)
    }
  }

  func waitDurable(_ sequence: UInt64) {
    wait { ($0.durable.last ?? 0) >= sequence }
  }
}

/// The turn that every test expects under this sequence, so that garbage is noticed.
func turn(_ sequence: UInt64, _ attachments: [Row] = []) -> JournalTurn {
  let body = sequence < firstBodies.count ? firstBodies[Int(sequence)] : body(of: sequence)
  return JournalTurn(sequence: sequence, epoch: 7, body: body, attachments: attachments)
}

private func body(of sequence: UInt64) -> [UInt8] {
  let size = 20 + Int(sequence % 7) * 30
  return (1...size).map { place in
    UInt8(truncatingIfNeeded: (UInt64(place) &* (sequence &+ 3) &* 0x9e37_79b9_7f4a_7c15) >> 29)
  }
}

/// Of the turns that tests look at again after each damage.
private let firstBodies = (0..<100).map { body(of: $0) }

extension Recovered {
  func allTurns() throws -> [JournalTurn] {
    var turns: [JournalTurn] = []
    try forEachTurn { turns.append($0) }
    return turns
  }

  func allParts() throws -> [[UInt8]] {
    var parts: [[UInt8]] = []
    try forEachSnapshotPart { parts.append($0) }
    return parts
  }
}

/// What is left of a journal: the number of turns, each as it was written; or a refusal.
func remains(of folder: TestFolder) throws -> Result<UInt64, JournalError> {
  do {
    return try JournalTools.read(folder: folder.path) { recovered in
      let turns = try recovered.allTurns()
      let first = (recovered.snapshotSequence ?? 0) + 1
      #expect(turns == (first..<(first + UInt64(turns.count))).map { turn($0) })
      #expect(recovered.lastSequence == first + UInt64(turns.count) - 1)
      return .success(recovered.lastSequence)
    }
  } catch let error as JournalError {
    return .failure(error)
  }
}

/// A journal that crashed after so many commits, one turn each, all in the write-ahead log; the
/// size of the log after each commit.
func crashedJournal(turns: UInt64) throws -> (folder: TestFolder, sizes: [Int]) {
  let folder = try TestFolder()
  let recorder = Recorder()
  let journal = try SQLiteJournal.open(folder: folder.path, observer: recorder.observer()).journal
  var sizes: [Int] = []
  for sequence in 1...turns {
    _ = journal.append(turn(sequence))
    recorder.waitDurable(sequence)
    sizes.append(bytes(folder.log).count)
  }
  let copy = try TestFolder()
  try folder.copyFiles(to: copy)
  journal.close()
  return (copy, sizes)
}
