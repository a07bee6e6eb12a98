// The coordinator of the model: the real scheduler, stepped as the coordinator's loop steps it, and
// what a turn of it takes. Processor time of the brain and of the codec is measured, where a clock
// is given, and the rest is constants of the plan.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

struct ModelCoordinator: Sendable {
  /// What waits in its sockets.
  struct Frame: Sendable {
    var arrives: Instant
    var peer: PeerID
    var content: Content
    enum Content: Sendable {
      case message(WorkerMessage)
      case bytes([UInt8])
      case client(ClientRequest)
    }
  }

  /// What a turn came to.
  struct TurnSum: Sendable {
    var atOnce: [Effect] = []
    var afterDurable: [Effect] = []
    var isDurable = false
    /// The frames that it took, and the messages that it sends.
    var heard = 0
    var said = 0
    /// What it takes in all, and the measured part of that.
    var spent = Span.zero
    var measured = Span.zero
  }

  let timing = Timing()
  private var scheduler: Scheduler
  private var turn = SchedulingTurn()
  private var inbox = Backlog<Frame>()
  private var lastTick = Instant.zero
  private let costs: LargeClusterPlan.Costs
  private let hasCodec: Bool
  /// Nanoseconds of processor time; nil: nothing is measured, and the same seed is the same world.
  private let clock: (@Sendable () -> Int64)?

  /// As in `LoopTurn`: the least pause between two ticks.
  private static let tickPause = Span.milliseconds(5)
  private static let wall = WallTime(milliseconds: 1_700_000_000_000)

  init(_ plan: LargeClusterPlan, clock: (@Sendable () -> Int64)?) {
    costs = plan.costs
    hasCodec = plan.hasCodec
    self.clock = clock
    scheduler = Scheduler(timing: timing)
  }

  // MARK: - What comes

  mutating func receive(_ message: WorkerMessage, from peer: PeerID, at arrival: Instant) {
    let content: Frame.Content = hasCodec ? .bytes(Wire.encode(message)) : .message(message)
    inbox.append(Frame(arrives: arrival, peer: peer, content: content))
  }

  mutating func receive(_ request: ClientRequest, from peer: PeerID, at arrival: Instant) {
    inbox.append(Frame(arrives: arrival, peer: peer, content: .client(request)))
  }

  /// The moment for which the loop sleeps after a turn.
  var nextTurn: Instant {
    let tick = nextTick
    return inbox.first.map { min($0.arrives, tick) } ?? tick
  }

  private var nextTick: Instant {
    let regular = lastTick + timing.heartbeat / 2
    guard let wish = scheduler.nextDeadline() else { return regular }
    return max(min(wish, regular), lastTick + Self.tickPause)
  }

  // MARK: - A turn

  mutating func beginLife(at now: Instant) {
    turn.begin(at: now, wall: Self.wall)
    scheduler.start(life: 1, into: &turn)
    scheduler.close(&turn)
    lastTick = now
  }

  /// Takes as many frames as a turn of the loop takes of the workers, decides, encodes what the
  /// journal and the peers get.
  mutating func takeTurn(at now: Instant) -> TurnSum {
    var outcome = TurnSum()
    let start = clock?() ?? 0
    turn.begin(at: now, wall: Self.wall + (now - .zero))
    let isTickDue = now >= nextTick
    while outcome.heard < Limits.framesPerTurn / 2, let first = inbox.first, first.arrives <= now {
      _ = inbox.popFirst()
      outcome.heard += 1
      handle(first, number: outcome.heard)
    }
    if isTickDue {
      lastTick = now
      scheduler.handle(.tick(), into: &turn)
    }
    scheduler.close(&turn)
    outcome.isDurable = turn.isDurable
    outcome.atOnce = turn.atOnce
    outcome.afterDurable = turn.afterDurable
    outcome.said = outcome.atOnce.count + outcome.afterDurable.count
    if hasCodec { encode(outcome) }
    if let clock { outcome.measured = Span(nanoseconds: max(0, clock() - start)) }
    outcome.spent =
      outcome.measured + costs.turn + costs.message * Int64(outcome.heard + outcome.said)
    return outcome
  }

  private mutating func handle(_ frame: Frame, number: Int) {
    switch frame.content {
    case .message(let message):
      scheduler.handle(.worker(frame.peer, message), into: &turn)
    case .bytes(let bytes):
      guard let message = try? Wire.decodeWorkerMessage(bytes) else {
        preconditionFailure("a message of the model does not decode")
      }
      scheduler.handle(.worker(frame.peer, message), into: &turn)
    case .client(let request):
      scheduler.handle(.client(frame.peer, RequestID(UInt64(number)), request), into: &turn)
    }
  }

  /// What the loop encodes in a turn. The bytes go nowhere.
  private func encode(_ outcome: TurnSum) {
    for effect in outcome.atOnce + outcome.afterDurable {
      if case .toWorker(_, let message) = effect { _ = Wire.encode(message) { _ in "" } }
    }
    guard turn.isDurable else { return }
    _ = Wire.encode(records: turn.records)
    if !turn.events.isEmpty { _ = Wire.encode(eventRuns: turn.events) }
    if !turn.history.isEmpty { _ = Wire.encode(history: turn.history) }
  }
}
