// Processes that KILL does not end: they hang in the kernel (state D), in a file system or a device
// that does not answer. What they take is given to nobody, and the coordinator is told with every
// report as long as it is so.

import OpClusterModel

extension ExecutionCore {
  /// What runs and can be expected to end.
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
    // Told at once.
    link.nextHeartbeat = now
  }

  /// It is over, and its room is not free.
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

  /// What the leftovers among them take; the rest counts as running, at the coordinator as well.
  mutating func addUpUnkillable() {
    var sum = Resources.none
    for attempt in unkillable {
      guard let number = leftovers[attempt] else { continue }
      sum.giveBack(queue.classes[Int(templates[Int(number.position)].demandClass)].demand)
    }
    unkillableDemand = sum
  }

  /// An orderly stop waits so long for acknowledgements, once nothing runs any more.
  mutating func beginFarewell(at now: Instant) {
    if awaited == 0, isStopping { stopDeadline = now + settings.farewell }
  }
}
