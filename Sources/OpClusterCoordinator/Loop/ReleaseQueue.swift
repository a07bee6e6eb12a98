// Persist, then speak (G3): what a turn wants to say waits here until its commit is durable. The
// one place from which facts leave. Pure; on the loop's thread.

import OpClusterModel

/// Something that leaves once a turn is durable.
enum Held: Sendable {
  case toWorker(PeerID, [UInt8])
  /// A reply; the client has one request less in flight.
  case reply(PeerID, [UInt8])
  case close(PeerID)
  /// A question to the history that must see this turn.
  case ask(HistoryQuestion)
}

/// What waits for one commit.
struct HeldTurn: Sendable {
  var commit: UInt64
  var items: [Held]
  /// Events of the turn; nil when nobody had subscribed.
  var events: [EventRun]?
  /// The newest event of the cluster after this turn.
  var lastEvent: UInt64
  /// When it began to wait.
  var since: Instant
}

extension HeldTurn {
  /// What its messages take.
  fileprivate var bytes: Int { items.reduce(0) { $0 + $1.bytes } }
}

extension Held {
  fileprivate var bytes: Int {
    switch self {
    case .toWorker(_, let bytes), .reply(_, let bytes): bytes.count
    case .ask(let question): question.bytes
    case .close: 0
    }
  }
}

struct ReleaseQueue {
  private var turns: [HeldTurn] = []
  private var head = 0
  /// Of the messages that wait.
  private(set) var bytes = 0
  /// Everything up to here is on disk.
  private(set) var durable: UInt64

  init(durable: UInt64) { self.durable = durable }

  var isEmpty: Bool { head == turns.count }
  /// Nothing waits for the disk.
  var hasAllDurable: Bool { turns.last.map { $0.commit <= durable } ?? true }
  /// So much waits for the disk that nothing more may be decided (G27).
  var isFull: Bool { turns.count - head >= Limits.heldTurns || bytes >= Limits.heldBytes }

  /// For how long the oldest commit that the disk has not confirmed has waited; zero: all are.
  func diskWait(at now: Instant) -> Span {
    guard head < turns.count, turns[head].commit > durable else { return .zero }
    return max(.zero, now - turns[head].since)
  }

  /// Commits come in ascending order.
  mutating func hold(_ turn: HeldTurn) {
    precondition(turns.last.map { $0.commit <= turn.commit } ?? true, "commits ascend")
    turns.append(turn)
    bytes += turn.bytes
  }

  mutating func becameDurable(through commit: UInt64) { durable = max(durable, commit) }

  /// The oldest turn, if it may speak.
  mutating func next() -> HeldTurn? {
    guard head < turns.count, turns[head].commit <= durable else { return nil }
    let turn = turns[head]
    bytes -= turn.bytes
    turns[head].items = []
    turns[head].events = nil
    head += 1
    if head == turns.count {
      turns.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 1_024 {
      turns.removeFirst(head)
      head = 0
    }
    return turn
  }
}
