// What comes into the core. The body has already decoded it and knows who says it.

public import OpClusterModel

public enum Input: Sendable {
  case worker(PeerID, WorkerMessage)
  /// `onlyOf`: the submitter whose graphs alone it may change; nil: those of everybody.
  case client(PeerID, RequestID, ClientRequest, onlyOf: String? = nil)
  /// A peer is gone for good: its socket answered so, or it was put out.
  case gone(PeerID)
  /// Time has passed; see `Scheduler.nextDeadline`. Everything through `durable` is on disk, so
  /// that whatever waited for it has left; where nothing is kept on one, that is everything.
  case tick(durable: CommitIndex = CommitIndex(.max))
}
