// The coordinator's journal went back behind this worker's knowledge: a backup was restored, or
// damage was cut off. The worker's attempts and reports belong to a lost history, and the restored
// journal will use their numbers again with another meaning. So the worker becomes another worker
// in the same process (G13, G14).

import OpClusterModel

extension ExecutionCore {
  /// Kills everything, drops all state, and says hello in a new session when every process has
  /// ended. No process of the lost history can then meet an exclusive operation (G16).
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
    // The drain was an order to the former worker.
    isDraining = isLeaving
    identity.session = link.drawSession()
    link.forgetContact()
    link.wait(for: settings.shortestBackoff, at: now)
  }
}
