// Submits a graph and returns when the client has received its end.

import Glibc
import OpClusterClient
import OpClusterModel

struct Follower {
  struct NotSucceeded: Error, CustomStringConvertible {
    var description: String
  }

  private let connection: ClusterConnection

  init(_ connection: ClusterConnection) { self.connection = connection }

  func run(_ graph: GraphSubmission) async throws {
    let events = connection.events(
      EventSubscription(number: 0, selection: Selection(graphs: .all), graphsOnly: true))
    var reader = events.makeAsyncIterator()
    guard case .accepted(let id, _, _) = try await connection.request(.submit(graph)) else {
      throw NotSucceeded(description: "the submission was not accepted")
    }
    while let batch = try await reader.next() {
      for event in batch.events where event.subject == .graph(id) {
        guard case .graphFinished(let outcome) = event.kind else { continue }
        if outcome == .succeeded { return }
        throw NotSucceeded(description: "graph \(id.number) ended as \(outcome)")
      }
    }
    throw NotSucceeded(description: "the events ended before the graph did")
  }
}
