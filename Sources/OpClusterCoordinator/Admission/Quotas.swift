// The use of the coordinator by each principal, and its quotas (G29): requests and their bytes by
// rate, operations and connections by number. A principal over its quota is told when to retry
// (G27). Pure; on the loop's thread.

import OpClusterModel
import OpClusterScheduling

/// The quotas of one principal; the same for all.
public struct Quotas: Hashable, Sendable {
  public var requestsPerSecond = Limits.requestsPerSecond
  public var requestBytesPerSecond = Limits.requestBytesPerSecond
  /// Unfinished operations of its graphs.
  public var pendingOperations = Limits.pendingOperations
  /// Queues of its unfinished graphs, and queues that it created.
  public var queues = Limits.queuesPerPrincipal
  public var connections = Limits.connectionsPerPrincipal
  public init() {}
}

/// The principal that is counted.
typealias QuotaHolder = GraphOwner

struct QuotaBook {
  private struct Account {
    var requests = Rate()
    var bytes = Rate()
    var pending = 0
    /// Bytes of these beyond the allowance of operations.
    var pendingBytes = 0
    /// Queues that came with its graphs, and queues that it created.
    var queues = 0
    var connections = 0
    /// Whether forgetting the account would lose nothing.
    func isIdle(at now: Instant) -> Bool {
      pending == 0 && pendingBytes == 0 && queues == 0 && connections == 0
        && requests.isIdle(at: now) && bytes.isIdle(at: now)
    }
  }

  /// A principal's share of a graph: first the submitter, then each that added to it.
  private struct Share {
    var holder: QuotaHolder
    var operations = 0
    var bytes = 0
    var queues = 0
  }

  private let quotas: Quotas
  /// Looked up; iterated only to count and to forget.
  private var accounts: [QuotaHolder: Account] = [:]
  private var shares: [GraphID: [Share]] = [:]
  /// The creator of each queue of the cluster, in this life of the coordinator.
  private var makers: [QueueID: QuotaHolder] = [:]
  /// The sum of all accounts.
  private var pendingBytes = 0

  init(_ quotas: Quotas) { self.quotas = quotas }

  /// The number of accounts, for tests.
  var count: Int { accounts.count }

  // MARK: - Connections

  /// Counts one more connection of a principal, or refuses it.
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

  /// The refusal of a graph with this number of operations, bytes and queues; the rest is not
  /// limited.
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

  /// The refusal of one more queue of the cluster. It names no time to retry, because only a
  /// client's removal frees a queue.
  func lackOfRoomForAQueue(by holder: QuotaHolder) -> Refusal? {
    let known = accounts[holder]?.queues ?? 0
    if known < quotas.queues { return nil }
    return Refusal(
      .limitExceeded, "\(holder) has \(known) queues, the most that it may",
      hint: .removeQueues)
  }

  /// The refusal of bytes of blocks that are added to existing operations (S120).
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

  /// The bytes of a graph beyond the allowance of its operations.
  private static func excess(_ bytes: Int, _ operations: Int) -> Int {
    max(0, bytes - operations * Limits.pendingBytesPerOperation)
  }

  /// Takes one request with these bytes and operations, or refuses it. A refused request takes
  /// nothing.
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

  /// Longer than the delay of messages that a client sent before it receives the refusal, so that
  /// none of them overtakes the refused request.
  static let shortestWait = Span.milliseconds(100)

  // MARK: - Operations

  /// Counts an accepted graph of the principal.
  mutating func began(
    _ graph: GraphID, operations: Int, bytes: Int = 0, by holder: QuotaHolder
  ) {
    let excess = Self.excess(bytes, operations)
    count(Share(holder: holder, operations: operations, bytes: excess), of: graph)
  }

  /// Counts queues that came with a graph.
  mutating func brought(_ queues: Int, with graph: GraphID, by holder: QuotaHolder) {
    count(Share(holder: holder, queues: queues), of: graph)
  }

  /// Counts a created queue of the cluster.
  mutating func made(_ queue: QueueID, by holder: QuotaHolder) {
    makers[queue] = holder
    accounts[holder, default: Account()].queues += 1
  }

  /// Notes that a queue was removed, by any client.
  mutating func removed(_ queue: QueueID) {
    if let holder = makers.removeValue(forKey: queue) { accounts[holder]?.queues -= 1 }
  }

  /// Counts bytes of blocks that were added to operations of a living graph.
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

  /// Notes that a graph has ended; graphs of earlier lives of the coordinator belong to nobody.
  mutating func ended(_ graph: GraphID) {
    for share in shares.removeValue(forKey: graph) ?? [] {
      accounts[share.holder]?.pending -= share.operations
      accounts[share.holder]?.pendingBytes -= share.bytes
      accounts[share.holder]?.queues -= share.queues
      pendingBytes -= share.bytes
    }
  }

  // MARK: - Time

  /// Forgets accounts without any use.
  mutating func forgetIdle(at now: Instant) {
    accounts = accounts.filter { !$0.value.isIdle(at: now) }
  }
}

/// A rate with a burst of some seconds, as one number: the time until which the use is paid.
struct Rate: Hashable, Sendable {
  private var paidUntil = Instant.distantPast

  /// The wait until `count` may be taken. More than a whole burst counts as a burst.
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
