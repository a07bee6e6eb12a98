// Effects as data: the decisions of one turn of the coordinator, and the work that follows from
// them. The body makes one turn, reuses it, and obeys one rule (persist, then speak: G3):
//
//   `records`, `events`, `history` and `endings` go to the journal as one transaction;
//   `afterDurable` leaves only when that transaction is durable;
//   `atOnce` claims no fact (heartbeats, refusals) and may leave immediately.

public import OpClusterModel

public struct SchedulingTurn: Sendable {
  public private(set) var now: Instant = .zero
  public private(set) var wall: WallTime = .unknown
  /// The commit index of this turn if it has records.
  public internal(set) var commit = CommitIndex(0)

  public internal(set) var records: [Record] = []
  public internal(set) var events: [EventRun] = []
  public internal(set) var history: [AttemptHistory] = []
  public internal(set) var submissions: [AcceptedSubmission] = []
  public internal(set) var endings: [GraphEnding] = []
  public internal(set) var afterDurable: [Effect] = []
  public internal(set) var atOnce: [Effect] = []
  /// Reports of workers about attempts that were never given to them. Claim no fact.
  public internal(set) var lies: [Lie] = []
  /// Whether `records` is kept; if false, the turn only remembers whether there were any.
  let keepsRecords: Bool
  private var hadRecords = false
  /// Replay counts events but does not keep them.
  var isReplay = false
  var openRuns = OpenEventRuns()
  private var openFact: RunFact?
  private var openFactRuns = OperationRuns(graph: GraphID(0))
  /// Orders of this turn by worker, sent as one message each when the turn closes.
  var orders: [PendingOrders] = []
  /// By worker: the position of its orders. Looked up, never iterated.
  private var orderPositions: [UInt32: Int] = [:]
  /// The position that was asked for last.
  private var newestOrders = 0
  /// The consequences of the fact that was applied last.
  var consequences = Consequences()
  /// What the ends of operations have cost in this turn (`EndSteps`).
  var endSteps = 0
  /// What they may come to with the present fact.
  var endStepsAllowed = Int.max
  /// Workers that were welcomed in this turn, and the places of their welcomes in `afterDurable`.
  var welcomed: [(worker: UInt32, effect: Int)] = []
  /// The plan of the submission that is committed next; nil: `apply` makes it.
  private var plan: GraphPlan?
  /// The time from which the keys of graphs that end in this turn count; unknown if no fact says
  /// it.
  var keysDate = WallTime.unknown

  /// - Parameter keepsRecords: false without a journal: `records` stays empty.
  public init(keepsRecords: Bool = true) { self.keepsRecords = keepsRecords }

  /// Empties the turn for reuse.
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
    forgetOrders()
    welcomed.removeAll(keepingCapacity: true)
    consequences = Consequences()
    endSteps = 0
    openRuns.closeAll()
    openFact = nil
    hadRecords = false
    keysDate = .unknown
  }

  /// Takes the facts of a turn whose effects have been carried out, if they include a large
  /// submission: to free 200,000 templates takes as long as a turn, and another thread may do that.
  public mutating func takeLarge() -> LargeFacts? {
    let isLarge = submissions.contains {
      $0.submission.templates.count > RetiredParts.freedPerTurn
    }
    guard isLarge else { return nil }
    var large = LargeFacts()
    swap(&large.records, &records)
    swap(&large.submissions, &submissions)
    return large
  }

  /// Hands over the plan of the submission that is committed next, so that `apply` need not make it
  /// again: it follows from the submission alone.
  mutating func handOver(_ plan: consuming GraphPlan?) { self.plan = plan }

  /// Moves the plan out that was handed over; nil if there is none, or none for pages of this size
  /// and so many demand classes at once.
  mutating func takePlan(pageBits: UInt32, demandsAtOnce: Int) -> GraphPlan? {
    if plan?.graph.cells.pageBits != pageBits { plan = nil }
    if plan?.isFor(demandsAtOnce: demandsAtOnce) == false { plan = nil }
    return plan.take()
  }

  /// Lets a worker know with its welcome how far the log goes.
  mutating func tellMark(_ mark: HistoryMark?, inWelcomeAt effect: Int) {
    guard case .toWorker(let peer, .welcome(var welcome)) = afterDurable[effect] else { return }
    welcome.known = mark
    afterDurable[effect] = .toWorker(peer, .welcome(welcome))
  }

  /// Moves all effects to the end of a list, those that claim no fact first. For a body without a
  /// journal, where a closed turn is durable at once.
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

  /// Whether there is anything to commit; valid only after the scheduler has closed the turn.
  public var isDurable: Bool { hadRecords || !records.isEmpty }
}

/// An action outside of the core.
public enum Effect: Hashable, Sendable {
  case toWorker(PeerID, CoordinatorMessage)
  case toClient(PeerID, RequestID, ClientReply)
  /// Forget this peer: its conversation is over.
  case close(PeerID)
}

/// A report about an attempt that the sender cannot know; no delay and no loss explains it.
public struct Lie: Hashable, Sendable {
  public var peer: PeerID
  public var attempt: AttemptID
}

/// An accepted submission, kept by the history beyond the graph's life.
public struct AcceptedSubmission: Hashable, Sendable {
  public var graph: GraphID
  public var submission: GraphSubmission
  /// Its encoded form, if that was prepared.
  public var encoded: EncodedSubmission?
  public var at: WallTime
}

/// Facts that are only to be freed.
public struct LargeFacts: Sendable {
  fileprivate var records: [Record] = []
  fileprivate var submissions: [AcceptedSubmission] = []
}

/// The encoded forms of a submission; opaque here.
public struct EncodedSubmission: Hashable, Sendable {
  /// With its secrets, for the journal.
  public let whole: [UInt8]
  /// Without them, for all who may read (G39).
  public let shown: [UInt8]

  public init(whole: [UInt8], shown: [UInt8]) {
    self.whole = whole
    self.shown = shown
  }
}

/// A graph that ended in this turn: the part that the history keeps after its storage is dropped.
public struct GraphEnding: Hashable, Sendable {
  public var row: GraphRow
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

/// The runs of events that may still grow in this turn, by kind: equal changes of neighbours cost
/// as much as one change. A run grows only if no observer could notice: not past an earlier change
/// of the same operation, and not past the end of a dependency (S114).
struct OpenEventRuns: Sendable {
  /// Position in `SchedulingTurn.events` + 1, 0 for none; by `slot(of:)`, in the order of a life.
  private var positions = SIMD8<Int>()
  /// The newest run of a slot that another run has replaced.
  private var left = SIMD8<Int>()

  static let slotCount = 6
  static let ready = 0
  static let finished = 4

  subscript(slot: Int) -> Int { positions[slot] }

  /// Opens a new run in place of the open one.
  mutating func open(_ slot: Int, at position: Int) {
    left[slot] = max(left[slot], positions[slot])
    positions[slot] = position
  }

  /// Whether the open run of a slot stands behind every closed run that may hold an earlier change
  /// of the same operation, and behind the end that made the operation ready.
  func mayGrow(_ slot: Int) -> Bool {
    let own = positions[slot]
    if slot == Self.ready, own < max(positions[Self.finished], left[Self.finished]) {
      return false
    }
    for earlier in 0..<slot where left[earlier] >= own { return false }
    return true
  }

  /// The slot of events that come in long uniform series; nil: events of this kind are never
  /// merged.
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

extension SchedulingTurn {
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
    sealRecords()
    records.append(record)
  }

  /// The position of this turn's orders for a worker; creates empty ones if there are none. Their
  /// conversation is filled in when they are sent.
  mutating func orders(for worker: WorkerID) -> Int {
    // Mostly the same worker as before.
    if newestOrders < orders.count, orders[newestOrders].worker == worker.number {
      return newestOrders
    }
    if let at = orderPositions[worker.number] {
      newestOrders = at
      return at
    }
    newestOrders = orders.count
    orderPositions[worker.number] = orders.count
    let unsent = Conversation(epoch: Epoch(0), session: WorkerSession(0), increment: 0)
    orders.append(
      PendingOrders(
        worker: worker.number,
        orders: WorkerOrders(conversation: unsent, number: 0, acknowledged: 0)))
    return orders.count - 1
  }

  /// Drops the orders for a worker that has left, or whose conversation begins anew. Their place
  /// stays, for nobody.
  mutating func dropOrders(for worker: UInt32) {
    guard let at = orderPositions.removeValue(forKey: worker) else { return }
    let none = Conversation(epoch: Epoch(0), session: WorkerSession(0), increment: 0)
    orders[at] = PendingOrders(
      worker: 0, orders: WorkerOrders(conversation: none, number: 0, acknowledged: 0))
  }

  mutating func forgetOrders() {
    orders.removeAll(keepingCapacity: true)
    if !orderPositions.isEmpty { orderPositions.removeAll(keepingCapacity: true) }
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
