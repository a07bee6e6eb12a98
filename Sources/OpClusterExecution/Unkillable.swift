// Processes that KILL does not end: they hang in the kernel (state D), in a file system or a device
// that does not answer. Their resources stay taken, and every report tells the coordinator of them.

import OpClusterModel

extension ExecutionCore {
  /// The number of running attempts that can be expected to end.
  var awaited: Int { running - outlived.count }

  mutating func noteUnkillable(_ attempt: AttemptID, at now: Instant) {
    let slot = operations.slot(of: attempt.operation)
    let isLive = slot.exists && attempts[slot].id == attempt && attempts[slot].state.isLive
    guard isLive || leftovers[attempt] != nil else {
      late += 1
      return
    }
    guard !unkillable.contains(attempt) else { return }
    unkillable.insert(attempt, at: unkillable.firstIndex { $0 > attempt } ?? unkillable.endIndex)
    addUpUnkillable()
    // Report at once.
    link.nextHeartbeat = now
  }

  /// Notes that the attempt has ended but its resources are not free.
  mutating func outlive(_ attempt: AttemptID, at now: Instant) {
    guard leftovers[attempt] != nil else {
      late += 1
      return
    }
    outlived.insert(attempt)
    noteUnkillable(attempt, at: now)
    addUpUnkillable()
    beginFarewell(at: now)
  }

  mutating func survivorsGone(
    _ attempt: AttemptID, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    if outlived.contains(attempt) {
      endLeftover(attempt, at: now, into: &effects)
    } else {
      forgetUnkillable(attempt)
    }
    link.nextHeartbeat = now
  }

  mutating func forgetUnkillable(_ attempt: AttemptID) {
    guard let at = unkillable.firstIndex(of: attempt) else { return }
    unkillable.remove(at: at)
    addUpUnkillable()
  }

  /// Sums up the resources of the unkillable leftovers. The other unkillable attempts count as
  /// running, at the coordinator as well.
  mutating func addUpUnkillable() {
    var sum = Resources.none
    for attempt in unkillable {
      guard let number = leftovers[attempt] else { continue }
      sum.giveBack(queue.classes[Int(templates[Int(number.position)].demandClass)].demand)
    }
    unkillableDemand = sum
  }

  /// Starts the wait of an orderly stop for acknowledgements when nothing runs any more.
  mutating func beginFarewell(at now: Instant) {
    if awaited == 0, isStopping { stopDeadline = now + settings.farewell }
  }
}
