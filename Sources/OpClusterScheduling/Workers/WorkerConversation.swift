// The conversation with a worker: what it says of itself, what was sent and has come, how fast it
// is. Nothing of it is in the journal; a life of the coordinator begins with none.

import OpClusterModel

struct WorkerConversation: Blankable {
  // What it is, from its hello
  /// What it says that it has.
  private(set) var offered = Resources.none
  /// Of that, what it can give: without what is taken by processes that KILL does not end.
  private(set) var capacity = Resources.none
  /// Attempts of which such processes live.
  private(set) var unkillable: [AttemptID] = []
  /// Whether its last report told of any.
  private(set) var isUnwell = false
  private(set) var labels: [Label] = []
  private(set) var types: [OperationType] = []
  /// By slot of the kind of demand, of the first `DemandClasses.comparedKinds`: whether it serves
  /// it.
  var serves: [Bool] = []
  /// Bits of the kinds that it may serve.
  var kindBits: UInt64 = 0
  /// Classes of which it had announced the type and did not know it, by number, with their serial.
  var lacks: [Int: UInt64] = [:]

  // What was said
  /// nil: not connected.
  var peer: PeerID?
  private(set) var increment: UInt32 = 0
  var ordersSent: UInt64 = 0
  var reportTaken: UInt64 = 0
  /// Newest orders that it has said it has, whether its last report told of fewer than were sent
  /// and of none that are new, and since when that is so.
  private var ordersTaken: UInt64 = 0
  private var isBehind = false
  private var ordersBehindSince: Instant = .zero
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

  // What went along with orders
  /// What unstarted ones brought along; not known of those from before a restart.
  private(set) var heldBytes = 0
  /// The share of each whose bytes are worth a note.
  private var sizes: [OperationID: Int] = [:]
  /// Handed over though it does not fit yet: the worker keeps its room for it.
  var reservation: OperationID?

  // How fast it is; decides how much it may hold beyond its capacity
  /// Operations it ended per second, lately.
  var rate: Double = 0
  var busySince: Instant = .zero

  // What it could not start
  /// What others could or may start; nil: nothing.
  var trouble: StartTrouble?
  /// Classes of single stages of which it is given nothing because of that, by their serials…
  var withheld: [Int: UInt64] = [:]
  /// …or nothing at all.
  var isResting = false

  init(heard: Instant) { lastHeard = heard }

  static var blank: WorkerConversation { WorkerConversation(heard: .zero) }

  /// Begins it anew, with what the worker says of itself. What went along with what it holds, and
  /// how fast it was, is true of it as before.
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
    toldTemplates = [:]
    offered = hello.capacity
    // Its first report says more.
    _ = note(unkillable: [], demand: .none)
    // So that an operation can ask for one worker by name.
    labels =
      hello.labels.filter { $0.key != "worker" } + [Label(key: "worker", value: hello.name)]
    types = hello.types
  }

  /// What a report says of processes that KILL does not end. Whether it can give more or less now.
  mutating func note(unkillable: [AttemptID], demand: Resources) -> Bool {
    self.unkillable = unkillable
    isUnwell = !unkillable.isEmpty || demand != .none
    let before = capacity
    capacity = offered
    if demand != .none { capacity.take(demand) }
    return capacity != before
  }

  /// What it has left beside what is taken.
  @inline(__always)
  func free(besides taken: Resources) -> Resources {
    var free = capacity
    free.take(taken)
    return free
  }

  // MARK: - How fast it is

  /// Operations it may hold unstarted at a moment: what it ends in some milliseconds, so that it
  /// never waits for a round trip, and nothing where operations are long or have become so.
  func prefetch(at now: Instant) -> UInt32 {
    let silence = (now - busySince).seconds
    let current = silence > Self.patience ? min(rate, 1 / silence) : rate
    return min(
      UInt32(saturating: current * Self.prefetchSeconds), UInt32(Limits.prefetchPerWorker))
  }
  private static let prefetchSeconds = 0.010
  /// Nothing ended for so long: what it ended before says nothing about what it does now.
  static let patience = 0.050

  /// Learns from a report that so many attempts ended.
  mutating func noteEnded(_ count: Int, at now: Instant) {
    let elapsed = max((now - busySince).seconds, 0.000_05)
    rate = rate * 0.5 + Double(count) / elapsed * 0.5
    busySince = now
  }

  // MARK: - Orders

  /// Notes which orders it says it has, and since when it has been behind.
  mutating func note(ordersTaken taken: UInt64, at now: Instant) {
    isBehind = taken < ordersSent && taken <= ordersTaken
    if isBehind { return }
    ordersTaken = taken
    ordersBehindSince = now
  }

  /// Whether orders must have been lost: for so long it has been told more than it has, and none
  /// of it has come. Nothing sent later would show the gap if they were the last.
  func missesOrders(at now: Instant, patience: Span) -> Bool {
    isBehind && now - ordersBehindSince > patience
  }

  /// Whether it knows a template, with the queue as it is called now.
  func knows(_ template: UInt32, of graph: GraphID, queue name: String) -> Bool {
    toldTemplates[graph]?.queue(of: template) == name
  }

  /// It is told a template, with the queue as it is called now.
  mutating func tell(_ template: UInt32, of graph: GraphID, queue name: String) {
    toldTemplates[graph, default: ToldTemplates()].tell(template, queue: name)
  }

  /// Of one graph: the names of the queues of its templates. Most graphs have one template.
  struct ToldTemplates: Sendable {
    private var first: String?
    /// From the second template on, as far as they were told.
    private var others: [String?] = []

    func queue(of template: UInt32) -> String? {
      if template == 0 { return first }
      let at = Int(template) - 1
      return others.indices.contains(at) ? others[at] : nil
    }

    mutating func tell(_ template: UInt32, queue name: String) {
      if template == 0 {
        first = name
        return
      }
      let at = Int(template) - 1
      while others.count <= at { others.append(nil) }
      others[at] = name
    }
  }

  // MARK: - Credit in bytes (G27)

  /// An attempt that was handed over brought so many bytes along.
  mutating func note(_ bytes: Int, of id: OperationID) {
    guard bytes > 0 else { return }
    heldBytes += bytes
    sizes[id, default: 0] += bytes
  }

  /// It has begun or left: neither its bytes nor its room are kept any more.
  mutating func letGo(_ id: OperationID) {
    if reservation == id { reservation = nil }
    guard !sizes.isEmpty, let bytes = sizes.removeValue(forKey: id) else { return }
    heldBytes -= bytes
  }

  /// Whether so many bytes more may be handed to it unstarted; the first attempt always fits.
  func hasRoom(for bytes: Int) -> Bool {
    heldBytes == 0 || heldBytes + bytes <= Limits.heldBytesPerWorker
  }

  /// How many attempts that bring at most so many bytes each it takes: at least one.
  func count(fitting bytes: Int) -> UInt32 {
    guard bytes > 0 else { return .max }
    return UInt32(max(1, (Limits.heldBytesPerWorker - heldBytes) / bytes))
  }
}

// Of a worker as a whole.
extension Scheduler {
  /// Whether new work may go to it: it is connected, heard of, and to stay.
  func takesWork(_ worker: UInt32) -> Bool {
    let isReachable = conversations[worker].peer != nil && !conversations[worker].isSuspect
    return isReachable && !conversations[worker].isResting && !workers[worker].isDraining
  }

  /// What it has left.
  @inline(__always)
  func free(_ worker: UInt32) -> Resources {
    conversations[worker].free(besides: workers[worker].taken)
  }

  /// How many more of a rank it may hold unstarted.
  func room(at worker: UInt32, for rank: Rank, at now: Instant) -> UInt32 {
    workers[worker].room(for: rank, within: conversations[worker].prefetch(at: now))
  }
}
