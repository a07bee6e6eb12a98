// A question that the scheduler and the history answer together.

import OpClusterModel

/// A question of a client, answered at the end of the turn.
struct ClientQuestion {
  var peer: PeerID
  var request: RequestID
  var what: ClientRequest
  /// The size of its message.
  var size: FairRequestQueue.Size
}
