// The worker's reports: entries to send, and sent ones that are not yet durable (S115). Owned by
// the core.

import DequeModule
import OpClusterModel

/// The pending and the unacknowledged reports.
struct Outbox: Sendable {
  /// Entries that are in no report yet.
  private(set) var pending: [WorkerReport.Entry] = []
  private var pendingBytes = 0
  /// Those of them that are ends, and those on which another attempt has begun here.
  private(set) var ends = 0
  private var followed = 0
  /// Reports of this conversation, kept until acknowledged; heartbeats are not kept.
  private(set) var sent: Deque<(number: UInt64, entries: [WorkerReport.Entry])> = []
  private var sentEntries = 0
  private var sentBytes = 0
  /// The number of the newest report of this conversation.
  private(set) var newest: UInt64 = 0

  /// The estimated maximum bytes of one report: a quarter of a message.
  static let reportBytes = Limits.messageBytes / 4

  var isEmpty: Bool { pending.isEmpty && sent.isEmpty }
  var count: Int { pending.count + sentEntries }
  /// Whether there are pending entries, and each is an end on which another attempt has begun here.
  var isFollowed: Bool { followed > 0 && followed == pending.count }
  /// The estimated bytes that are not acknowledged (G27).
  var bytes: Int { pendingBytes + sentBytes }

  mutating func append(_ entry: WorkerReport.Entry) {
    pendingBytes += Self.weight(entry)
    pending.append(entry)
    if case .finished = entry { ends += 1 }
  }

  /// Notes that another attempt has begun here on the end that was appended last.
  mutating func noteFollowed() { followed += 1 }

  /// The maximum bytes of an entry in a message.
  static func weight(_ entry: WorkerReport.Entry) -> Int {
    switch entry {
    case .finished(_, let result): 96 + result.output.count + result.diagnostic.utf8.count
    case .progress(_, _, let text): 32 + text.utf8.count
    case .started, .recalled, .alreadyStarted, .cancelTaken: 24
    }
  }

  /// Returns the next report with as many pending entries as fit; an empty one is a heartbeat.
  mutating func take(_ conversation: Conversation, ordersTaken: UInt64) -> WorkerReport {
    newest += 1
    (ends, followed) = (0, 0)
    var report = WorkerReport(conversation: conversation, number: newest)
    report.ordersTaken = ordersTaken
    guard !pending.isEmpty else { return report }
    if pending.count <= Limits.entriesPerMessage, pendingBytes <= Self.reportBytes {
      swap(&report.entries, &pending)
      sentBytes += pendingBytes
      pendingBytes = 0
    } else {
      report.entries = cut()
    }
    sentEntries += report.entries.count
    sent.append((newest, report.entries))
    return report
  }

  /// Cuts off the pending entries that fit into one report.
  private mutating func cut() -> [WorkerReport.Entry] {
    var bytes = 0
    var count = 0
    while count < min(pending.count, Limits.entriesPerMessage) {
      let weight = Self.weight(pending[count])
      if count > 0, bytes + weight > Self.reportBytes { break }
      bytes += weight
      count += 1
    }
    let entries = Array(pending[..<count])
    pending.removeSubrange(..<count)
    pendingBytes -= bytes
    sentBytes += bytes
    return entries
  }

  /// Removes and returns the oldest report that the acknowledgement covers; nil if there is none.
  mutating func takeAcknowledged(through number: UInt64) -> [WorkerReport.Entry]? {
    guard let first = sent.first, first.number <= number else { return nil }
    sentEntries -= first.entries.count
    for entry in first.entries { sentBytes -= Self.weight(entry) }
    return sent.removeFirst().entries
  }

  /// Removes and returns all unacknowledged entries in order; numbers begin again.
  mutating func takeAll() -> [WorkerReport.Entry] {
    var entries: [WorkerReport.Entry] = []
    entries.reserveCapacity(count)
    for report in sent { entries += report.entries }
    entries += pending
    self = Outbox()
    return entries
  }

  /// Keeps only the unsent entries that pass the test.
  mutating func filterPending(_ isKept: (WorkerReport.Entry) -> Bool) {
    (ends, followed) = (0, 0)
    pending.removeAll { !isKept($0) }
    pendingBytes = pending.reduce(0) { $0 + Self.weight($1) }
  }
}
