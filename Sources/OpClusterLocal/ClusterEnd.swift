// Closes a local cluster: cancels everything, and waits for running operations. Stepper only.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension Brains {
  /// Returns at once; `tell` is called when nothing runs any more. A closure that does not heed its
  /// cancellation keeps the cluster open (S10).
  mutating func close(_ tell: @escaping @Sendable () -> Void) {
    closers.append(tell)
    let everything = OperationTarget.selection(Selection(graphs: .active))
    steer(
      .client(Brains.client, RequestID(0), .cancel(everything, reason: "closed", grace: nil)))
  }

  /// Once nothing runs any more, tells the waiting closers and answers all open requests.
  mutating func tellClosers() {
    guard !closers.isEmpty, core.counts.running == 0, byHand.running.isEmpty else { return }
    output.calls += closers
    closers = []
    for completion in takeAllCompletions() {
      output.answers.append((completion, .failure(LocalCluster.closedRefusal)))
    }
  }
}
