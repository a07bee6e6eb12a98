// The end of a local cluster: everything is cancelled, and what runs is waited for. Stepper only.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension Brains {
  mutating func close(_ tell: @escaping @Sendable () -> Void) {
    closers.append(tell)
    let everything = OperationTarget.selection(Selection(graphs: .active))
    steer(
      .client(Brains.client, RequestID(0), .cancel(everything, reason: "closed", grace: nil)))
  }

  /// Nothing runs any more: those that close are told so, and what still waits for an answer is
  /// answered.
  mutating func tellClosers() {
    guard !closers.isEmpty, core.counts.running == 0, byHand.running.isEmpty else { return }
    output.calls += closers
    closers = []
    for completion in takeAllCompletions() {
      output.answers.append((completion, .failure(LocalCluster.closedRefusal)))
    }
  }
}
