// The scenario that every setting has (house habit 18), here in one process: a real coordinator,
// real workers and a client, all threads that talk over inproc. Its body is in Tests/ScenarioBody.

import OpClusterClient
import OpClusterModel
import OpClusterOperations
import ScenarioBody
import Testing

// One cluster at a time: workers wait for children, and their guards are children of this process.
@Suite(.serialized) struct DiamondTests {
  @Test(arguments: 1...2) func diamond(workers: Int) async throws {
    try await expectDiamond(in: InProcessSetting(workers: workers))
  }
}

/// Threads of this process.
private struct InProcessSetting: ScenarioSetting {
  var workers: Int

  func run(_ scenario: Scenario) async throws -> ScenarioReport {
    var types = OperationRegistry()
    types.add(WitnessedOperation.self)
    let witness = try Witness(of: scenario)
    var submission = scenario.submission(calling: WitnessedOperation.operationType)
    for at in submission.templates.indices { submission.templates[at].payload = witness.argument }
    return try await InProcessCluster.with(workers: workers, types: types) { [submission] link, _ in
      let graph = try await link.submit(submission)
      try await link.awaitEnd(of: graph)
      let row = try await link.row(of: graph)
      return ScenarioReport(
        state: row.state, allowedFailures: row.allowedFailures,
        outcomes: try await link.operations(of: graph).map(\.outcome), moments: witness.moments)
    }
  }
}

extension ClusterConnection {
  /// The answer was of another kind than the question asks for.
  struct UnexpectedReply: Error {
    let reply: ClientReply
  }

  func submit(_ submission: GraphSubmission) async throws -> GraphID {
    let reply = try await request(.submit(submission))
    guard case .accepted(let graph, _, _) = reply else { throw UnexpectedReply(reply: reply) }
    return graph
  }

  /// Follows the graph's events until they tell its end.
  func awaitEnd(of graph: GraphID) async throws {
    let wish = EventSubscription(number: 1, selection: .graph(graph), since: 0, graphsOnly: true)
    for try await batch in events(wish) {
      for case .graphFinished in batch.events.map(\.kind) { return }
    }
    Issue.record("the events of graph \(graph.number) ended before it did")
  }

  fileprivate func row(of graph: GraphID) async throws -> GraphRow {
    let reply = try await request(.graphs(.graph(graph), after: nil, limit: 1))
    guard case .graphs(let rows, _) = reply else { throw UnexpectedReply(reply: reply) }
    return try #require(rows.first)
  }

  func operations(of graph: GraphID) async throws -> [OperationRow] {
    let limit = UInt32(Limits.rowsPerReply)
    let reply = try await request(.operations(.graph(graph), after: nil, limit: limit))
    guard case .operations(let rows, false) = reply else { throw UnexpectedReply(reply: reply) }
    return rows
  }
}
