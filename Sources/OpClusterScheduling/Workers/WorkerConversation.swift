// The conversation with a worker: its own description, the messages sent and received, its speed.
// Not in the journal; a life of the coordinator begins without conversations.

import OpClusterModel

// What is asked at each order is inlined: a call of its own would copy the conversation.
struct WorkerConversation: Watchable {
  // From its hello:
  /// The capacity that it announced.
  private(set) var offered = Resources.none
  /// The usable part of it: without the resources of processes that KILL does not end.
  private(set) var capacity = Resources.none {
    didSet {
      fittingChanges &+= 1
      renewRoomForOne()
    }
  }
  /// The most that one operation can have here; nil: the capacity.
  private(set) var largest: Resources? {
    didSet {
      fittingChanges &+= 1
      renewRoomForOne()
    }
  }
  /// The most that one operation can have here. Kept, since every turn reads it.
  private(set) var roomForOne = Resources.none
  /// The attempts with such processes.
  private(set) var unkillable: [AttemptID] = []
  /// Whether its last report named any.
  private(set) var isUnwell = false
  private(set) var labels: [Label] = []
  private(set) var types: [OperationType] = []
  /// Where others read what it has in its store; nil: it has none.
  private(set) var store: ContentSource?
  /// Whether it serves a kind of demand, by slot of the kind, for the first
  /// `DemandClasses.comparedKinds`.
  var serves: [Bool] = [] { didSet { fittingChanges &+= 1 } }
  /// The same for the first `DemandClasses.exactKinds`, as bits.
  var servedBits: UInt64 = 0
  /// The bits of the kinds that it may serve.
  var kindBits: UInt64 = 0
  /// What the kinds that it serves want of named resources; one entry for each that wants any.
  var namedWants: [NamedWant] = []
  /// The classes whose type it had announced but did not know, by number, with their serial.
  var lacks: [Int: UInt64] = [:] { didSet { fittingChanges &+= 1 } }
  /// Counts the changes of what decides which classes fit.
  private(set) var fittingChanges: UInt32 = 0

  // Messages:
  /// Its connection; nil if it is not connected.
  var peer: PeerID?
  private(set) var increment: UInt32 = 0
  var ordersSent: UInt64 = 0
  var reportTaken: UInt64 = 0
  /// The newest orders that it has confirmed; whether its last report confirmed fewer than were
  /// sent and no new ones; and since when that is so.
  private var ordersTaken: UInt64 = 0
  private var isBehind = false
  private var ordersBehindSince: Instant = .zero
  var lastHeard: Instant
  /// Whether it reported in this life of the coordinator.
  var wasHeard = false
  /// The time of the last heartbeat, or of the beginning of the conversation. Orders do not count.
  var lastSpoken: Instant = .zero
  /// The commit that its welcome waits for.
  var welcomedIn = CommitIndex(0)
  var isSuspect = false
  /// The templates that it was told in this conversation, by graph, with the queue's name.
  private(set) var toldTemplates: [GraphID: ToldTemplates] = [:]
  /// The newest of them: mostly the one that is asked for next, which then costs no look-up.
  private var newestTold: ToldTemplate?

  // The bytes of its orders:
  /// The bytes of unstarted attempts; without those from before a restart, which are unknown.
  private(set) var assignedBytes = 0
  /// The bytes of each attempt that has any.
  private var sizes: [OperationID: Int] = [:]
  /// An operation handed over before it fits: the worker keeps room for it, so it is not recalled
  /// as surplus.
  var reservation: OperationID?

  // Speed; limits the operations that it may be assigned beyond its capacity:
  /// The recent rate of ended operations, per second.
  var rate: Double = 0
  var busySince: Instant = .zero

  // Failed starts:
  /// The stages that others could or may start; nil: none.
  var trouble: StartTrouble?
  /// The single-stage classes that it is not given for that reason, by their serials.
  var withheld: [Int: UInt64] = [:] { didSet { fittingChanges &+= 1 } }
  /// Whether it is given nothing at all for that reason.
  var isResting = false
  var isNoted = false

  init(heard: Instant) { lastHeard = heard }

  static var blank: WorkerConversation { WorkerConversation(heard: .zero) }

  /// Begins a new conversation with the worker's own description. Assigned bytes and the speed stay
  /// valid; the caller forgets what was told.
  mutating func begin(
    _ peer: PeerID, _ hello: WorkerHello, number: UInt32, at now: Instant
  ) {
    self.peer = peer
    increment = number
    ordersSent = 0
    reportTaken = 0
    ordersTaken = 0
    isBehind = false
    ordersBehindSince = now
    lastHeard = now
    wasHeard = true
    isSuspect = false
    offered = hello.capacity
    largest = hello.largest
    // None until its first report.
    _ = note(unkillable: [], demand: .none)
    // So that an operation can request one worker by name.
    labels =
      hello.labels.filter { $0.key != "worker" } + [Label(key: "worker", value: hello.name)]
    types = hello.types
    store = hello.store
  }

  /// Notes a report of processes that KILL does not end. Returns whether the capacity changed.
  mutating func note(unkillable: [AttemptID], demand: Resources) -> Bool {
    self.unkillable = unkillable
    isUnwell = !unkillable.isEmpty || demand != .none
    let before = capacity
    capacity = offered
    if demand != .none { capacity.take(demand) }
    return capacity != before
  }

  /// Whether an operation with this demand could ever run here.
  @inline(__always)
  func isLargeEnough(for demand: Resources) -> Bool {
    capacity.covers(demand) && (largest.map { $0.covers(demand) } ?? true)
  }

  private mutating func renewRoomForOne() {
    guard let largest else {
      roomForOne = capacity
      return
    }
    roomForOne = Resources(
      cpus: min(capacity.cpus, largest.cpus),
      memoryBytes: min(capacity.memoryBytes, largest.memoryBytes),
      gpus: min(capacity.gpus, largest.gpus),
      custom: capacity.custom.map {
        Resources.NamedAmount(
          name: $0.name, amount: min($0.amount, largest.amount(named: $0.name)))
      })
  }

  // MARK: - How fast it is

  /// The number of operations that it may be assigned now: as many as it ends in some
  /// milliseconds, so that it never waits for a round trip; 0 if operations are long or have become
  /// long.
  @inline(__always)
  func prefetch(at now: Instant) -> UInt32 {
    let silence = (now - busySince).seconds
    let current = silence > Self.patience ? min(rate, 1 / silence) : rate
    let wanted = current * Self.prefetchSeconds
    if wanted >= Double(Limits.prefetchPerWorker) { return UInt32(Limits.prefetchPerWorker) }
    return wanted > 0 ? UInt32(wanted) : 0
  }
  private static let prefetchSeconds = 0.010
  /// So long at least a worker that has more to start collects what it reports, in seconds.
  private static let betweenReports = 0.002
  /// After this time without an end, in seconds, the earlier rate is no longer valid.
  static let patience = 0.050

  /// Updates the rate after a report that ended this number of attempts.
  ///
  /// - Parameter atOnce: Whether each of them began and ended between two reports. If more time has
  ///   passed, the rest was the way of the messages, and the worker is at least as fast as that.
  ///   Among a thousand workers each is far away: it would seem slow, and be given one operation
  ///   for each time to and fro.
  mutating func noteEnded(_ count: Int, atOnce: Bool, at now: Instant) {
    let elapsed = max((now - busySince).seconds, 0.000_05)
    busySince = now
    if atOnce, elapsed > Self.betweenReports {
      rate = max(rate, rate * 0.5 + Double(count) / Self.betweenReports * 0.5)
    } else {
      rate = rate * 0.5 + Double(count) / elapsed * 0.5
    }
  }

  // MARK: - Orders

  /// Notes the newest orders that it confirms, and since when it has been behind.
  mutating func note(ordersTaken taken: UInt64, at now: Instant) {
    isBehind = taken < ordersSent && taken <= ordersTaken
    if isBehind { return }
    ordersTaken = taken
    ordersBehindSince = now
  }

  /// Whether orders must have been lost: it has been behind for longer than `patience`, and
  /// confirmed nothing new. If the lost orders were the last, no later message would reveal the
  /// gap.
  func missesOrders(at now: Instant, patience: Span) -> Bool {
    isBehind && now - ordersBehindSince > patience
  }

  /// Whether it knows a template with the queue's present name.
  @inline(__always)
  func knows(_ template: UInt32, of graph: GraphID, queue name: String) -> Bool {
    if let newest = newestTold, newest.graph == graph, newest.template == template {
      return newest.queue == name
    }
    return toldTemplates[graph]?.queue(of: template) == name
  }

  mutating func noteTold(_ template: UInt32, of graph: GraphID, queue name: String) {
    newestTold = ToldTemplate(graph: graph, template: template, queue: name)
    toldTemplates[graph, default: ToldTemplates()].tell(template, queue: name)
  }

  mutating func forgetTold(of graph: GraphID) {
    if newestTold?.graph == graph { newestTold = nil }
    toldTemplates[graph] = nil
  }

  mutating func forgetAllTold() {
    newestTold = nil
    toldTemplates = [:]
  }

  // MARK: - Credit in bytes (G27)

  /// Notes the bytes that an attempt brought along.
  mutating func note(_ bytes: Int, of id: OperationID) {
    guard bytes > 0 else { return }
    assignedBytes += bytes
    sizes[id, default: 0] += bytes
  }

  /// Frees the bytes and the reservation of an attempt that has begun or left.
  mutating func letGo(_ id: OperationID) {
    if reservation == id { reservation = nil }
    guard !sizes.isEmpty, let bytes = sizes.removeValue(forKey: id) else { return }
    assignedBytes -= bytes
  }

  /// Whether it may be given this number of further unstarted bytes; the first attempt always fits.
  @inline(__always)
  func hasRoom(for bytes: Int) -> Bool {
    assignedBytes == 0 || assignedBytes + bytes <= Limits.assignedBytesPerWorker
  }

  /// The number of attempts with at most this number of bytes that it takes: at least one.
  @inline(__always)
  func count(fitting bytes: Int) -> UInt32 {
    guard bytes > 0 else { return .max }
    return UInt32(max(1, (Limits.assignedBytesPerWorker - assignedBytes) / bytes))
  }
}
