// The journal of tests: the same contract without disk, thread or clock. Turns become durable only
// with `commit`, so a test decides when a crash happens. Any thread.

import Synchronization

/// The content that survives a crash of a `MemoryJournal`: pass it to the next one.
public final class MemoryDisk: Sendable {
  /// All that a file would have.
  struct State {
    var turns: [JournalTurn] = []
    var snapshot: (sequence: UInt64, parts: [[UInt8]])?
    var stream: [StreamRow] = []
    var chapters: [(subject: UInt64, row: ChapterRow)] = []
    var documents: [Int: [UInt64: [UInt8]]] = [:]
    var lastSequence: UInt64 = 0
    var nextRow: UInt64 = 1
  }

  let state = Mutex(State())

  public init() {}
}

/// A journal in memory. Callbacks run on the thread that calls `commit`, `fail` or `close`.
public final class MemoryJournal: Journal {
  private enum Request {
    case turn(JournalTurn)
    case chore(Chore)
  }

  private struct State {
    var requests: [Request] = []
    var openTurns = 0
    var openBytes = 0
    var lastSequence: UInt64
    var lastSnapshot: UInt64
    var isClosed = false
  }

  private let disk: MemoryDisk
  private let observer: JournalObserver
  private let settings: JournalSettings
  private let state: Mutex<State>

  private init(
    _ disk: MemoryDisk, _ settings: JournalSettings, _ observer: JournalObserver, _ state: State
  ) {
    self.disk = disk
    self.settings = settings
    self.observer = observer
    self.state = Mutex(state)
  }

  /// Opens the content of `disk`; uncommitted turns of a former journal are lost.
  public static func open(
    disk: MemoryDisk, settings: JournalSettings = JournalSettings(), observer: JournalObserver
  ) -> (journal: MemoryJournal, recovered: Recovered) {
    disk.state.withLock { stored in
      let (turns, snapshot) = (stored.turns, stored.snapshot)
      let recovered = Recovered(
        snapshotSequence: snapshot?.sequence, snapshotParts: snapshot?.parts.count ?? 0,
        lastSequence: stored.lastSequence, lastEpoch: turns.last?.epoch ?? 0,
        nextEvent: stored.stream.last.map { $0.first + UInt64($0.count) } ?? 0, droppedFrames: 0,
        isAtHome: true,
        visitParts: { try snapshot?.parts.forEach($0) }, visitTurns: { try turns.forEach($0) })
      let state = State(
        lastSequence: stored.lastSequence, lastSnapshot: snapshot?.sequence ?? 0)
      return (MemoryJournal(disk, settings, observer, state), recovered)
    }
  }

  /// Accepts a turn in order and within the bounds of the queue; one turn always fits an empty
  /// queue.
  public func append(_ turn: JournalTurn) -> JournalAnswer {
    change { state in
      guard turn.sequence == state.lastSequence + 1 else {
        return .outOfOrder(expected: state.lastSequence + 1)
      }
      guard turn.isRepresentable else { return .refused }
      let fits = state.openBytes + turn.cost <= settings.queueBytes || state.openTurns == 0
      guard fits, state.openTurns < settings.queueTurns else { return .full }
      state.openTurns += 1
      state.openBytes += turn.cost
      state.lastSequence = turn.sequence
      state.requests.append(.turn(turn))
      return .accepted
    }
  }

  /// `content` is called later, by `commit`.
  public func snapshot(
    through sequence: UInt64, content: @escaping @Sendable () -> any SnapshotContent
  ) -> JournalAnswer {
    change { state in
      guard sequence > state.lastSnapshot, sequence <= state.lastSequence else {
        return .refused
      }
      state.lastSnapshot = sequence
      state.requests.append(
        .chore(.writeSnapshot(sequence: sequence, content: content)))
      return .accepted
    }
  }

  public func retainStream(rows: Int, bytes: Int) -> JournalAnswer {
    request(.trim(.stream, rows: Int64(max(0, rows)), bytes: Int64(max(0, bytes))))
  }

  public func retainChapters(rows: Int, bytes: Int) -> JournalAnswer {
    request(.trim(.chapters, rows: Int64(max(0, rows)), bytes: Int64(max(0, bytes))))
  }

  public func forget(subject: UInt64) -> JournalAnswer {
    guard subject <= UInt64(Int64.max) else { return .refused }
    return request(.forget(subject: subject))
  }

  /// Does nothing: memory is never copied.
  public func settle() -> JournalAnswer { .accepted }

  /// nil: memory has no disk to fill.
  public func freeBytes() -> UInt64? { nil }

  public func lostFiles() -> JournalError? { nil }

  public func makeReader() throws(JournalError) -> any JournalReading {
    MemoryReader(disk)
  }

  public func close() {
    commit()
    state.withLock { $0.isClosed = true }
  }

  /// Makes the accepted requests durable, in order, and reports them.
  public func commit() {
    let requests = state.withLock { state in
      guard !state.isClosed else { return [Request]() }
      defer { state.requests = [] }
      state.openTurns = 0
      state.openBytes = 0
      return state.requests
    }
    for request in requests {
      switch request {
      case .turn(let turn):
        disk.state.withLock { $0.store(turn) }
        observer.onDurable(turn.sequence)
      case .chore(let chore):
        disk.state.withLock { $0.perform(chore) }
        if case .writeSnapshot(let sequence, _) = chore { observer.onSnapshot(sequence) }
      }
    }
  }

  /// Fails like a broken disk: uncommitted turns are lost, `onFailure` is called once (G7).
  public func fail(_ error: JournalError) {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      state.requests = []
      return !state.isClosed
    }
    if isFirst { observer.onFailure(error) }
  }

  /// Full when turns and chores fill the bounds of both together.
  private func request(_ chore: Chore) -> JournalAnswer {
    change { state in
      guard state.requests.count < settings.queueChores + settings.queueTurns else { return .full }
      state.requests.append(.chore(chore))
      return .accepted
    }
  }

  private func change(_ body: (inout sending State) -> JournalAnswer) -> JournalAnswer {
    state.withLock { $0.isClosed ? .closed : body(&$0) }
  }
}
