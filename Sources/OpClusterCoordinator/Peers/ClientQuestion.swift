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

  /// From now on it asks about this graph, and not about one that is newer by the time of the
  /// answer.
  mutating func settle(on graph: GraphID) {
    let graphs = Selection.Graphs.numbers([.init(graph, graph)])
    search?.settle(on: graphs)
    switch what {
    case .graphs(var selection, let after, let limit):
      selection.graphs = graphs
      what = .graphs(selection, after: after, limit: limit)
    case .operations(var selection, let after, let limit):
      selection.graphs = graphs
      what = .operations(selection, after: after, limit: limit)
    case .explain(var selection):
      selection.graphs = graphs
      what = .explain(selection)
    default: break
    }
  }
}
