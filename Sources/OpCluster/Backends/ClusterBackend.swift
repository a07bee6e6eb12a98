// What the objects of this library need of a cluster, wherever it is: requests out, events in.
// Three backends share it, so that everything above is written once.

import OpClusterClient
import OpClusterLocal
import OpClusterModel
import OpClusterOperations

typealias ReplyHandler = @Sendable (Result<ClientReply, ClusterError>) -> Void

/// A cluster behind the objects. Any thread may call.
protocol ClusterBackend: Sendable {
  /// Sends a request; requests of one thread take effect in their order. The handler is called
  /// once, on any thread, possibly within the call; events of what the request did have been
  /// told before (S3).
  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler)
  /// The operations that run in this process; nil: they run elsewhere.
  var local: LocalCluster? { get }
  /// Follows a graph that others submitted: its events come to the common handler from the call
  /// of `opened` on.
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

  /// All events of the process are told anyway.
  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void) { opened() }

  func close() async { await cluster.close() }
}

/// A coordinator at the other end of a connection: somebody's, or our own.
final class RemoteBackend: ClusterBackend {
  let connection: ClusterConnection
  /// The daemons, where they are ours.
  private let embedded: EmbeddedCluster?
  private let observations: ObservationList
  private let book: OperationBook
  var local: LocalCluster? { nil }

  /// Tells `book` what becomes of all that is submitted over this connection, and of queues.
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
    // Requests of one thread keep their order, and so do the answers: what changes after this
    // answer is told.
    connection.send(.ping) { _ in opened() }
  }

  func close() async {
    if let embedded { await embedded.end() } else { await connection.close() }
  }
}
