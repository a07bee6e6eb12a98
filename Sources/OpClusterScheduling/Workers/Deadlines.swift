// When the coordinator must be woken next: by its heaps, and by the earliest deadline of a worker.

import HeapModule
public import OpClusterModel

extension Scheduler {
  /// The moment when the next `tick` is due; nil if nothing is awaited. While a turn is open it may
  /// be too early, but never too late.
  public func nextDeadline() -> Instant? {
    var steps = 0
    return nextDeadline(&steps)
  }

  /// The same. Costs a look at each worker that has changed and is not in the index yet, which has
  /// its earlier deadlines as well.
  func nextDeadline(_ steps: inout Int) -> Instant? {
    var whole = workerIndex.whole
    for number in conversations.changed + workers.changed {
      steps += 1
      guard workers.contains(number), conversations.contains(number) else { continue }
      let before = whole
      var own = WorkerSummary()
      noteDeadlines(of: number, in: &own)
      whole.merge(before, own)
    }
    return nextDeadline(of: whole)
  }

  private func nextDeadline(of whole: WorkerSummary) -> Instant? {
    var next = backoffs.min?.until
    func consider(_ moment: Instant) { next = next.map { min($0, moment) } ?? moment }
    // The last turn was full: what it left is handed over at once.
    if assignmentPass.room == 0 { consider(lastTick) }
    let areDoubtfulDue = assignmentPass.hasPlacedDoubtful || doubtfulUntried > 0
    if areDoubtfulDue, !doubtful.isEmpty { consider(lastTick) }
    if !forecasts.isEmpty || mayContinueParts || hasPendingEnds || !policies.isEmpty {
      consider(lastTick)
    }
    if let alarm = alarms.min { consider(alarm.until) }
    if let nextRestEnd { consider(nextRestEnd) }
    if let missed = contentWaits.nextDeadline { consider(missed) }
    if let end = placedContents.nextEnd { consider(end) }
    if let look = contentCopies.nextLook { consider(look) }
    if contentCopies.hasReopened || drainingStores.hasUnexamined { consider(lastTick) }
    if let look = surplusLooks.deadline { consider(look) }
    if let exclusivesFrom { consider(exclusivesFrom) }
    // A silent worker is checked regularly: a later tick would look like a pause of the
    // coordinator, and would extend the silence again and again (F6).
    if whole.isSilent { consider(lastTick + timing.heartbeat) }
    if whole.due < .distantFuture { consider(whole.due) }
    if whole.surplusDue < .distantFuture { consider(whole.surplusDue) }
    return next
  }

  /// The same by a look at each worker.
  func nextDeadlineOfAll() -> Instant? {
    var whole = WorkerSummary()
    for number in workers.numbers {
      let before = whole
      if let own = summary(of: number, at: workerIndex.asOf) { whole.merge(before, own) }
    }
    return nextDeadline(of: whole)
  }
}
