// Requests to the backend in the three forms of the API: with a handler, awaited, and blocking a
// thread. The last form is for programs without tasks; replies come from a thread that never waits
// for others, so a waiting thread never waits for itself.

import OpClusterModel

extension OperationCluster {
  func request(_ request: ClientRequest) async throws(ClusterError) -> ClientReply {
    try await awaited { done in backend.send(request) { done($0.refused) } }
  }

  /// The same; `note` is called with the reply before anything that arrives after it. What an event
  /// tells needs no note: it was delivered before the reply, and a later one of the same turn, too.
  func request(
    _ request: ClientRequest, noting note: @escaping @Sendable (ClientReply) -> Void
  ) async throws(ClusterError) -> ClientReply {
    try await awaited { done in send(request, noting: note, done) }
  }

  /// Sends a request and blocks the calling thread until the reply; `note` as in `request`.
  func ask(
    _ request: ClientRequest, noting note: @escaping @Sendable (ClientReply) -> Void = { _ in }
  ) throws(ClusterError) -> ClientReply {
    try blocked { done in send(request, noting: note, done) }
  }

  private func send(
    _ request: ClientRequest, noting note: @escaping @Sendable (ClientReply) -> Void,
    _ done: @escaping ReplyHandler
  ) {
    backend.send(request) { result in
      let result = result.refused
      if case .success(let reply) = result { note(reply) }
      done(result)
    }
  }

  /// Begins an action and blocks the calling thread until its end.
  func block(_ begin: (@escaping DoneHandler) -> Void) throws(ClusterError) {
    try blocked(begin)
  }
}
