// The inputs of the scheduler. The body has already decoded each one and identified its sender.

public import OpClusterModel

public enum Input: Sendable {
  case worker(PeerID, WorkerMessage)
  case client(PeerID, RequestID, ClientRequest, mayChange: SteeringBound = .allGraphs)
  /// A peer has left for good: its socket reported so, or the coordinator expelled it.
  case gone(PeerID)
  /// Time has passed; see `Scheduler.nextDeadline`. Every commit through `durable` is on disk, so
  /// effects that waited for it have left; without a journal, `durable` covers all commits.
  case tick(durable: CommitIndex = CommitIndex(.max))
}

/// The graphs that a client may change.
public enum SteeringBound: Hashable, Sendable {
  case allGraphs
  /// Those of one submitter.
  case graphs(of: String)
}
