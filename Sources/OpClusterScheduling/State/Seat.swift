// A worker as the coordinator sees it: the conversation with it, what it can take, what it holds.

import DequeModule
import OpClusterModel

struct Seat: Blankable {
  let id: WorkerID
  let name: String
  let session: WorkerSession

  /// Asked to finish what it runs and to leave.
  var isDraining = false

  // What it is, from its hello
  /// What it says that it has.
  var offered = Resources.none
  /// Of that, what it can give: without what is taken by processes that KILL does not end.
  private(set) var capacity = Resources.none
  /// Attempts of which such processes live.
  private(set) var unkillable: [AttemptID] = []
  /// Whether its last report told of any.
  private(set) var isUnwell = false
  var labels: [Label] = []
  var types: [OperationType] = []
  /// By slot of the kind of demand, of the first `DemandClasses.comparedKinds`: whether it serves
  /// it.
  var serves: [Bool] = []
  /// Bits of the kinds that it may serve.
  var kindBits: UInt64 = 0
  /// Classes of which it had announced the type and did not know it, by number, with their serial.
  var lacks: [Int: UInt64] = [:]

  // The conversation; not durable
  /// nil: not connected.
  var peer: PeerID?
  var increment: UInt32 = 0
  var ordersSent: UInt64 = 0
  var reportTaken: UInt64 = 0
  /// Newest orders that it says it has, and since when that has been less than was sent.
  var ordersTaken: UInt64 = 0
  var ordersBehindSince: Instant = .zero
  var lastHeard: Instant
  /// In this life of the coordinator.
  var wasHeard = false
  /// When a heartbeat left, or the conversation began. Orders do not count.
  var lastSpoken: Instant = .zero
  /// The commit that its welcome waits for.
  var welcomedIn = CommitIndex(0)
  var isSuspect = false
  /// Templates it has been told in this conversation, by graph, with the queue's name.
  var toldTemplates: [GraphID: ToldTemplates] = [:]

  // What it holds
  /// Sum of the demands of everything it holds.
  var taken = Resources.none
  var executing: UInt32 = 0
  /// Handed over and not started.
  private(set) var held: UInt32 = 0
  private(set) var heldByRank = RankCounts()
  /// What unstarted ones brought along; not known of those from before a restart. Not durable.
  private(set) var heldBytes = 0
  /// The share of each whose bytes are worth a note.
  private var sizes: [OperationID: Int] = [:]
  /// Everything handed to it, oldest first; entries that it no longer holds are skipped and
  /// swept out when they are many.
  var holdings: Deque<OperationID> = []

  // How fast it is; decides how much it may hold beyond its capacity
  /// Operations it ended per second, lately.
  var rate: Double = 0
  var busySince: Instant = .zero
  /// Handed over though it does not fit yet: the worker keeps its room for it.
  var reservation: OperationID?

  init(id: WorkerID, name: String, session: WorkerSession, heard: Instant) {
    self.id = id
    self.name = name
    self.session = session
    lastHeard = heard
  }

  static var blank: Seat {
    Seat(id: WorkerID(0), name: "", session: WorkerSession(0), heard: .zero)
  }

  /// What it could not start, and others could or may; nil: nothing. Not durable.
  var trouble: StartTrouble?
  /// Classes of single stages of which it is given nothing because of that, by their serials…
  var withheld: [Int: UInt64] = [:]
  /// …or nothing at all.
  var isResting = false

  /// Whether new work may go to it: it is connected, heard of, and to stay.
  var takesWork: Bool { peer != nil && !isSuspect && !isDraining && !isResting }

  var free: Resources { Seat.free(capacity, taken) }

  /// Of two of its parts, so that nobody copies the whole seat for it.
  @inline(__always)
  static func free(_ capacity: Resources, _ taken: Resources) -> Resources {
    var free = capacity
    free.take(taken)
    return free
  }

  mutating func hold(_ rank: Rank) {
    heldByRank.add(rank)
    held += 1
  }

  mutating func letGo(_ rank: Rank) {
    heldByRank.remove(rank)
    held -= 1
  }

  /// How many more of a rank it may hold: what goes after them there is not in their way, since
  /// workers order what they hold by the same rule. A look at each service and level.
  func room(for rank: Rank, at now: Instant) -> UInt32 {
    let window = prefetch(at: now)
    if held < window { return window - held }
    guard window > 0, held < Limits.heldPerWorker else { return 0 }
    let before = held - heldByRank.count(below: rank)
    return window - min(before, window)
  }

  /// Operations it may hold unstarted at a moment: what it ends in some milliseconds, so that it
  /// never waits for a round trip, and nothing where operations are long or have become so.
  func prefetch(at now: Instant) -> UInt32 {
    let silence = (now - busySince).seconds
    let current = silence > Seat.patience ? min(rate, 1 / silence) : rate
    return min(
      UInt32(saturating: current * Seat.prefetchSeconds), UInt32(Limits.prefetchPerWorker))
  }
  private static let prefetchSeconds = 0.010
  /// Nothing ended for so long: what it ended before says nothing about what it does now.
  static let patience = 0.050

  /// What a report says of processes that KILL does not end. Whether it can give more or less now.
  mutating func note(unkillable: [AttemptID], demand: Resources) -> Bool {
    self.unkillable = unkillable
    isUnwell = !unkillable.isEmpty || demand != .none
    let before = capacity
    capacity = offered
    if demand != .none { capacity.take(demand) }
    return capacity != before
  }

  /// An attempt that was handed over brought so many bytes along.
  mutating func note(_ bytes: Int, of id: OperationID) {
    guard bytes > 0 else { return }
    heldBytes += bytes
    sizes[id, default: 0] += bytes
  }

  /// It has started, or it is held no more.
  mutating func forgetBytes(of id: OperationID) {
    guard !sizes.isEmpty, let bytes = sizes.removeValue(forKey: id) else { return }
    heldBytes -= bytes
  }

  /// Learns from a report that so many attempts ended.
  mutating func noteEnded(_ count: Int, at now: Instant) {
    let elapsed = max((now - busySince).seconds, 0.000_05)
    rate = rate * 0.5 + Double(count) / elapsed * 0.5
    busySince = now
  }

  /// Whether orders must have been lost: for so long it has been told more than it has, and none
  /// of it has come. Nothing sent later would show the gap if they were the last.
  mutating func missesOrders(_ taken: UInt64, at now: Instant, patience: Span) -> Bool {
    if taken >= ordersSent || taken > ordersTaken {
      ordersTaken = taken
      ordersBehindSince = now
      return false
    }
    return now - ordersBehindSince > patience
  }

  /// Whether it knows a template, with the queue as it is called now; from now on it does.
  mutating func told(_ template: UInt32, of graph: GraphID, queue name: String) -> Bool {
    toldTemplates[graph, default: ToldTemplates()].tell(template, queue: name)
  }

  /// Of one graph: the names of the queues of its templates. Most graphs have one template.
  struct ToldTemplates: Sendable {
    private var first: String?
    /// From the second template on, as far as they were told.
    private var others: [String?] = []

    /// Whether the same was told before.
    mutating func tell(_ template: UInt32, queue name: String) -> Bool {
      if template == 0 {
        defer { first = name }
        return first == name
      }
      let at = Int(template) - 1
      while others.count <= at { others.append(nil) }
      defer { others[at] = name }
      return others[at] == name
    }
  }
}
