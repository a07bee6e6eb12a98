// The state of the link to the coordinator: connecting, greeting, open, or away with the time of
// the next try. Pure: time and chance are arguments. Lives on the connection's thread.

import OpClusterModel

struct Link {
  enum Phase: Equatable {
    /// No socket; a fresh one opens at this moment (A19).
    case away(retryAt: Instant)
    /// A socket is connecting.
    case connecting(deadline: Instant)
    /// The hello is sent, the welcome has not arrived.
    case greeting(deadline: Instant)
    case open
  }

  /// The next step that time demands.
  enum Due: Equatable {
    case nothing
    case openSocket
    /// Nothing was heard for long: send a ping.
    case ping
    /// Connecting took too long, or the coordinator is silent: drop the socket.
    case giveUpSocket(String)
    /// The coordinator has been away too long: fail the waiting requests.
    case failWaiting
  }

  /// The silence after which the client sends a ping.
  static let askAfter = Span.seconds(3)
  /// The silence after which the coordinator counts as gone.
  static let silenceLimit = Span.seconds(10)
  /// How long requests and streams survive the coordinator's absence by default.
  static let patience = Span.seconds(60)
  static let firstBackoff = Span.milliseconds(100)
  static let longestBackoff = Span.seconds(5)
  /// The time limit of one attempt to reconnect, and what it grows to with hellos that get no
  /// answer: a coordinator slower than the limit would answer closed sockets for ever.
  private static let reconnectTime = Span.seconds(3)
  private static let longestReconnectTime = Span.seconds(48)

  let patience: Span
  private(set) var phase: Phase
  private var lastHeard: Instant
  private var lastAsked: Instant
  /// Failed attempts in a row.
  private var failures: UInt32 = 0
  /// Consecutive hellos that were not answered in time.
  private var unansweredHellos: UInt32 = 0
  private var awaySince: Instant?

  /// A link whose first attempt begins now.
  init(at now: Instant, patience: Span = Link.patience) {
    self.patience = patience
    phase = .away(retryAt: now)
    lastHeard = now
    lastAsked = now
  }

  var isOpen: Bool { phase == .open }

  /// The end of an attempt to reconnect that begins now.
  func reconnectDeadline(at now: Instant) -> Instant {
    let time = Self.reconnectTime.nanoseconds << Int64(min(unansweredHellos, 10))
    return now + min(Span(nanoseconds: time), Self.longestReconnectTime)
  }

  mutating func socketOpened(deadline: Instant) { phase = .connecting(deadline: deadline) }

  /// - Parameter deadline: When the greeting has to be over, if that is later than for connecting.
  mutating func connected(greetingUntil deadline: Instant = .distantPast) {
    if case .connecting(let known) = phase { phase = .greeting(deadline: max(known, deadline)) }
  }

  mutating func welcomed(at now: Instant) {
    phase = .open
    failures = 0
    unansweredHellos = 0
    awaySince = nil
    lastHeard = now
    lastAsked = now
  }

  /// Notes a sign of life; any message is one.
  mutating func heard(at now: Instant) { lastHeard = now }

  /// Notes the loss of the socket. `chance` in 0…1 spreads many clients over time.
  mutating func socketLost(at now: Instant, chance: Double) {
    if awaySince == nil { awaySince = now }
    let doublings = min(failures, 10)
    let pause = min(
      Self.firstBackoff.nanoseconds << Int64(doublings), Self.longestBackoff.nanoseconds)
    failures += 1
    let jittered = Double(pause) * (0.5 + 0.5 * chance)
    phase = .away(retryAt: now + Span(nanoseconds: Int64(jittered)))
  }

  /// Returns the step that is due now. `isAwaited`: a caller must be told of a long absence.
  mutating func due(at now: Instant, isAwaited: Bool) -> Due {
    if isAwaited, let awaySince, now - awaySince >= patience { return .failWaiting }
    switch phase {
    case .away(let retryAt): return now >= retryAt ? .openSocket : .nothing
    case .connecting(let deadline):
      return now >= deadline ? .giveUpSocket("nobody answered in time") : .nothing
    case .greeting(let deadline):
      if now < deadline { return .nothing }
      unansweredHellos += 1
      return .giveUpSocket("something listens there, but it did not answer in time")
    case .open:
      if now - lastHeard >= Self.silenceLimit {
        return .giveUpSocket("the coordinator fell silent")
      }
      if now - max(lastHeard, lastAsked) >= Self.askAfter {
        lastAsked = now
        return .ping
      }
      return .nothing
    }
  }

  /// The latest moment for the next call of `due`.
  func nextDeadline(isAwaited: Bool) -> Instant {
    let moment: Instant
    switch phase {
    case .away(let retryAt): moment = retryAt
    case .connecting(let deadline), .greeting(let deadline): moment = deadline
    case .open:
      moment = min(max(lastHeard, lastAsked) + Self.askAfter, lastHeard + Self.silenceLimit)
    }
    guard isAwaited, let awaySince else { return moment }
    return min(moment, awaySince + patience)
  }
}
