// A coordinator that is killed under load and started again (F1, G1, G12, G19, G24).

import Citations
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization
import Testing

@Suite struct CoordinatorCrashTests {
  /// Whatever was acknowledged is there after each restart, once; what ran goes on as the same
  /// processes; the same key gives the same graph.
  @Test(.checks("G1", "G19", "G24")) func acknowledgedWorkSurvives() async throws {
    try await Cluster.with { cluster in
      let scene = try await Scene("crash", on: cluster)
      let running = try await scene.submit { plan in
        for name in ["a", "b"] { try plan.add(name, .gate) }
        try plan.add("c", .mark, after: ["a", "b"])
      }
      try await scene.traced("a+", "b+")
      let processes = scene.lines.map(\.process)
      let load = SubmissionLoad(cluster)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<4 { group.addTask { try await load.run(client) } }
        for round in 1...3 {
          try await eventually("round \(round) is under way", within: .seconds(120)) {
            load.accepted.count >= round * 60
          }
          try await cluster.kill("opcoord")
          try await cluster.startCoordinator()
          #expect(processes.allSatisfy(isAlive))
        }
        load.stop()
        try await group.waitForAll()
      }
      try await check(load, scene)
      for name in ["a", "b"] { try scene.open(name) }
      try await scene.ended(running)
      #expect(scene.lines.map(\.attempt) == [1, 1, 1, 1, 1])
      let rows = try await scene.connection.operations(.graph(running.graph))
      #expect(rows.map(\.attempt) == [1, 1, 1])
    }
  }

  /// Who follows `last` goes on with the graph that it was, also over a new connection.
  @Test func followersKeepTheirGraph() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1)) { cluster in
      let scene = try await Scene("last", on: cluster)
      for gate in ["one", "other"] { try scene.makeGate(gate) }
      let followed = try await scene.submit { try $0.add("a", .shell("echo here; gate one")) }
      let logs = try cluster.startOpbatch(["logs", "last", "-f"])
      let events = try cluster.startOpbatch(["events", "last", "-f", "-o", "jsonl"])
      try await eventually("both follow", details: { logs.error + events.error }) {
        logs.output.contains("here") && events.output.contains("caught_up")
      }
      let later = try await scene.submit { try $0.add("b", .shell("gate other")) }
      try await cluster.kill("opcoord")
      try await cluster.startCoordinator()
      try scene.open("one")
      #expect(try await logs.ended() == 0, "\(logs.error)")
      try await eventually("its end is told", details: { events.output + events.error }) {
        events.output.contains("\"kind\":\"graph\",\"value\":\"succeeded\"")
      }
      events.signal(SIGKILL)
      try scene.open("other")
      try await scene.ended(followed)
      try await scene.ended(later)
    }
  }

  private func check(_ load: SubmissionLoad, _ scene: Scene) async throws {
    let accepted = load.accepted
    let rows = try await scene.connection.graphs(Selection(graphs: .all))
    var byName: [String: GraphID] = [:]
    for row in rows where row.name.hasPrefix("load-") {
      #expect(byName.updateValue(row.graph, forKey: row.name) == nil, "\(row.name) is there twice")
    }
    for (name, graph) in accepted { #expect(byName[name] == graph, "\(name) was acknowledged") }
    for (name, graph) in accepted.prefix(20) {
      let reply = try await scene.connection.request(.submit(SubmissionLoad.graph(name)))
      #expect(reply == .accepted(graph, operations: 3, repeated: true))
    }
    try await eventually("all of the load has ended") {
      try await scene.connection.graphs(Selection(graphs: .active)).count == 1
    }
    let ended = try await scene.connection.graphs(Selection(graphs: .all))
      .filter { $0.name.hasPrefix("load-") }
    #expect(ended.allSatisfy { $0.state == .succeeded && $0.counts.total == 3 })
  }
}

/// Clients that submit all the time and write down what was acknowledged.
final class SubmissionLoad: Sendable {
  private let cluster: Cluster
  private let state = Mutex((accepted: [(String, GraphID)](), isOver: false))

  init(_ cluster: Cluster) { self.cluster = cluster }

  var accepted: [(String, GraphID)] { state.withLock { $0.accepted } }
  func stop() { state.withLock { $0.isOver = true } }

  /// Each submission is repeated, with its key, until it is acknowledged.
  func run(_ client: Int) async throws {
    let connection = try await cluster.connect()
    var number = 0
    while !state.withLock({ $0.isOver }) {
      number += 1
      let name = "load-\(client)-\(number)"
      let reply = try await connection.request(.submit(Self.graph(name)))
      guard case .accepted(let graph, 3, _) = reply else { throw Trouble("\(reply)") }
      state.withLock { $0.accepted.append((name, graph)) }
    }
    await connection.close()
  }

  /// Three operations in a row.
  static func graph(_ name: String) -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey(name), name: name)
    submission.templates = (1...3).map {
      OperationTemplate(name: "n\($0)", work: .call(OperationType(name: "noop")))
    }
    submission.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded), GroupEdge(from: 1, to: 2, policy: .succeeded),
    ]
    return submission
  }
}
