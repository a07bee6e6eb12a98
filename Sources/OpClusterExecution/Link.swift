// The worker's side of its conversation with the coordinator: when to speak, when to give up a
// socket, when to retry. Owned by the core.

import DequeModule
import OpClusterModel

/// The state of the conversation.
enum LinkState: Hashable, Sendable {
  /// No usable socket; a fresh one opens at this moment.
  case waiting(until: Instant)
  /// A fresh socket; the hello is not yet taken, or its welcome has not come.
  case greeting(deadline: Instant, isHelloTaken: Bool)
  case talking(Conversation)
  /// Goodbye was said, or the coordinator refuses the worker.
  case closed
}

/// The conversation and its clocks.
struct Link: Sendable {
  var state: LinkState
  /// The coordinator's times from the last welcome.
  var timing = Timing()
  /// The newest processed orders.
  var ordersTaken: UInt64 = 0
  /// When the coordinator was last heard in a conversation; before that, the start of the worker.
  var lastHeard: Instant
  var nextHeartbeat: Instant
  /// The moment until which the coordinator certainly heard of this worker; nil before the first
  /// welcome.
  private(set) var contact: Instant?
  /// When the hello of this conversation was made.
  private var helloMadeAt: Instant?
  /// When the reports of this conversation were made that are not known to be heard, oldest first.
  private var made: Deque<(report: UInt64, at: Instant)> = []
  /// Whether the coordinator may have taken attempts away that the worker still counts as its own:
  /// it knows the conversation no more, or a hello is not answered yet.
  private var isOwnershipInDoubt = false
  /// The number of welcomes; before the first the worker cannot be an orphan.
  var welcomes: UInt64 = 0
  private var failures: UInt32 = 0
  /// Consecutive hellos that were taken and not answered in time.
  private var unansweredHellos: UInt32 = 0
  /// The state of the jitter; seeded by the body.
  private var chance: UInt64

  init(chance: UInt64, at now: Instant) {
    self.chance = chance
    state = .waiting(until: now)
    lastHeard = now
    nextHeartbeat = now
  }

  var conversation: Conversation? {
    if case .talking(let conversation) = state { conversation } else { nil }
  }

  /// The lease (S13). After `suspect` without a message nothing new starts here, since the
  /// coordinator may be about to give it to another worker. Nor does anything start while the
  /// coordinator is asked what still belongs here: it may have been given away before.
  func holdsLease(at now: Instant) -> Bool {
    welcomes > 0 && !isOwnershipInDoubt && now - lastHeard < timing.suspect
  }

  /// Notes that the coordinator knows the conversation no more: nothing starts before the next
  /// welcome.
  mutating func doubtOwnership() { isOwnershipInDoubt = true }

  /// Running attempts are stopped after this time without a coordinator (`ORPHAN`).
  var orphanDeadline: Instant { lastHeard + timing.orphan }

  mutating func heard(at now: Instant) { lastHeard = now }

  /// Brings the own heartbeats together with the coordinator's: one that is soon due answers now,
  /// and another comes earlier, so that the next one answers. So each side wakes once for both.
  mutating func joinBeat(at now: Instant) {
    let (left, half) = (nextHeartbeat - now, timing.heartbeat / 2)
    // The last one was spoken just before: they are together.
    if left > timing.heartbeat - timing.heartbeat / 16 { return }
    nextHeartbeat = left <= half ? min(nextHeartbeat, now) : now + half
  }

  /// When exclusive operations are killed here (`FENCE`, G16). It counts from the worker's last
  /// heard message, not from the coordinator's: if only one direction is cut, the coordinator
  /// regards this worker as lost while its own messages still arrive.
  var fenceDeadline: Instant { contact.map { $0 + timing.fence } ?? .zero }

  /// Whether exclusive operations may begin.
  func holdsFence(at now: Instant) -> Bool { contact != nil && now < fenceDeadline }

  /// Drops the contact: earlier messages no longer prove anything.
  mutating func forgetContact() {
    contact = nil
    helloMadeAt = nil
    made.removeAll(keepingCapacity: true)
  }

  mutating func madeHello(at now: Instant) {
    helloMadeAt = now
    isOwnershipInDoubt = true
    made.removeAll(keepingCapacity: true)
  }

  /// Moments closer than this are not distinguished.
  private static let madeInterval = Span.milliseconds(20)
  private static let madeLimit = 4_096

  mutating func made(report number: UInt64, at now: Instant) {
    if let last = made.last, now - last.at < Self.madeInterval { return }
    if made.count >= Self.madeLimit { made.removeFirst() }
    made.append((number, now))
  }

  /// Notes that the coordinator has heard reports through this number.
  mutating func noteHeard(through number: UInt64) {
    while let first = made.first, first.report <= number {
      contact = max(contact ?? .zero, first.at)
      made.removeFirst()
    }
  }

  mutating func welcomed(_ welcome: Welcome, at now: Instant) {
    state = .talking(welcome.conversation)
    isOwnershipInDoubt = false
    timing = welcome.timing
    ordersTaken = 0
    lastHeard = now
    if let helloMadeAt { contact = max(contact ?? .zero, helloMadeAt) }
    nextHeartbeat = now
    welcomes += 1
    failures = 0
    unansweredHellos = 0
  }

  /// Gives the socket up and waits before a retry, longer each time. The wait is random between
  /// half and the whole, so that a thousand workers do not return at once.
  mutating func fail(_ settings: ExecutionSettings, at now: Instant) {
    var whole = settings.shortestBackoff.nanoseconds
    for _ in 0..<min(failures, 16) where whole < settings.longestBackoff.nanoseconds {
      whole *= 2
    }
    whole = min(whole, settings.longestBackoff.nanoseconds)
    failures &+= 1
    let half = whole / 2
    let extra = Int64(nextChance() % UInt64(max(1, whole - half)))
    state = .waiting(until: now + Span(nanoseconds: half + extra))
  }

  /// Begins to greet on a fresh socket. Each hello without an answer doubles the time for the
  /// next: a coordinator that is slower than its workers' patience would otherwise answer closed
  /// sockets for ever, and each hello that comes instead makes it slower (A19).
  mutating func greet(_ settings: ExecutionSettings, at now: Instant) {
    var time = settings.handshake.nanoseconds
    for _ in 0..<min(unansweredHellos, 16) where time < settings.longestHandshake.nanoseconds {
      time *= 2
    }
    time = min(time, max(settings.longestHandshake, settings.handshake).nanoseconds)
    state = .greeting(deadline: now + Span(nanoseconds: time), isHelloTaken: false)
  }

  /// Gives up a greeting whose time is over.
  mutating func giveUpGreeting(_ settings: ExecutionSettings, at now: Instant) {
    if case .greeting(_, isHelloTaken: true) = state { unansweredHellos &+= 1 }
    fail(settings, at: now)
  }

  /// Opens a fresh socket after this time.
  mutating func wait(for span: Span, at now: Instant) { state = .waiting(until: now + span) }

  /// Draws the number of a new session.
  mutating func drawSession() -> WorkerSession { WorkerSession(nextChance()) }

  /// Waits the longest time: the coordinator is busy.
  mutating func failBusy(_ settings: ExecutionSettings, at now: Instant) {
    failures = 16
    fail(settings, at: now)
  }

  /// The splitmix64 step: enough to spread retries.
  private mutating func nextChance() -> UInt64 {
    chance &+= 0x9E37_79B9_7F4A_7C15
    var z = chance
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// The next moment at which the link itself has something to do.
  var nextDeadline: Instant? {
    switch state {
    case .waiting(let until): until
    case .greeting(let deadline, _): deadline
    case .talking: min(nextHeartbeat, lastHeard + timing.suspect)
    case .closed: nil
    }
  }
}
