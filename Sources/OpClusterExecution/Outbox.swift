// What the worker has to tell, and what it has told that is not yet durable (S115). The core's.

import DequeModule
import OpClusterModel

/// Reports in the making and in flight.
struct Outbox: Sendable {
  /// Not yet in any report.
  private(set) var pending: [WorkerReport.Entry] = []
  private var pendingBytes = 0
  /// Sent in this conversation, kept until acknowledged; heartbeats are not kept.
  private(set) var sent: Deque<(number: UInt64, entries: [WorkerReport.Entry])> = []
  private var sentEntries = 0
  private var sentBytes = 0
  /// Number of the newest report of this conversation.
  private(set) var newest: UInt64 = 0

  /// Bytes of one report by estimate: a quarter of what a message may have.
  static let reportBytes = Limits.messageBytes / 4

  var isEmpty: Bool { pending.isEmpty && sent.isEmpty }
  var count: Int { pending.count + sentEntries }
  /// What is not acknowledged, by estimate (G27).
  var bytes: Int { pendingBytes + sentBytes }

  mutating func append(_ entry: WorkerReport.Entry) {
    pendingBytes += Self.weight(entry)
    pending.append(entry)
  }

  /// What an entry takes in a message, at most.
  static func weight(_ entry: WorkerReport.Entry) -> Int {
    switch entry {
    case .finished(_, let result): 96 + result.output.count + result.diagnostic.utf8.count
    case .progress(_, _, let text): 32 + text.utf8.count
    case .started, .recalled, .alreadyStarted, .cancelTaken: 24
    }
  }

  /// The next report, as much of what is pending as fits; empty: a heartbeat.
  mutating func take(_ conversation: Conversation, ordersTaken: UInt64) -> WorkerReport {
    newest += 1
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

  /// The first part of what is pending that fits into one report.
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

  /// The oldest report that the acknowledgement covers, taken out; nil when there is none.
  mutating func takeAcknowledged(through number: UInt64) -> [WorkerReport.Entry]? {
    guard let first = sent.first, first.number <= number else { return nil }
    sentEntries -= first.entries.count
    for entry in first.entries { sentBytes -= Self.weight(entry) }
    return sent.removeFirst().entries
  }

  /// Everything unacknowledged, in order, taken out; numbers begin again.
  mutating func takeAll() -> [WorkerReport.Entry] {
    var entries: [WorkerReport.Entry] = []
    entries.reserveCapacity(count)
    for report in sent { entries += report.entries }
    entries += pending
    self = Outbox()
    return entries
  }

  /// Keeps of what is not sent yet only what the test lets pass.
  mutating func filterPending(_ isKept: (WorkerReport.Entry) -> Bool) {
    pending.removeAll { !isKept($0) }
    pendingBytes = pending.reduce(0) { $0 + Self.weight($1) }
  }
}

extension WorkerReport.Entry {
  /// The attempt that it tells about.
  var attempt: AttemptID {
    switch self {
    case .started(let attempt), .finished(let attempt, _), .recalled(let attempt),
      .alreadyStarted(let attempt), .cancelTaken(let attempt), .progress(let attempt, _, _):
      attempt
    }
  }
}
