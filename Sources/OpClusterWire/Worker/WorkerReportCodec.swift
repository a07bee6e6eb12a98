// Converts a worker's report ⇄ `WorkerReport`: kinds and attempts in columns, and results only for
// ends that are no plain success.
// The coordinator reads thousands of entries per report, mostly starts and plain successes. Such an
// entry costs a byte of its kind and an attempt, and nothing else.

import OpClusterModel

/// The kinds of `WorkerReport.Kind` as bytes of the kinds column.
/// The numbers are those of `proto/opcluster/v1/worker.proto`. Constants rather than an enum: a
/// column of bytes is switched over without a conversion.
private enum Kind {
  static let started: UInt8 = 1
  static let finished: UInt8 = 2
  static let recalled: UInt8 = 3
  static let alreadyStarted: UInt8 = 4
  static let cancelTaken: UInt8 = 5
  static let progress: UInt8 = 6
}

/// A report without entries is a heartbeat; it still says which orders were taken.
extension WorkerReport: WireConvertible {
  var proto: ProtoWorkerReport {
    var columns = Columns(capacity: entries.count)
    for at in entries.indices { columns.append(entries[at], at: at) }
    var proto = columns.finish()
    proto.conversation = conversation.proto
    proto.number = number
    proto.ordersTaken = ordersTaken
    // Set also on heartbeats, since a worker may begin to leave without anything else to tell.
    proto.leaving = isLeaving
    if !unkillable.isEmpty {
      var columns = AttemptColumns(capacity: unkillable.count)
      for attempt in unkillable { columns.append(attempt) }
      proto.unkillable = columns.finish()
    }
    if unkillableDemand != .none { proto.unkillableDemand = ProtoResources(unkillableDemand) }
    if !held.isEmpty { proto.held = ProtoContents(held) }
    if !lost.isEmpty { proto.lost = column(lost) }
    if !unreached.isEmpty {
      proto.unreached = ProtoContentHolders(
        unreached.map { ContentHolders(digest: $0.content.digest, sources: $0.sources) })
      proto.unreachedSizes = unreached.map { UInt64(clamping: $0.content.size) }
    }
    if !undelivered.isEmpty {
      proto.undelivered = ProtoContentHolders(undelivered.map(\.delivery))
      proto.undeliveredSizes = undelivered.map(\.delivery).sizes
      proto.undeliveredUnreached = undelivered.map(\.isUnreached)
    }
    return proto
  }

  /// Throws for unequal columns, unknown kinds, and progress outside of 0 to 1. The whole report is
  /// refused then, and the worker says hello anew (G33).
  init(proto: ProtoWorkerReport) throws(WireError) {
    self.init(
      conversation: try Conversation(proto: proto.conversation), number: proto.number,
      entries: try Reader(proto).entries(), ordersTaken: proto.ordersTaken)
    isLeaving = proto.leaving
    unkillable = try proto.unkillable.words(Limits.unkillableTold, "report.unkillable")
    unkillableDemand = try proto.unkillableDemand.words("report.unkillable_demand")
    held = try proto.held.words(Limits.entriesPerMessage, "report.held")
    lost = try digests(proto.lost, Limits.entriesPerMessage, "report.lost")
    let sources = try proto.unreached.words(Limits.entriesPerMessage)
    unreached = zip(
      try contents(
        proto.unreached.digests, proto.unreachedSizes, Limits.entriesPerMessage,
        "report.unreached"), sources
    ).map { UnreachedContent($0, from: $1.sources) }
    let failed = try proto.undelivered.deliveries(
      proto.undeliveredSizes, Limits.entriesPerMessage, "report.undelivered")
    try checkEqual(
      proto.undeliveredUnreached.count, failed.count, "report.undelivered_unreached")
    undelivered = zip(failed, proto.undeliveredUnreached).map {
      FailedDelivery($0, isUnreached: $1)
    }
  }
}

/// Collects a report's entries.
/// Collected in the order in which things happened at the worker; the coordinator applies them in
/// that order.
private struct Columns {
  var kinds: [UInt8] = []
  var attempts: AttemptColumns
  /// Positions count over all entries, those without a result too.
  var resultAt = SparsePositions()
  var results: [AttemptResult] = []
  var fractions: [Double] = []
  var texts: [String] = []

  init(capacity: Int) {
    kinds.reserveCapacity(capacity)
    attempts = AttemptColumns(capacity: capacity)
  }

  /// - Parameter position: The entry's number in the report; it only ascends.
  mutating func append(_ entry: WorkerReport.Entry, at position: Int) {
    switch entry {
    case .started(let attempt): append(Kind.started, attempt)
    case .finished(let attempt, let result):
      append(Kind.finished, attempt)
      // A plain success is known from its kind, so it has no result here.
      if !result.isPlain {
        resultAt.append(position)
        results.append(result)
      }
    case .recalled(let attempt): append(Kind.recalled, attempt)
    case .alreadyStarted(let attempt): append(Kind.alreadyStarted, attempt)
    case .cancelTaken(let attempt): append(Kind.cancelTaken, attempt)
    case .progress(let attempt, let fraction, let text):
      append(Kind.progress, attempt)
      fractions.append(fraction)
      texts.append(clipped(text, to: Limits.reasonBytes))
    }
  }

  private mutating func append(_ kind: UInt8, _ attempt: AttemptID) {
    kinds.append(kind)
    attempts.append(attempt)
  }

  /// Columns without entries stay unset, so a heartbeat is a few bytes.
  consuming func finish() -> ProtoWorkerReport {
    var proto = ProtoWorkerReport()
    if kinds.isEmpty { return proto }
    proto.kinds = data(kinds)
    proto.attempts = attempts.finish()
    if !results.isEmpty {
      proto.resultAt = resultAt.differences
      proto.results = ProtoAttemptResults(results)
    }
    proto.progressFraction = fractions
    proto.progressText = texts
    return proto
  }
}

/// Decodes a report: walks the kinds and takes each kind's data from the other columns.
/// Holds cursors into the shorter columns; each kind moves those that it uses.
private struct Reader {
  let kinds: [UInt8]
  let attempts: [AttemptID]
  let resultAt: [Int]
  let results: [AttemptResult]
  let fractions: [Double]
  let texts: [String]
  var nextResult = 0
  var nextProgress = 0

  /// Lengths of columns are checked against each other before the first entry is made.
  init(_ proto: ProtoWorkerReport) throws(WireError) {
    kinds = try opaque(proto.kinds, Limits.entriesPerMessage, "report.kinds")
    attempts = try proto.attempts.words(Limits.entriesPerMessage, "report.attempts")
    try checkEqual(attempts.count, kinds.count, "report.attempts")
    let differences = proto.resultAt
    resultAt = try SparsePositions.read(
      differences, below: kinds.count, entries: differences.count, "report.result_at")
    results = try proto.results.words(differences.count, "report.results")
    fractions = proto.progressFraction
    texts = try OpClusterWire.texts(
      proto.progressText, Limits.entriesPerMessage, bytes: Limits.reasonBytes,
      "report.progress_text")
    try checkEqual(texts.count, fractions.count, "report.progress_text")
  }

  /// Throws if a column has entries left: some kind was wrong then, and which one cannot be told.
  consuming func entries() throws(WireError) -> [WorkerReport.Entry] {
    var entries: [WorkerReport.Entry] = []
    entries.reserveCapacity(kinds.count)
    for at in kinds.indices {
      let attempt = attempts[at]
      switch kinds[at] {
      case Kind.started: entries.append(.started(attempt))
      case Kind.finished:
        // Positions ascend, so comparing with the next one suffices.
        if nextResult < resultAt.count && resultAt[nextResult] == at {
          entries.append(.finished(attempt, results[nextResult]))
          nextResult += 1
        } else {
          entries.append(.finished(attempt, .success))
        }
      case Kind.recalled: entries.append(.recalled(attempt))
      case Kind.alreadyStarted: entries.append(.alreadyStarted(attempt))
      case Kind.cancelTaken: entries.append(.cancelTaken(attempt))
      case Kind.progress: entries.append(try progress(attempt))
      default: throw WireError("report.kinds", .unknownValue(Int(kinds[at])))
      }
    }
    try checkEqual(nextResult, results.count, "report.result_at")
    try checkEqual(nextProgress, fractions.count, "report.progress_fraction")
    return entries
  }

  /// NaN fails every comparison, so this check refuses it too (G33).
  private mutating func progress(_ attempt: AttemptID) throws(WireError) -> WorkerReport.Entry {
    guard nextProgress < fractions.count else {
      throw WireError("report.progress_fraction", .unequalColumns)
    }
    let fraction = fractions[nextProgress]
    guard fraction >= 0 && fraction <= 1 else {
      throw WireError("report.progress_fraction", .outOfRange)
    }
    nextProgress += 1
    return .progress(attempt, fraction: fraction, text: texts[nextProgress - 1])
  }
}
