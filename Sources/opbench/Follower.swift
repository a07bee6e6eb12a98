// Submits a graph and returns when the client has received its end. The end of the time that a
// benchmark takes is here: not when the coordinator knows, but when the program that asked does.

import Glibc
import OpClusterClient
import OpClusterModel

struct Follower {
  /// A figure of a graph that failed would be too good.
  struct NotSucceeded: Error, CustomStringConvertible {
    var description: String
  }

  private let connection: ClusterConnection

  init(_ connection: ClusterConnection) { self.connection = connection }

  /// Subscribes before it submits, so that the end cannot be missed. Events of graphs only: one for
  /// each operation would be measured along.
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
