// The inputs of the scheduler. The body has already decoded each one and identified its sender.

public import OpClusterModel

public enum Input: Sendable {
  case worker(PeerID, WorkerMessage)
  /// `onlyOf`: the only submitter whose graphs the client may change; nil: the graphs of all
  /// submitters.
  case client(PeerID, RequestID, ClientRequest, onlyOf: String? = nil)
  /// A peer has left for good: its socket reported so, or the coordinator expelled it.
  case gone(PeerID)
  /// Time has passed; see `Scheduler.nextDeadline`. Every commit through `durable` is on disk, so
  /// effects that waited for it have left; without a journal, `durable` covers all commits.
  case tick(durable: CommitIndex = CommitIndex(.max))
}
