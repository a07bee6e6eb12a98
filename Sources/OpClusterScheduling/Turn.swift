// Effects as data: what one turn of the coordinator decided and what is to be done about it. The
// body makes one, reuses it for every turn, and obeys one rule (G3, persist then speak):
//
//   `records`, `events`, `history` and `endings` go to the journal as one transaction;
//   `afterDurable` leaves only when that transaction is durable;
//   `atOnce` claims no fact (heartbeats, refusals) and may leave immediately.

public import OpClusterModel

public struct Turn: Sendable {
  public private(set) var now: Instant = .zero
  public private(set) var wall: WallTime = .unknown
  /// The commit this turn becomes if it has records.
  public internal(set) var commit = CommitIndex(0)

  public internal(set) var records: [Record] = []
  public internal(set) var events: [EventRun] = []
  public internal(set) var history: [AttemptHistory] = []
  public internal(set) var submissions: [AcceptedSubmission] = []
  public internal(set) var endings: [GraphEnding] = []
  public internal(set) var afterDurable: [Effect] = []
  public internal(set) var atOnce: [Effect] = []
  /// What workers said of attempts that were never given to them. Claims no fact.
  public internal(set) var lies: [Lie] = []
  /// Somebody keeps the records; else it is only known whether there were any.
  let keepsRecords: Bool
  private var hadRecords = false
  /// Replay counts events but does not keep them.
  var isReplay = false
  var openRuns = OpenEventRuns()
  private var openFact: RunFact?
  private var openFactRuns = OperationRuns(graph: GraphID(0))
  /// Orders of this turn by worker, sent as one message each when the turn closes.
  var orders: [PendingOrders] = []
  /// Of the fact that was applied last.
  var consequences = Consequences()
  /// Workers that were welcomed in this turn.
  var welcomed: [UInt32] = []
  /// The time from which keys of graphs count that end in this turn; unknown: no fact says it.
  var keysDate = WallTime.unknown

  /// - Parameter keepsRecords: false where there is no journal: `records` stays empty.
  public init(keepsRecords: Bool = true) { self.keepsRecords = keepsRecords }

  /// Empties it for the next turn.
  public mutating func begin(at now: Instant, wall: WallTime) {
    self.now = now
    self.wall = wall
    records.removeAll(keepingCapacity: true)
    events.removeAll(keepingCapacity: true)
    history.removeAll(keepingCapacity: true)
    submissions.removeAll(keepingCapacity: true)
    endings.removeAll(keepingCapacity: true)
    afterDurable.removeAll(keepingCapacity: true)
    atOnce.removeAll(keepingCapacity: true)
    lies.removeAll(keepingCapacity: true)
    orders.removeAll(keepingCapacity: true)
    welcomed.removeAll(keepingCapacity: true)
    consequences = Consequences()
    openRuns.closeAll()
    openFact = nil
    hadRecords = false
    keysDate = .unknown
  }

  /// Moves all effects to the end of a list, those that claim no fact first: for who keeps no
  /// journal, where a turn is durable as soon as it is closed.
  public mutating func takeEffects(_ effects: inout [Effect]) {
    if effects.isEmpty, atOnce.isEmpty {
      swap(&effects, &afterDurable)
      return
    }
    effects += atOnce
    effects += afterDurable
    atOnce.removeAll(keepingCapacity: true)
    afterDurable.removeAll(keepingCapacity: true)
  }

  /// Whether there is anything to commit; true only after the scheduler closed the turn.
  public var isDurable: Bool { hadRecords || !records.isEmpty }
}

/// Something to do outside of the core.
public enum Effect: Hashable, Sendable {
  case toWorker(PeerID, CoordinatorMessage)
  case toClient(PeerID, RequestID, ClientReply)
  /// Forget this peer: its conversation is over.
  case close(PeerID)
}

/// A word about an attempt that whoever said it cannot know: no delay and no loss explains it.
public struct Lie: Hashable, Sendable {
  public var peer: PeerID
  public var attempt: AttemptID
}

/// A submission for the history, to be kept beyond the graph's life.
public struct AcceptedSubmission: Hashable, Sendable {
  public var graph: GraphID
  public var submission: GraphSubmission
  public var at: WallTime
}

/// A graph that ended in this turn: what the history keeps when its storage is dropped.
public struct GraphEnding: Hashable, Sendable {
  public var structure: GraphStructure
  /// One raw `Outcome` per operation.
  public var outcomes: [UInt8]
  public var submittedAt: WallTime
  public var finishedAt: WallTime
}

/// Orders collected for one worker during a turn.
struct PendingOrders: Sendable {
  var worker: UInt32
  var orders: WorkerOrders
}

/// Which runs of events may still grow in this turn, by kind: neighbours that go through the same
/// changes cost what one costs. A run grows only where no observer could tell the difference: not
/// past an earlier change of the same operation, nor past the end of what it waited for (S114).
struct OpenEventRuns: Sendable {
  /// Position in `Turn.events` + 1, 0 for none; by `slot(of:)`, in the order of a life.
  private var positions = SIMD8<Int>()
  /// The newest run of a slot that was left for another one.
  private var left = SIMD8<Int>()

  static let slotCount = 6
  static let ready = 0
  static let finished = 4

  subscript(slot: Int) -> Int { positions[slot] }

  /// A new run takes the place of the one that was open.
  mutating func open(_ slot: Int, at position: Int) {
    left[slot] = max(left[slot], positions[slot])
    positions[slot] = position
  }

  /// Whether the open run of a slot stands after every run that is no longer open and could hold
  /// an earlier change of the same operation, and after the end of what made it ready.
  func mayGrow(_ slot: Int) -> Bool {
    let own = positions[slot]
    if slot == Self.ready, own < max(positions[Self.finished], left[Self.finished]) {
      return false
    }
    for earlier in 0..<slot where left[earlier] >= own { return false }
    return true
  }

  /// Events that come in long uniform series have a slot of their own; nil: never merged.
  static func slot(of kind: Event.Kind) -> Int? {
    switch kind {
    case .isReady: 0
    case .attemptStarted: 1
    case .isExecuting(let value): value ? 2 : 3
    case .isFinished: 4
    case .completion: 5
    default: nil
    }
  }
  mutating func closeAll() {
    positions = SIMD8()
    left = SIMD8()
  }
}

extension Turn {
  /// Adds a fact about one operation; neighbours with the same fact share a record. The newest
  /// series stays open until another fact is added (`sealRecords`).
  mutating func note(_ fact: RunFact, _ operation: OperationID) {
    if !keepsRecords {
      hadRecords = true
      return
    }
    if openFact == fact, openFactRuns.graph == operation.graph {
      openFactRuns.append(operation.index)
    } else {
      sealRecords()
      openFact = fact
      openFactRuns = OperationRuns(operation)
    }
  }

  /// Adds any other fact.
  mutating func note(_ record: Record) {
    if !keepsRecords {
      hadRecords = true
      return
    }
    if SchedulingBug.unwrittenCancel.isPlanted, case .cancelled = record { return }
    sealRecords()
    records.append(record)
  }

  /// The orders that this turn has for a worker, begun where there are none. In what conversation
  /// they are given is filled in when they are sent.
  mutating func orders(for worker: WorkerID) -> Int {
    if let at = orders.firstIndex(where: { $0.worker == worker.number }) { return at }
    let unsent = Conversation(epoch: Epoch(0), session: WorkerSession(0), increment: 0)
    orders.append(
      PendingOrders(
        worker: worker.number,
        orders: WorkerOrders(conversation: unsent, number: 0, acknowledged: 0)))
    return orders.count - 1
  }

  mutating func sealRecords() {
    if let fact = openFact { records.append(fact.record(openFactRuns)) }
    openFact = nil
  }
}

/// Facts that come in runs.
enum RunFact: Equatable, Sendable {
  case dispatched(WorkerID)
  case recalled
  case executing
  case succeeded

  func record(_ runs: OperationRuns) -> Record {
    switch self {
    case .dispatched(let worker): .dispatched(worker, runs)
    case .recalled: .recalled(runs)
    case .executing: .executing(runs)
    case .succeeded: .succeeded(runs)
    }
  }
}
