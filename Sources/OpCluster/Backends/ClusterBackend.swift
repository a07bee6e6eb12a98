// The interface of this library's objects to a cluster: requests out, events in. Three backends
// share it, so that the code above is written once.

import OpClusterClient
import OpClusterLocal
import OpClusterModel
import OpClusterOperations

typealias ReplyHandler = @Sendable (Result<ClientReply, ClusterError>) -> Void

/// A cluster behind the objects. Any thread may call it.
protocol ClusterBackend: Sendable {
  /// Sends a request; requests of one thread take effect in order. The handler is called once, on
  /// any thread, possibly within the call; the events that the request caused were delivered before
  /// (S3).
  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler)
  /// The cluster inside this process; nil if operations run elsewhere.
  var local: LocalCluster? { get }
  /// Follows a graph that others submitted: its events are delivered to the common handler from the
  /// call of `opened` on.
  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void)
  func close() async
}

/// In this process: no daemon, no socket, no disk.
struct LocalBackend: ClusterBackend {
  let cluster: LocalCluster
  var local: LocalCluster? { cluster }

  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler) {
    cluster.send(request) { handler($0.mapError(ClusterError.init)) }
  }

  /// Nothing to do: all events of the process are delivered in any case.
  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void) { opened() }

  func close() async { await cluster.close() }
}

/// A coordinator at the other end of a connection, external or embedded.
final class RemoteBackend: ClusterBackend {
  let connection: ClusterConnection
  /// The embedded daemons, if there are any.
  private let embedded: EmbeddedCluster?
  private let observations: ObservationList
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
      connection.observe(own, events: { book.take($0.events) }, ended: { book.lose(nil, $0) }))
  }

  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler) {
    connection.send(request) { handler($0.mapError(ClusterError.init)) }
  }

  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void) {
    let book = book
    let observation = connection.observe(
      EventSubscription(number: 0, selection: .graph(graph)),
      events: { book.take($0.events) }, ended: { book.lose(graph, $0) })
    observations.add(observation)
    // Requests of one thread keep their order, and so do the answers: changes after this answer are
    // delivered.
    connection.send(.ping) { _ in opened() }
  }

  func close() async {
    if let embedded { await embedded.end() } else { await connection.close() }
  }
}
