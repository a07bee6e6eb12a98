// A cluster behind a connection, as the objects see it: it delivers the events of what this program
// has submitted, and of what it follows. Any thread.

import FoundationEssentials
import OpClusterClient
import OpClusterLocal
import OpClusterModel
import Synchronization

/// A coordinator at the other end of a connection, external or embedded.
final class RemoteBackend: ClusterBackend {
  let connection: ClusterConnection
  /// The embedded daemons, if there are any.
  private let embedded: EmbeddedCluster?
  private let observations: ObservationList
  private let followed = Mutex<[GraphID: FollowedGraph]>([:])

  /// A graph that is followed once, for all who asked for operations of it.
  private struct FollowedGraph {
    var calls = 1
    /// nil while it is being opened, or after its end.
    var observation: Observation?
    /// Handlers that wait until its events are delivered; nil: they are.
    var opening: [@Sendable () -> Void]?
  }
  private let book: OperationBook
  var local: LocalCluster? { nil }

  /// Delivers to `book` the events of all graphs submitted over this connection, and of queues.
  init(_ connection: ClusterConnection, embedded: EmbeddedCluster?, book: OperationBook) {
    self.connection = connection
    self.embedded = embedded
    self.book = book
    observations = ObservationList()
    let own = EventSubscription(
      number: 0, selection: Selection(graphs: .numbers([])), includesOwn: true)
    observations.add(
      connection.observe(own, events: { book.take($0.runs) }, ended: { book.lose(nil, $0) }))
  }

  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler) {
    connection.send(request) { handler($0.mapError(ClusterError.init)) }
  }

  func data(of content: StoredContent) async throws(ClusterError) -> Data {
    do throws(ClientError) {
      return try await connection.data(of: content)
    } catch {
      throw ClusterError(error)
    }
  }

  func path(of content: StoredContent) -> String? { connection.path(of: content) }

  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void) {
    enum Step { case open, wait, opened }
    let step = followed.withLock { followed -> Step in
      guard followed[graph] != nil else {
        followed[graph] = FollowedGraph(opening: [opened])
        return .open
      }
      followed[graph]?.calls += 1
      followed[graph]?.opening?.append(opened)
      return followed[graph]?.opening == nil ? .opened : .wait
    }
    switch step {
    case .opened: opened()
    case .wait: break
    case .open: open(graph)
    }
  }

  private func open(_ graph: GraphID) {
    let observation = connection.observe(
      EventSubscription(number: 0, selection: .graph(graph)),
      events: { [weak self] batch in
        self?.book.take(batch.runs)
        let hasEnded = batch.runs.contains { run in
          if case .graphFinished = run.first.kind {
            run.first.subject == .graph(graph)
          } else {
            false
          }
        }
        if hasEnded { self?.forget(graph) }
      },
      ended: { [weak self] cause in
        self?.book.lose(graph, cause)
        self?.forget(graph)
      })
    followed.withLock { $0[graph]?.observation = observation }
    // Requests of one thread keep their order, and so do the answers: changes after this answer are
    // delivered.
    connection.send(.ping) { _ in
      let waiting = self.followed.withLock { followed in
        defer { followed[graph]?.opening = nil }
        return followed[graph]?.opening ?? []
      }
      for handler in waiting { handler() }
    }
  }

  func unfollow(_ graph: GraphID) {
    let isLast = followed.withLock { followed in
      followed[graph]?.calls -= 1
      return followed[graph]?.calls == 0
    }
    if isLast { forget(graph) }
  }

  /// Ends the observation. Handlers that still wait are called: their questions will tell.
  private func forget(_ graph: GraphID) {
    let gone = followed.withLock { $0.removeValue(forKey: graph) }
    for handler in gone?.opening ?? [] { handler() }
  }

  func close() async {
    if let embedded { await embedded.end() } else { await connection.close() }
  }
}
