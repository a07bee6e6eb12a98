// A question that the scheduler and the history answer together.

import OpClusterModel
import OpClusterScheduling

/// A question of a client, answered at the end of the turn, or of a later one if it looks at much.
struct ClientQuestion {
  var peer: PeerID
  var request: RequestID
  var what: ClientRequest
  /// The size of its message.
  var size: FairRequestQueue.Size
  /// How far it has come; nil if it costs no more than its answer.
  var search: LivingSearch?

  init(
    peer: PeerID, request: RequestID, what: ClientRequest, size: FairRequestQueue.Size
  ) {
    self.peer = peer
    self.request = request
    self.what = what
    self.size = size
    search = LivingSearch(what)
  }
}
