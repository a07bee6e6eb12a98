// Persist, then speak (G3): the effects of a turn wait here until its commit is durable. Facts
// leave only from here. Pure; on the loop's thread.

import OpClusterModel

/// An effect that leaves once its turn is durable.
enum UnreleasedEffect: Sendable {
  case toWorker(PeerID, [UInt8])
  /// A reply; it ends one request in flight of the client.
  case reply(PeerID, [UInt8])
  case close(PeerID)
  /// A question to the history that must see this turn.
  case ask(HistoryQuestion)
}

/// The effects that wait for one commit.
struct UnreleasedTurn: Sendable {
  var commit: UInt64
  var items: [UnreleasedEffect]
  var events: TurnEvents
  /// The newest event of the cluster after this turn.
  var lastEvent: UInt64
  /// The time since when it waits.
  var since: Instant
  /// Whether it is journaled.
  var isDurable = false
}

extension UnreleasedTurn {
  /// The bytes of its messages.
  fileprivate var bytes: Int { items.reduce(0) { $0 + $1.bytes } }
}

extension UnreleasedEffect {
  fileprivate var bytes: Int {
    switch self {
    case .toWorker(_, let bytes), .reply(_, let bytes): bytes.count
    case .ask(let question): question.bytes
    case .close: 0
    }
  }
}

struct ReleaseQueue {
  private var turns: [UnreleasedTurn] = []
  private var head = 0
  /// The bytes of the waiting messages.
  private(set) var bytes = 0
  /// Every commit up to this one is on disk.
  private(set) var durable: UInt64

  init(durable: UInt64) { self.durable = durable }

  var isEmpty: Bool { head == turns.count }
  /// Whether nothing waits for the disk.
  var hasAllDurable: Bool { turns.last.map { $0.commit <= durable } ?? true }
  /// Whether so much waits for the disk that nothing more may be decided (G27).
  var isFull: Bool {
    turns.count - head >= Limits.unreleasedTurns || bytes >= Limits.unreleasedBytes
  }

  /// How long the oldest commit has waited for the disk; zero if none waits.
  func diskWait(at now: Instant) -> Span {
    guard head < turns.count, turns[head].commit > durable else { return .zero }
    return max(.zero, now - turns[head].since)
  }

  /// Adds a turn; commits must ascend.
  mutating func append(_ turn: UnreleasedTurn) {
    precondition(turns.last.map { $0.commit <= turn.commit } ?? true, "commits ascend")
    turns.append(turn)
    bytes += turn.bytes
  }

  mutating func becameDurable(through commit: UInt64) { durable = max(durable, commit) }

  /// The oldest turn if it is durable.
  mutating func next() -> UnreleasedTurn? {
    guard head < turns.count, turns[head].commit <= durable else { return nil }
    let turn = turns[head]
    bytes -= turn.bytes
    turns[head].items = []
    turns[head].events = .inJournal
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
