// Converts ends of attempts ⇄ columns. Reports, journal and history share them.
// The lines of the history of attempts and the reasons of cancellations follow at the end, since
// they hold results or stand beside them.

import OpClusterModel

extension AttemptResult {
  /// Whether the result holds nothing but a success; such a result has no entry in any column.
  /// A million plain successes are therefore a million kinds and attempts, and no result at all.
  /// Times count too: a result with a known start is not plain.
  var isPlain: Bool {
    cause == .none && !wasStopped && !wasForced && exitStatus == 0 && signal == 0
      && maximumResidentBytes == 0 && processorMicroseconds == 0 && startedAt == .unknown
      && endedAt == .unknown && output.isEmpty && diagnostic.isEmpty
  }

  /// Bit 0 is `wasStopped`, bit 1 `wasForced`. Readers ignore the other bits.
  fileprivate var flags: UInt8 { (wasStopped ? 1 : 0) | (wasForced ? 2 : 0) }
}

extension ProtoAttemptResults {
  /// Every column is left out if no result has anything in it. `output` and `diagnostic` are
  /// sparse, since few results have them and they are large.
  init(_ results: [AttemptResult]) {
    self.init()
    count = UInt32(truncatingIfNeeded: results.count)
    // The default of the wire is "unspecified", which the reader takes for no cause: an absent
    // column must mean that nothing failed.
    if results.contains(where: { $0.cause != .none }) { cause = results.map(\.cause.proto) }
    exitStatus = omitted(results.map(\.exitStatus), ifAll: 0)
    signal = omitted(results.map(\.signal), ifAll: 0)
    if results.contains(where: { $0.flags != 0 }) { flags = data(results.map(\.flags)) }
    maximumResidentBytes = omitted(results.map(\.maximumResidentBytes), ifAll: 0)
    processorMicroseconds = omitted(results.map(\.processorMicroseconds), ifAll: 0)
    setTimes(results)
    setSparse(results)
  }

  /// Milliseconds, as differences: neighbours of a report started close to each other, and an end
  /// is close to its own start.
  private mutating func setTimes(_ results: [AttemptResult]) {
    var last: Int64 = 0
    let starts = results.map { result in
      defer { last = result.startedAt.milliseconds }
      return result.startedAt.milliseconds &- last
    }
    startedAtDelta = omitted(starts, ifAll: 0)
    endedAfter = omitted(
      results.map { $0.endedAt.milliseconds &- $0.startedAt.milliseconds }, ifAll: 0)
  }

  /// An output was bounded where it was read, at the worker. A diagnostic is clipped: it is the end
  /// of a program's stderr, and losing its tail is better than losing the result.
  private mutating func setSparse(_ results: [AttemptResult]) {
    var outputs = SparsePositions()
    var diagnostics = SparsePositions()
    for (at, result) in results.enumerated() {
      if !result.output.isEmpty {
        outputs.append(at)
        output.append(data(result.output))
      }
      if !result.diagnostic.isEmpty {
        diagnostics.append(at)
        diagnostic.append(clipped(result.diagnostic, to: Limits.diagnosticBytes))
      }
    }
    outputAt = outputs.differences
    diagnosticAt = diagnostics.differences
  }

  /// Decodes exactly `expected` results. Clamps numbers to the range that a system can report, so
  /// that an odd clock or kernel does not lose a result (G33).
  /// - Parameter expected: The entries that the enclosing message has.
  /// - Throws: `unequalColumns` where a column has another number.
  func words(_ expected: Int, _ field: String) throws(WireError) -> [AttemptResult] {
    try checkEqual(Int(count), expected, field)
    var results = Array(repeating: AttemptResult(), count: expected)
    try readEnds(into: &results, field)
    try readMeasures(into: &results, field)
    try readSparse(into: &results, field)
    return results
  }

  /// How the attempts ended. An unknown cause is a failure, and the other numbers are clamped to
  /// the ranges of exit statuses and signals.
  private func readEnds(into results: inout [AttemptResult], _ field: String) throws(WireError) {
    let causes = cause
    if !causes.isEmpty {
      try checkEqual(causes.count, results.count, field)
      for at in results.indices { results[at].cause = FailureCause(lenient: causes[at]) }
    }
    let flags = try opaque(flags, results.count, field)
    if !flags.isEmpty {
      try checkEqual(flags.count, results.count, field)
      for at in results.indices {
        results[at].wasStopped = flags[at] & 1 != 0
        results[at].wasForced = flags[at] & 2 != 0
      }
    }
    try fill(&results, \.exitStatus, exitStatus.map { min(max($0, 0), Limits.exitStatus) }, field)
    try fill(&results, \.signal, signal.map { min(max($0, 0), Limits.signal) }, field)
  }

  /// Memory is the peak of the process tree in bytes, processor time the sum of user and system in
  /// microseconds. Without times the results keep `unknown`.
  private func readMeasures(
    into results: inout [AttemptResult], _ field: String
  ) throws(WireError) {
    let most = Limits.measuredAmount
    try fill(
      &results, \.maximumResidentBytes, maximumResidentBytes.map { min($0, most) }, field)
    try fill(
      &results, \.processorMicroseconds, processorMicroseconds.map { min($0, most) }, field)
    if startedAtDelta.isEmpty && endedAfter.isEmpty { return }
    let starts = try Column(startedAtDelta, count: results.count, else: 0, field)
    let lengths = try Column(endedAfter, count: results.count, else: 0, field)
    // Wrapping sums: a wrong clock yields a wrong time, and no trap.
    var start: Int64 = 0
    for at in results.indices {
      start &+= starts[at]
      results[at].startedAt = WallTime(milliseconds: start)
      results[at].endedAt = WallTime(milliseconds: start &+ lengths[at])
    }
  }

  /// Throws `beyond` for an output over `Limits.outputBytes`: unlike a measured number it cannot be
  /// cut without becoming another value.
  private func readSparse(
    into results: inout [AttemptResult], _ field: String
  ) throws(WireError) {
    let outputs = output
    let positions = try SparsePositions.read(
      outputAt, below: results.count, entries: outputs.count, field)
    for (at, output) in zip(positions, outputs) {
      results[at].output = try opaque(output, Limits.outputBytes, "results.output")
    }
    let diagnostics = diagnostic
    let places = try SparsePositions.read(
      diagnosticAt, below: results.count, entries: diagnostics.count, field)
    for (at, diagnostic) in zip(places, diagnostics) {
      results[at].diagnostic = try text(diagnostic, Limits.diagnosticBytes, "results.diagnostic")
    }
  }
}

/// Copies one column into one property; an empty column leaves the default.
/// - Parameter column: Clamped already, if its range is limited.
private func fill<Value>(
  _ results: inout [AttemptResult], _ property: WritableKeyPath<AttemptResult, Value>,
  _ column: [Value], _ field: String
) throws(WireError) {
  if column.isEmpty { return }
  try checkEqual(column.count, results.count, field)
  for at in results.indices { results[at][keyPath: property] = column[at] }
}

/// The reason travels with each cancelled operation's event, and with the line of its history.
/// The kind decides which fields count; the others are ignored.
extension CancelReason: WireConvertible {
  var proto: ProtoCancelReason {
    var proto = ProtoCancelReason()
    switch self {
    case .request(let text):
      // May be empty: a request need not give a reason.
      proto.kind = .request
      proto.text = clipped(text, to: Limits.reasonBytes)
    case .dependency(let operation, let outcome):
      proto.kind = .dependency
      proto.dependency = operation.proto
      proto.outcome = outcome.proto
    case .failurePolicy:
      proto.kind = .failurePolicy
    }
    return proto
  }

  /// An unknown kind is an error: unlike a cause of failure, no other kind means nearly the same.
  init(proto: ProtoCancelReason) throws(WireError) {
    switch proto.kind {
    case .request:
      self = .request(try text(proto.text, Limits.reasonBytes, "reason.text"))
    case .dependency:
      self = .dependency(
        try OperationID(proto: proto.dependency),
        try Outcome(proto: proto.outcome, "reason.outcome"))
    case .failurePolicy:
      self = .failurePolicy
    case .unspecified, .UNRECOGNIZED:
      throw WireError("reason.kind", .unknownValue(proto.kind.rawValue))
    }
  }
}

/// One line per attempt, and one for each run of operations that ended without any.
extension ProtoAttemptHistories {
  init(_ lines: [AttemptHistory]) {
    self.init()
    // Few workers run many attempts, so their names are stored once.
    var names = NameTable()
    var reasons = SparsePositions()
    for (at, line) in lines.enumerated() {
      names.append(line.workerName)
      if let given = line.reason {
        reasons.append(at)
        reason.append(given.proto)
      }
    }
    attempts = ProtoAttempts(lines.map(\.attempt))
    // "Unspecified" is a valid entry here: the operation was tried again, and the attempt ended
    // nothing.
    outcome = omitted(lines.map { $0.outcome?.proto ?? .unspecified }, ifAll: .unspecified)
    reasonAt = reasons.differences
    workerNames = names.names
    worker = omitted(names.positions, ifAll: 0)
    results = ProtoAttemptResults(lines.map(\.result))
    run = omitted(lines.map(\.run), ifAll: 1)
    self.count = omitted(lines.map(\.count), ifAll: 1)
    // Not `omitted`: the column is left out if no time is known, whatever the differences are.
    if lines.contains(where: { $0.readyAt != .unknown }) {
      var last: Int64 = 0
      readyAtDelta = lines.map { line in
        defer { last = line.readyAt.milliseconds }
        return line.readyAt.milliseconds &- last
      }
    }
  }

  /// - Parameter limit: Lines, not operations: one line may stand for many.
  func words(_ limit: Int) throws(WireError) -> [AttemptHistory] {
    let attempts = try attempts.words(limit, "history.attempts")
    let count = attempts.count
    let outcomes = try Column(outcome, count: count, else: .unspecified, "history.outcome")
    let workers = try NameReader(workerNames, worker, count: count, "history.worker")
    let results = try results.words(count, "history.results")
    let runs = try Column(run, count: count, else: 1, "history.run")
    let lengths = try Column(self.count, count: count, else: 1, "history.count")
    let readies = try Column(readyAtDelta, count: count, else: 0, "history.ready_at")
    var readyAt: Int64 = 0
    let protos = reason
    let reasonsAt = try SparsePositions.read(
      reasonAt, below: count, entries: protos.count, "history.reason")
    var lines: [AttemptHistory] = []
    lines.reserveCapacity(count)
    for at in 0..<count {
      let ended = outcomes[at]
      let outcome =
        ended == .unspecified ? nil : try Outcome(proto: ended, "history.outcome")
      var line = AttemptHistory(
        attempt: attempts[at], outcome: outcome, reason: nil, workerName: try workers.name(at),
        result: results[at])
      line.run = runs[at]
      line.count = lengths[at]
      readyAt &+= readies[at]
      line.readyAt = WallTime(milliseconds: readyAt)
      lines.append(line)
    }
    // Reasons last: their positions are those of lines, which all exist now.
    for (at, proto) in zip(reasonsAt, protos) { lines[at].reason = try CancelReason(proto: proto) }
    return lines
  }
}
