// The six workloads: their graphs, and their measurement through real daemons. Workloads.md of
// OpCluster.docc says what each is for. Each measurement has a fresh cluster, since a used one has
// a longer journal and warm memory.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterWire

enum Workload: String, CaseIterable {
  case independent = "W1"
  case chain = "W2"
  case layers = "W3"
  case processes = "W4"
  case fan = "W5"
  case memory = "W6"

  var title: String {
    switch self {
    case .independent: "100,000 independent no-ops, per second"
    case .chain: "chain of 1,000, microseconds per hop"
    case .layers: "layers of 100, 100 deep, 3 edges each, per second"
    case .processes: "2,000 x /bin/true, per second"
    case .fan: "1 -> 10,000 -> 1, seconds"
    case .memory: "coordinator memory, bytes per waiting operation"
    }
  }

  /// The results of one fresh cluster, by series. In the unit of `title`. An error of any operation
  /// ends the run without a figure.
  func measureCluster() async throws -> [(String, Double)] {
    switch self {
    case .independent:
      let seconds = try await timed(Graphs.independent(100_000))
      return [("", 100_000 / seconds)]
    case .chain:
      let local = try await timed(Graphs.chain(1_000))
      let remote = try await timed(Graphs.zigzag(1_000), labelled: true)
      return [
        ("locally unblocked", local * 1e6 / 1_000), ("across two workers", remote * 1e6 / 1_000),
      ]
    case .layers:
      return [("", 10_000 / (try await timed(Graphs.layers(width: 100, depth: 100))))]
    case .processes:
      return [("", 2_000 / (try await timed(Graphs.commands(2_000))))]
    case .fan:
      return [("", try await timed(Graphs.fan(10_000)))]
    case .memory:
      return [
        ("3 edges each", try await bytesPerOperation(Graphs.waitingWithEdges(1_000_000))),
        ("array element", try await bytesPerOperation(Graphs.waitingArray(1_000_000))),
      ]
    }
  }

  /// Seconds from the submission until the client knows that all have finished. Two workers of one
  /// cpu each, as the floor has two loops. The first graph warms up: it starts processes, opens
  /// connections, and loads what is loaded once.
  private func timed(_ graph: GraphSubmission, labelled: Bool = false) async throws -> Double {
    let cluster = try await EmbeddedCluster.start(.init(workers: 2, cpusPerWorker: 1))
    do {
      let connection = cluster.connection
      try await Follower(connection).run(Graphs.independent(200))
      var timed = graph
      if labelled { try await Graphs.pin(&timed, to: connection) }
      let start = ContinuousClock().now
      try await Follower(connection).run(timed)
      let seconds = (ContinuousClock().now - start) / .seconds(1)
      await cluster.end()
      return seconds
    } catch {
      await cluster.end()
      throw error
    }
  }

  /// The growth of the coordinator's resident memory per operation, with a million waiting ones.
  /// One graph, not many: what a graph costs by itself is divided away. Memory is read after a
  /// ping, so that the submission has been decided and answered.
  private func bytesPerOperation(_ graph: GraphSubmission) async throws -> Double {
    let cluster = try await EmbeddedCluster.start(.init(workers: 1, cpusPerWorker: 1))
    do {
      let connection = cluster.connection
      try await Follower(connection).run(Graphs.independent(200))
      _ = try await connection.request(
        .createQueue(QueueSettings(name: "closed", isSuspended: true)))
      let process = cluster.processes[0].number
      let before = residentBytes(of: process)
      _ = try await connection.request(.submit(graph), timeout: .seconds(120))
      _ = try await connection.request(.ping)
      let after = residentBytes(of: process)
      await cluster.end()
      return Double(after - before) / Double(graph.operationCount)
    } catch {
      await cluster.end()
      throw error
    }
  }
}

/// The resident bytes of a process from /proc; 0 if it does not exist. Assumes pages of 4 KiB.
func residentBytes(of process: Int32) -> Int {
  guard let file = contents(ofFile: "/proc/\(process)/statm") else { return 0 }
  let fields = file.split(separator: " ")
  return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4096
}
