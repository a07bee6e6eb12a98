// How much memory the coordinator takes, at full size (G29): below 200 MiB and 2 KiB for each
// operation, whatever authorised clients that obey the protocol ask for. Any task.

import OpClusterClient
import OpClusterModel
import OpClusterWire
import RealCluster

/// A way to fill a coordinator.
private enum Fill: String, CaseIterable {
  case arrays = "a million operations in arrays"
  case templates = "300,000 single templates with two edges each"
  case names = "80,000 templates with names and labels as long as can be"
  case largest = "four clients that submit graphs of 13 MiB and cancel them, six each"
  case outputs = "2,000 commands with outputs of 60 kB"
  case keptOutputs = "2,000 commands with outputs of 60 kB in each of two graphs that go on"
  case subscribers = "200 subscribers to everything that 100,000 operations do"

  /// Operations that it has at once.
  var operations: Int {
    switch self {
    case .arrays: 1_000_000
    case .templates: 300_000
    case .names: 80_000
    case .subscribers: 100_000
    case .largest: 4 * 200
    case .outputs: 2_000
    case .keptOutputs: 4_000
    }
  }

  func run(_ cluster: Cluster, _ connection: ClusterConnection, part: Double) async throws {
    switch self {
    case .arrays:
      for _ in 0..<4 {
        try await submit(Self.array(UInt32(250_000 * part)), over: connection)
      }
    case .templates:
      for _ in 0..<3 {
        try await submit(Flood.large(templates: Int(100_000 * part)), over: connection)
      }
    case .names: try await submit(Self.named(Int(80_000 * part)), over: connection)
    case .largest: try await Self.submitLargest(cluster)
    case .outputs:
      try await Self.follow(Self.outputs(Int(2_000 * part)), over: connection)
    case .keptOutputs:
      for _ in 0..<2 { try await Self.goOn(Self.outputs(Int(2_000 * part)), over: connection) }
    case .subscribers:
      try await Self.subscribe(200, to: cluster, Int(100_000 * part), connection)
    }
  }

  private func submit(_ graph: GraphSubmission, over connection: ClusterConnection) async throws {
    _ = try await connection.request(.submit(graph), timeout: .seconds(120))
  }

  private static func fresh(_ name: String) -> GraphSubmission {
    let name = "\(name)-\(UInt64.random(in: 0 ... .max))"
    return GraphSubmission(key: SubmissionKey(name), name: name)
  }

  private static func array(_ count: UInt32) -> GraphSubmission {
    var graph = fresh("array")
    graph.templates = [
      OperationTemplate(name: "n", count: count, work: .call(OperationType(name: "noop")))
    ]
    graph.templates[0].requirements = Flood.nowhere
    return graph
  }

  private static func named(_ count: Int) -> GraphSubmission {
    var graph = fresh("names")
    for number in 0..<count {
      let digits = "\(number)"
      var template = OperationTemplate(
        name: digits + String(repeating: "n", count: Limits.nameBytes - digits.utf8.count),
        work: .call(OperationType(name: "noop")))
      template.requirements = Flood.nowhere
      template.labels = [Label(key: "k", value: digits)]
      graph.templates.append(template)
    }
    return graph
  }

  private static func submitLargest(_ cluster: Cluster) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let connection = try await cluster.reach()
          for _ in 0..<6 {
            var graph = array(200)
            let argument = [UInt8](repeating: 120, count: Limits.elementArgumentBytes)
            for _ in 0..<200 { graph.templates[0].elementArguments.append(argument) }
            let reply = try await connection.request(.submit(graph), timeout: .seconds(120))
            guard case .accepted(let id, _, _) = reply else { throw Trouble("\(reply)") }
            _ = try await connection.request(
              .cancel(.selection(.graph(id)), reason: "", grace: nil))
          }
          await connection.close()
        }
      }
      try await group.waitForAll()
    }
  }

  private static func outputs(_ count: Int) -> GraphSubmission {
    var graph = fresh("outputs")
    let line = String(repeating: "x", count: 3_990)
    let text = (1...15).map { "echo k\($0)=\(line) >> $OP_OUTPUT" }.joined(separator: "\n")
    var template = Load.command(
      "o", .shell(interpreter: ["/bin/sh", "-c"], text: CommandText(text)))
    template.count = UInt32(count)
    graph.templates = [template]
    return graph
  }

  /// Submits a graph and waits for its end.
  private static func follow(
    _ graph: GraphSubmission, over connection: ClusterConnection
  ) async throws {
    let reply = try await connection.request(.submit(graph), timeout: .seconds(60))
    guard case .accepted(let id, _, _) = reply else { throw Trouble("not accepted: \(reply)") }
    try await eventually("the graph has ended", within: .seconds(1_200)) {
      try await connection.graphs(.graph(id)).first?.state == .succeeded
    }
  }

  /// Submits a graph in which something is held, and waits until all else has ended.
  private static func goOn(
    _ graph: GraphSubmission, over connection: ClusterConnection
  ) async throws {
    var graph = graph
    graph.templates.append(
      OperationTemplate(name: "held", work: .call(OperationType(name: "noop"))))
    graph.templates[1].isHeld = true
    let reply = try await connection.request(.submit(graph), timeout: .seconds(60))
    guard case .accepted(let id, _, _) = reply else { throw Trouble("not accepted: \(reply)") }
    let count = graph.templates[0].count
    try await eventually("all but one have ended", within: .seconds(300)) {
      try await connection.graphs(.graph(id)).first?.counts[.succeeded] == count
    }
  }

  private static func subscribe(
    _ count: Int, to cluster: Cluster, _ operations: Int, _ connection: ClusterConnection
  ) async throws {
    var connections: [ClusterConnection] = []
    var observations: [Observation] = []
    for _ in 0..<count {
      let one = try await cluster.reach()
      observations.append(
        one.observe(EventSubscription(number: 1, selection: Selection(graphs: .all))) { _ in
        } ended: { _ in
        })
      connections.append(one)
    }
    var graph = array(UInt32(operations))
    graph.templates[0].requirements = []
    try await follow(graph, over: connection)
    withExtendedLifetime(observations) {}
    for one in connections { await one.close() }
  }
}

/// G29
func memoryAtFullSize(_ trial: Trial) async throws {
  let part = trial.scale.isShort ? 0.01 : max(0.01, trial.scale.part)
  for fill in Fill.allCases {
    try await Cluster.with(trial.shape(workers: 1)) { cluster in
      let connection = try await cluster.reach()
      let process = try cluster.process("opcoord")
      try await fill.run(cluster, connection, part: part)
      _ = try await connection.request(.ping, timeout: .seconds(60))
      trial.injected(fill.rawValue)
      let resident = Surroundings.residentBytes(process)
      let peak = Surroundings.peakBytes(process)
      let count = fill == .largest ? fill.operations : Int(Double(fill.operations) * part)
      let bound = 200 << 20 + count * 2048
      trial.note(
        "\(fill.rawValue): \(resident >> 20) MiB resident, \(peak >> 20) MiB at its highest; "
          + "\(bound >> 20) MiB allowed")
      trial.expect(
        peak < bound, "G29: \(fill.rawValue): \(peak >> 20) MiB, \(bound >> 20) allowed")
      await connection.close()
    }
  }
}
