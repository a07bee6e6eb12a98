// The coordinator's journal went back behind what this worker was told: a backup was restored, or
// damage was cut off. What it holds, runs and remembers belongs to a history that nobody knows any
// more; there, attempts have been started that the restored journal will number once more with
// another meaning. So it becomes another worker in the same process (G13, G14).

import OpClusterModel

extension ExecutionCore {
  /// Kills what runs, forgets everything, and says hello in a new session once all of it is gone:
  /// by then no process of the lost history is left for an exclusive operation to meet (G16).
  mutating func beginAnew(at now: Instant, into effects: inout [ExecutionEffect]) {
    guard case .greeting(_, isHelloTaken: true) = link.state else { return }
    isBeginningAnew = true
    for slot in attempts.used { change(slot, .abandon, at: now, into: &effects) }
    outbox = Outbox()
    newlyStarted = []
    progress = [:]
    progressOrder = []
    for number in operations.graphs.indices where operations.isUsed(Int32(number)) {
      forget(operations.graphs[number].graph, into: &effects)
    }
    known = nil
    isOrphaned = false
    // Who was drained was another.
    isDraining = isLeaving
    identity.session = link.drawSession()
    link.forgetContact()
    link.wait(for: settings.shortestBackoff, at: now)
  }
}
