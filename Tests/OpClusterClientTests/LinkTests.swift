// The link's clockwork, without a clock.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterClient

@Suite struct LinkTests {
  static func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

  /// A link that was welcomed at 0.
  static func open() -> Link {
    var link = Link(at: .zero)
    link.socketOpened(deadline: at(3_000))
    link.connected()
    link.welcomed(at: .zero)
    return link
  }

  @Test func firstAttemptBeginsAtOnce() {
    var link = Link(at: .zero)
    #expect(link.due(at: .zero, isAwaited: false) == .openSocket)
  }

  @Test func asksBeforeItGivesUp() {
    var link = Self.open()
    #expect(link.due(at: Self.at(2_999), isAwaited: true) == .nothing)
    #expect(link.due(at: Self.at(3_000), isAwaited: true) == .ping)
    #expect(link.due(at: Self.at(3_001), isAwaited: true) == .nothing)
    #expect(link.due(at: Self.at(6_000), isAwaited: true) == .ping)
    #expect(link.due(at: Self.at(9_999), isAwaited: true) == .ping)
    guard case .giveUpSocket = link.due(at: Self.at(10_000), isAwaited: true) else {
      Issue.record("10 s of silence are not the end")
      return
    }
  }

  @Test func anyWordIsASignOfLife() {
    var link = Self.open()
    link.heard(at: Self.at(9_000))
    #expect(link.due(at: Self.at(11_000), isAwaited: true) == .nothing)
    #expect(link.due(at: Self.at(12_000), isAwaited: true) == .ping)
  }

  /// Own back-off, growing, bounded, spread by chance.
  @Test(.checks("A19")) func backoffGrowsToItsBound() {
    var link = Self.open()
    var now = Instant.zero
    var pauses: [Int64] = []
    for _ in 0..<9 {
      link.socketLost(at: now, chance: 1)
      guard case .away(let retryAt) = link.phase else { return }
      pauses.append((retryAt - now).nanoseconds / 1_000_000)
      now = retryAt
      #expect(link.due(at: now, isAwaited: false) == .openSocket)
    }
    #expect(pauses == [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000])
    link.socketLost(at: now, chance: 0)
    #expect(link.phase == .away(retryAt: now + .milliseconds(2_500)))
  }

  @Test func aWelcomeForgetsTheFailures() {
    var link = Self.open()
    for _ in 0..<5 { link.socketLost(at: .zero, chance: 1) }
    link.welcomed(at: Self.at(1_000))
    link.socketLost(at: Self.at(2_000), chance: 1)
    #expect(link.phase == .away(retryAt: Self.at(2_100)))
  }

  @Test func connectingHasADeadline() {
    var link = Link(at: .zero)
    link.socketOpened(deadline: Self.at(3_000))
    #expect(link.due(at: Self.at(2_999), isAwaited: true) == .nothing)
    guard case .giveUpSocket = link.due(at: Self.at(3_000), isAwaited: true) else {
      Issue.record("the deadline passed unnoticed")
      return
    }
    link.connected()
    guard case .giveUpSocket = link.due(at: Self.at(3_000), isAwaited: true) else {
      Issue.record("the greeting has the same deadline")
      return
    }
  }

  /// Whoever is reached may be slow, and is given the later of the two times.
  @Test func greetingHasItsOwnDeadline() {
    for (time, end) in [(2_000, 3_000), (9_000, 9_000)] as [(Int64, Int64)] {
      var link = Link(at: .zero)
      link.socketOpened(deadline: Self.at(3_000))
      link.connected(greetingUntil: Self.at(time))
      #expect(link.due(at: Self.at(end - 1), isAwaited: true) == .nothing)
      guard case .giveUpSocket = link.due(at: Self.at(end), isAwaited: true) else {
        Issue.record("the deadline passed unnoticed")
        return
      }
    }
  }

  /// A busy coordinator is given more time by each hello that it does not answer.
  @Test(.checks("A19")) func theTimeForAnAnswerGrows() {
    var link = Self.open()
    var now = Instant.zero
    var times: [Int64] = []
    for _ in 0..<6 {
      link.socketLost(at: now, chance: 1)
      let deadline = link.reconnectDeadline(at: now)
      times.append((deadline - now).wholeSeconds)
      link.socketOpened(deadline: deadline)
      link.connected()
      now = deadline
      guard case .giveUpSocket = link.due(at: now, isAwaited: false) else {
        Issue.record("the deadline passed unnoticed")
        return
      }
    }
    #expect(times == [3, 6, 12, 24, 48, 48])
    link.welcomed(at: now)
    #expect(link.reconnectDeadline(at: now) == now + .seconds(3))
  }

  @Test func patienceOfThoseWhoWait() {
    var link = Self.open()
    link.socketLost(at: .zero, chance: 1)
    let end = Instant.zero + Link.patience
    #expect(link.due(at: end, isAwaited: false) == .openSocket)
    #expect(link.due(at: end, isAwaited: true) == .failWaiting)
    #expect(link.nextDeadline(isAwaited: true) <= end)
  }
}
