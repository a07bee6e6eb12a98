// Adds the results of attempts to the row of an operation.

package import OpClusterModel

extension OperationRow {
  /// Adds the end of one of its attempts, or an end without an attempt; call it oldest first.
  ///
  /// - Parameter isSingle: Whether the row is requested alone, and lists all attempts.
  package mutating func add(_ line: AttemptHistory, isSingle: Bool) {
    guard line.isAttempt else { return addEnd(line) }
    if isSingle { attempts.append(line) }
    guard isFinished || line.run == attempt else { return }
    attempt = line.run
    result = line.result
    workerName = line.workerName
    if line.readyAt != .unknown { readyAt = line.readyAt }
    if let reason = line.reason, isCancelled { self.reason = reason }
    if line.result.startedAt != .unknown { startedAt = line.result.startedAt }
    if isFinished, line.result.endedAt != .unknown { finishedAt = line.result.endedAt }
  }

  /// Adds an end that was not an attempt's.
  private mutating func addEnd(_ line: AttemptHistory) {
    guard isFinished else { return }
    if let reason = line.reason { self.reason = reason }
    // Of a success: what it was reused from, and what was left then.
    if line.result.cause != .none || line.outcome == .succeeded { result = line.result }
    finishedAt = line.result.endedAt
  }
}
