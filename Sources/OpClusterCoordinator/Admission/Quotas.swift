// What each principal takes of the coordinator, and how much it may (G29): requests and their bytes
// by rate, operations and connections by number. Whoever takes more is told when to come again
// (G27). Pure; on the loop's thread.

import OpClusterModel
import OpClusterScheduling

/// How much one principal may take; the same for all.
public struct Quotas: Hashable, Sendable {
  public var requestsPerSecond = Limits.requestsPerSecond
  public var requestBytesPerSecond = Limits.requestBytesPerSecond
  /// Operations of its graphs that have not ended.
  public var pendingOperations = Limits.pendingOperations
  /// Queues of its graphs that have not ended, and those that it made.
  public var queues = Limits.queuesPerPrincipal
  public var connections = Limits.connectionsPerPrincipal
  public init() {}
}

/// Who is counted together.
typealias QuotaHolder = GraphOwner

struct QuotaBook {
  private struct Account {
    var requests = Rate()
    var bytes = Rate()
    var pending = 0
    /// Bytes of these beyond what operations may have.
    var pendingBytes = 0
    /// Queues that came with its graphs, and those that it made.
    var queues = 0
    var connections = 0
    /// Nothing would be lost by forgetting it.
    func isIdle(at now: Instant) -> Bool {
      pending == 0 && pendingBytes == 0 && queues == 0 && connections == 0
        && requests.isIdle(at: now) && bytes.isIdle(at: now)
    }
  }

  /// What somebody has of a graph: who submitted it is the first, then whoever added to it.
  private struct Share {
    var holder: QuotaHolder
    var operations = 0
    var bytes = 0
    var queues = 0
  }

  private let quotas: Quotas
  /// Looked up; iterated only for counting and forgetting.
  private var accounts: [QuotaHolder: Account] = [:]
  private var shares: [GraphID: [Share]] = [:]
  /// Who made a queue of the cluster, in this life of the coordinator.
  private var makers: [QueueID: QuotaHolder] = [:]
  /// Of all accounts.
  private var pendingBytes = 0

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

  /// Whether a graph of so many operations and bytes would be too much; all else may be asked for.
  func lackOfRoom(
    for operations: Int, bytes: Int = 0, queues: Int = 0, by holder: QuotaHolder
  ) -> Refusal? {
    let pending = accounts[holder]?.pending ?? 0
    if operations > 0, pending + operations > quotas.pendingOperations {
      return Self.noRoom(
        "\(holder) has \(pending) operations that have not ended; with \(operations) more it "
          + "would have over \(quotas.pendingOperations)")
    }
    let known = accounts[holder]?.queues ?? 0
    if queues > 0, known + queues > quotas.queues {
      return Self.noRoom(
        "\(holder) has \(known) queues, those of its graphs that have not ended among them; with "
          + "\(queues) more it would have over \(quotas.queues)")
    }
    return lackOfRoom(forExcess: Self.excess(bytes, operations), by: holder)
  }

  /// Whether one more queue of the cluster would be too much. It goes when somebody removes it, so
  /// that there is nothing to wait for.
  func lackOfRoomForAQueue(by holder: QuotaHolder) -> Refusal? {
    let known = accounts[holder]?.queues ?? 0
    if known < quotas.queues { return nil }
    return Refusal(
      .limitExceeded, "\(holder) has \(known) queues, the most that it may",
      hint: "remove some with: opbatch queue rm NAME")
  }

  /// Whether so many bytes of blocks would be too much, which are added to operations that are
  /// there already (S120).
  func lackOfRoom(forBlocks bytes: Int, by holder: QuotaHolder) -> Refusal? {
    lackOfRoom(forExcess: bytes, by: holder)
  }

  private func lackOfRoom(forExcess excess: Int, by holder: QuotaHolder) -> Refusal? {
    let own = accounts[holder]?.pendingBytes ?? 0
    if excess > 0, own > 0, own + excess > Limits.pendingBytesPerPrincipal {
      return Self.noRoom(
        "the operations of \(holder) that have not ended have \(own >> 20) MiB of long commands "
          + "and arguments; with \(excess >> 20) MiB more it would have over "
          + "\(Limits.pendingBytesPerPrincipal >> 20)")
    }
    if excess > 0, pendingBytes > 0, pendingBytes + excess > Limits.pendingBytes {
      return Self.noRoom(
        "operations that have not ended have \(pendingBytes >> 20) MiB of long commands and "
          + "arguments already, of \(Limits.pendingBytes >> 20)")
    }
    return nil
  }

  private static func noRoom(_ message: String) -> Refusal {
    Refusal(
      .busy, message, hint: "wait until some have ended, or cancel them", retryAfter: .seconds(5),
      lacksRoom: true)
  }

  /// What a graph has beyond what its operations may have.
  private static func excess(_ bytes: Int, _ operations: Int) -> Int {
    max(0, bytes - operations * Limits.pendingBytesPerOperation)
  }

  /// One request of so many bytes, which would add so many operations. A refused one takes nothing.
  mutating func take(
    bytes: Int, operations: Int, by holder: QuotaHolder, at now: Instant
  ) -> Refusal? {
    var account = accounts[holder] ?? Account()
    if let refusal = lackOfRoom(for: operations, bytes: 0, by: holder) { return refusal }
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
  mutating func began(
    _ graph: GraphID, operations: Int, bytes: Int = 0, by holder: QuotaHolder
  ) {
    let excess = Self.excess(bytes, operations)
    count(Share(holder: holder, operations: operations, bytes: excess), of: graph)
  }

  /// Queues came with a graph.
  mutating func brought(_ queues: Int, with graph: GraphID, by holder: QuotaHolder) {
    count(Share(holder: holder, queues: queues), of: graph)
  }

  /// A queue of the cluster was made.
  mutating func made(_ queue: QueueID, by holder: QuotaHolder) {
    makers[queue] = holder
    accounts[holder, default: Account()].queues += 1
  }

  /// A queue is gone, whoever made it.
  mutating func removed(_ queue: QueueID) {
    if let holder = makers.removeValue(forKey: queue) { accounts[holder]?.queues -= 1 }
  }

  /// Blocks of so many bytes were added to operations of a living graph.
  mutating func added(_ bytes: Int, to graph: GraphID, by holder: QuotaHolder) {
    count(Share(holder: holder, bytes: bytes), of: graph)
  }

  private mutating func count(_ share: Share, of graph: GraphID) {
    accounts[share.holder, default: Account()].pending += share.operations
    accounts[share.holder]?.pendingBytes += share.bytes
    accounts[share.holder]?.queues += share.queues
    pendingBytes += share.bytes
    if let at = shares[graph]?.firstIndex(where: { $0.holder == share.holder }) {
      shares[graph]?[at].operations += share.operations
      shares[graph]?[at].bytes += share.bytes
      shares[graph]?[at].queues += share.queues
    } else {
      shares[graph, default: []].append(share)
    }
  }

  /// A graph has ended; those of earlier lives of the coordinator belong to nobody.
  mutating func ended(_ graph: GraphID) {
    for share in shares.removeValue(forKey: graph) ?? [] {
      accounts[share.holder]?.pending -= share.operations
      accounts[share.holder]?.pendingBytes -= share.bytes
      accounts[share.holder]?.queues -= share.queues
      pendingBytes -= share.bytes
    }
  }

  // MARK: - Time

  /// Forgets accounts of which nothing is left.
  mutating func forgetIdle(at now: Instant) {
    accounts = accounts.filter { !$0.value.isIdle(at: now) }
  }
}

/// A rate with a burst of some seconds, in one number: until when what was taken is paid for.
struct Rate: Hashable, Sendable {
  private var paidUntil = Instant.distantPast

  /// How long until so many may be taken. More than a whole burst is taken as a burst.
  func wait(for count: Int, perSecond rate: Int, at now: Instant) -> Span {
    let cost = min(Self.cost(count, rate), Self.burst)
    return max(.zero, max(paidUntil, now) + cost - now - Self.burst)
  }

  mutating func take(_ count: Int, perSecond rate: Int, at now: Instant) {
    let cost = min(Self.cost(count, rate), Self.burst)
    paidUntil = max(paidUntil, now) + cost
  }

  func isIdle(at now: Instant) -> Bool { paidUntil <= now }

  private static let burst = Span.seconds(Int64(Limits.burstSeconds))

  private static func cost(_ count: Int, _ rate: Int) -> Span {
    .seconds(Int64(count)) / Int64(max(rate, 1))
  }
}
