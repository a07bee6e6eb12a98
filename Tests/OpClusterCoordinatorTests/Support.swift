// What the tests of this target share: a coordinator on a thread of its own, over ipc in a folder
// that vanishes, with a journal in memory or on disk. Tests are synchronous, so each stays on one
// thread, as its sockets demand (A13).

import CostWorld
import FoundationEssentials
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ
import Synchronization
import Testing

/// The longest that any test waits for something that should come at once.
let patience: Int64 = 240_000_000_000

/// Thrown when something did not happen within `patience`.
struct Impatience: Error {
  let awaited: String
}

/// Looks again and again, a few milliseconds apart, until the condition holds.
func eventually(
  _ awaited: String, within patience: Int64 = patience, _ condition: () throws -> Bool
) throws {
  let deadline = MonotonicClock.now() + patience
  var poller = SocketPoller()
  while try !condition() {
    guard MonotonicClock.now() < deadline else { throw Impatience(awaited: awaited) }
    _ = try poller.wait(until: MonotonicClock.now() + 2_000_000)
  }
}

/// A folder for one test, removed with it. Its path is short: the kernel allows a socket 107 bytes.
final class TestFolder: Sendable {
  let path: String

  init() throws {
    path = "/tmp/coordinator-test-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A journal in memory that makes everything durable at once until it is told to hold back: the
/// disk of a test that decides when it answers.
final class SteeredJournal: Journal {
  private let inner: MemoryJournal
  private let isHolding = Atomic(false)
  private let room = Atomic<UInt64>(.max)

  init(_ inner: MemoryJournal) { self.inner = inner }

  func hold() { isHolding.store(true, ordering: .sequentiallyConsistent) }
  /// What is held back may become durable from now on, at the latest at the end.
  func letGo() { isHolding.store(false, ordering: .sequentiallyConsistent) }
  func commit() { inner.commit() }
  func fail(_ error: JournalError) { inner.fail(error) }

  private func done(_ answer: JournalAnswer) -> JournalAnswer {
    if !isHolding.load(ordering: .sequentiallyConsistent) { inner.commit() }
    return answer
  }

  func append(_ turn: JournalTurn) -> JournalAnswer { done(inner.append(turn)) }
  func snapshot(
    through sequence: UInt64, content: @escaping @Sendable () -> any SnapshotContent
  ) -> JournalAnswer {
    done(inner.snapshot(through: sequence, content: content))
  }
  func retainStream(rows: Int, bytes: Int) -> JournalAnswer {
    done(inner.retainStream(rows: rows, bytes: bytes))
  }
  func retainChapters(rows: Int, bytes: Int) -> JournalAnswer {
    done(inner.retainChapters(rows: rows, bytes: bytes))
  }
  func forget(subject: UInt64) -> JournalAnswer { done(inner.forget(subject: subject)) }
  func settle() -> JournalAnswer { inner.settle() }
  func freeBytes() -> UInt64? { room.load(ordering: .relaxed) }
  func setFreeBytes(_ bytes: UInt64) { room.store(bytes, ordering: .relaxed) }
  func lostFiles() -> JournalError? { inner.lostFiles() }
  func makeReader() throws(JournalError) -> any JournalReading { try inner.makeReader() }
  func close() {
    // What is held back at the end has never reached the disk.
    if !isHolding.load(ordering: .sequentiallyConsistent) { inner.close() }
  }
}

/// Where the journal of a test is.
enum Storage {
  case memory(MemoryDisk)
  /// In the test's folder.
  case disk
}

/// A coordinator that serves on a thread of its own until it is stopped.
final class Service {
  let folder: TestFolder
  let ready: CoordinatorReady
  /// Only with a journal in memory.
  let journal: SteeredJournal?
  private let coordinator: Coordinator
  private let thread: ThreadHandle
  private let ended: Ended
  private var isStopped = false

  /// What the threads of a service leave for its owner.
  private final class Ended: Sendable {
    let ready = Mutex<CoordinatorReady?>(nil)
    let end = Mutex<CoordinatorEnd?>(nil)
    let allocations = Mutex(Allocations())
    let journal = Mutex<SteeredJournal?>(nil)
  }

  init(
    _ storage: Storage, in folder: TestFolder, bounds: JournalSettings = JournalSettings(),
    change: (inout CoordinatorSettings) -> Void = { _ in }
  ) throws {
    self.folder = folder
    var settings = CoordinatorSettings(
      clientEndpoint: try Endpoint("ipc://\(folder.path)/c"),
      workerEndpoint: try Endpoint("ipc://\(folder.path)/w"), stateFolder: "\(folder.path)/state")
    change(&settings)
    let ended = Ended()
    var open: Coordinator.OpenJournal?
    if case .memory(let disk) = storage {
      open = { observer, accept in
        let opened = MemoryJournal.open(disk: disk, settings: bounds, observer: observer)
        try accept(opened.recovered)
        let journal = SteeredJournal(opened.journal)
        ended.journal.withLock { $0 = journal }
        return OpenedJournal(journal: journal, recovered: opened.recovered)
      }
    }
    let coordinator = try Coordinator(settings, openJournal: open)
    thread = try startThread(name: "coordinator") {
      let end = coordinator.run { ready in ended.ready.withLock { $0 = ready } }
      ended.allocations.withLock { $0 = .ofThisThread }
      ended.end.withLock { $0 = end }
    }
    // It reads its journal, and what others wrote before may be on its way to the disk yet.
    try eventually("a coordinator that serves or has ended", within: 4 * patience) {
      let isReady = ended.ready.withLock { $0 != nil }
      return isReady || ended.end.withLock { $0 != nil }
    }
    guard let ready = ended.ready.withLock({ $0 }) else {
      thread.join()
      throw NotServing(end: ended.end.withLock { $0 })
    }
    self.coordinator = coordinator
    self.ended = ended
    self.ready = ready
    journal = ended.journal.withLock { $0 }
  }

  /// A coordinator that ended before it served.
  struct NotServing: Error {
    let end: CoordinatorEnd?
  }

  var diskReserve: UInt64 { coordinator.settings.diskReserveBytes }

  /// How it has ended, if it has.
  var end: CoordinatorEnd? { ended.end.withLock { $0 } }

  /// What its loop has allocated from the beginning, once it has ended.
  var allocations: Allocations { ended.allocations.withLock { $0 } }

  /// Stops it in good order; its addresses are free when this returns.
  @discardableResult
  func stop() -> CoordinatorEnd? {
    if !isStopped {
      isStopped = true
      coordinator.stop()
      thread.join()
    }
    return end
  }

  deinit { stop() }
}
