// What each principal takes of the coordinator, and how much it may (G29): requests and their bytes
// by rate, operations and connections by number. Whoever takes more is told when to come again
// (G27). Pure; on the loop's thread.

import OpClusterModel

/// How much one principal may take; the same for all.
public struct Quotas: Hashable, Sendable {
  public var requestsPerSecond = Limits.requestsPerSecond
  public var requestBytesPerSecond = Limits.requestBytesPerSecond
  /// Operations of its graphs that have not ended.
  public var pendingOperations = Limits.pendingOperations
  public var connections = Limits.connectionsPerPrincipal
  public init() {}
}

/// Who is counted together.
enum QuotaHolder: Hashable, Sendable {
  /// Nobody said who it is: the connection counts for itself.
  case connection(PeerID)
  /// All connections of one key.
  case key(String)
}

struct QuotaBook {
  private struct Account {
    var requests = Rate()
    var bytes = Rate()
    var pending = 0
    var connections = 0
    /// Nothing would be lost by forgetting it.
    func isIdle(at now: Instant) -> Bool {
      pending == 0 && connections == 0 && requests.isIdle(at: now) && bytes.isIdle(at: now)
    }
  }

  private let quotas: Quotas
  /// Looked up; iterated only for counting and forgetting.
  private var accounts: [QuotaHolder: Account] = [:]
  private var owners: [GraphID: (holder: QuotaHolder, operations: Int)] = [:]

  init(_ quotas: Quotas) { self.quotas = quotas }

  /// Accounts, for tests.
  var count: Int { accounts.count }

  // MARK: - Connections

  /// One more connection of a principal.
  mutating func connect(_ holder: QuotaHolder) -> Refusal? {
    let connections = accounts[holder]?.connections ?? 0
    guard connections < quotas.connections else {
      return Refusal(
        .busy, "\(holder) has \(connections) connections, the most that it may",
        hint: "end some of them", retryAfter: .seconds(5))
    }
    accounts[holder, default: Account()].connections += 1
    return nil
  }

  mutating func disconnect(_ holder: QuotaHolder) {
    accounts[holder]?.connections -= 1
  }

  // MARK: - Requests

  /// Whether so many operations more would be too many; others may still be asked for.
  func lackOfRoom(for operations: Int, by holder: QuotaHolder) -> Refusal? {
    let pending = accounts[holder]?.pending ?? 0
    guard operations > 0, pending + operations > quotas.pendingOperations else { return nil }
    return Refusal(
      .busy,
      "\(holder) has \(pending) operations that have not ended; with "
        + "\(operations) more it would have over \(quotas.pendingOperations)",
      hint: "wait until some have ended, or cancel them", retryAfter: .seconds(5))
  }

  /// One request of so many bytes, which would add so many operations. A refused one takes nothing.
  mutating func take(
    bytes: Int, operations: Int, by holder: QuotaHolder, at now: Instant
  ) -> Refusal? {
    var account = accounts[holder] ?? Account()
    if let refusal = lackOfRoom(for: operations, by: holder) { return refusal }
    let wait = max(
      account.requests.wait(for: 1, perSecond: quotas.requestsPerSecond, at: now),
      account.bytes.wait(for: bytes, perSecond: quotas.requestBytesPerSecond, at: now))
    if wait > .zero {
      return Refusal(
        .busy,
        "\(holder) asks more than \(quotas.requestsPerSecond) requests or "
          + "\(quotas.requestBytesPerSecond >> 20) MiB a second",
        hint: "ask less often, or submit more operations at once",
        retryAfter: max(wait, QuotaBook.shortestWait))
    }
    account.requests.take(1, perSecond: quotas.requestsPerSecond, at: now)
    account.bytes.take(bytes, perSecond: quotas.requestBytesPerSecond, at: now)
    accounts[holder] = account
    return nil
  }

  /// Longer than what a client has sent before it hears of the refusal is on its way, so that none
  /// of that overtakes what was refused.
  static let shortestWait = Span.milliseconds(100)

  // MARK: - Operations

  /// A graph of the principal was accepted.
  mutating func began(_ graph: GraphID, operations: Int, by holder: QuotaHolder) {
    owners[graph] = (holder, operations)
    accounts[holder, default: Account()].pending += operations
  }

  /// A graph has ended; those of earlier lives of the coordinator belong to nobody.
  mutating func ended(_ graph: GraphID) {
    guard let owner = owners.removeValue(forKey: graph) else { return }
    accounts[owner.holder]?.pending -= owner.operations
  }

  // MARK: - Time

  /// Forgets accounts of which nothing is left.
  mutating func forgetIdle(at now: Instant) {
    accounts = accounts.filter { !$0.value.isIdle(at: now) }
  }
}

/// A rate with a burst of some seconds, in one number: until when what was taken is paid for.
struct Rate: Hashable, Sendable {
  private var paidUntil = Instant(nanoseconds: .min / 2)

  /// How long until so many may be taken. More than a whole burst is taken as a burst.
  func wait(for count: Int, perSecond rate: Int, at now: Instant) -> Span {
    let cost = min(Self.cost(count, rate), Self.burst)
    let excess = max(paidUntil, now).nanoseconds + cost - now.nanoseconds - Self.burst
    return Span(nanoseconds: max(excess, 0))
  }

  mutating func take(_ count: Int, perSecond rate: Int, at now: Instant) {
    let cost = min(Self.cost(count, rate), Self.burst)
    paidUntil = Instant(nanoseconds: max(paidUntil, now).nanoseconds + cost)
  }

  func isIdle(at now: Instant) -> Bool { paidUntil <= now }

  private static let burst = Int64(Limits.burstSeconds) * 1_000_000_000

  private static func cost(_ count: Int, _ rate: Int) -> Int64 {
    let whole = Int64(count).multipliedReportingOverflow(by: 1_000_000_000)
    return whole.overflow ? burst : whole.partialValue / Int64(max(rate, 1))
  }
}

extension QuotaHolder: CustomStringConvertible {
  var description: String {
    switch self {
    case .connection: "this connection"
    case .key(let name): "key \(name)"
    }
  }
}
