// What an allocation's follower writes down after each look, for itself and for `opbatch alloc ls`.

package struct AllocationStatus: Codable, Sendable {
  package var policy = AllocationPolicy()
  /// Operations that wait for room, of the whole cluster.
  package var waiting: UInt32 = 0
  /// Why the coordinator could not be asked; empty: it could.
  package var clusterProblem = ""
  /// Why the batch system could not be asked; empty: it could.
  package var batchProblem = ""

  package init() {}

  /// One word for a list. A follower that is not there does nothing, whatever it last wrote.
  package func word(isFollowed: Bool) -> String {
    if !isFollowed { return "stopped" }
    if policy.isHalted { return "halted" }
    if !clusterProblem.isEmpty || !batchProblem.isEmpty { return "blind" }
    return policy.failures > 0 ? "failing" : "following"
  }

  /// What is wrong, for people; empty: nothing.
  package var problem: String {
    [batchProblem, clusterProblem, policy.problem].first { !$0.isEmpty } ?? ""
  }
}
