// What workers hand on to each other: one large file, many small ones. Beside the bare transfer of
// the same bytes, and `cp`.

import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterWire

extension Measurements {
  /// Files of so many bytes from one worker to another, over TCP with keys.
  static func transfer(files: Int, of bytes: Int) async throws -> [(String, Double)] {
    let whole = files * bytes
    let bare = try BareTransfer.seconds(for: whole)
    let copy = try BareTransfer.copySeconds(for: whole)
    let (ours, reader, writer) = try await MeasuredCluster.use(.encrypted) { cluster in
      try await crossing(cluster, files: files, of: bytes)
    }
    return [
      ("seconds", ours), ("seconds, bare with CURVE", bare), ("seconds, cp", copy),
      ("percent of the bare rate", bare / ours * 100),
      ("MiB of memory of the reader above idle", reader),
      ("MiB of memory of the writer above idle", writer),
    ]
  }

  /// The seconds until a reader that begins to need all files has ended, and the most memory that
  /// both workers have had meanwhile, above what they had before, in MiB.
  private static func crossing(
    _ cluster: EmbeddedCluster, files: Int, of bytes: Int
  ) async throws -> (Double, Double, Double) {
    guard case .workers(let workers) = try await cluster.connection.request(.workers),
      workers.count == 2
    else { throw Follower.NotSucceeded(description: "there are no two workers") }
    // An output names at most so many.
    let groups = (files - 1) / 500 + 1
    var write = CommandSpecification(
      form: .shell(
        interpreter: [],
        text: CommandText(
          "mkdir d; i=0; while [ $i -lt \(files / groups) ]; do i=$((i+1)); "
            + "head -c \(bytes) /dev/urandom > d/$i; done")))
    write.outputFiles = [.init(name: "d", path: CommandText("d"))]
    let read = CommandSpecification(form: .arguments([CommandText("true")]))
    var graph = GraphSubmission(name: "transfer")
    graph.queues = [.named("default")]
    graph.templates = [
      template("write", write, at: workers[0].name, count: UInt32(groups)),
      template("read", read, at: workers[1].name, count: 1),
    ]
    graph.templates[1].isHeld = true
    graph.templates[1].wantsInputs = true
    graph.templates[1].inputFiles = [
      InputFile(operation: "write", file: "d", folder: "write", isByIndex: true)
    ]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    let connection = cluster.connection
    guard case .accepted(let id, _, _) = try await connection.request(.submit(graph)) else {
      throw Follower.NotSucceeded(description: "the graph was not accepted")
    }
    try await awaitEnds("write", of: id, connection)
    let numbers = [1, 2].map { cluster.processes[$0].number }
    let before = numbers.map { residentBytes(of: $0) }
    let time = try await seconds {
      let held = OperationTarget.operations([OperationID(graph: id, index: UInt32(groups))])
      _ = try await connection.request(.hold(held, false))
      try await awaitEnds("read", of: id, connection)
    }
    let peaks = zip(numbers, before).map { number, before in
      Double(max(0, peakResidentBytes(of: number) - before)) / 1_048_576
    }
    return (time, peaks[1], peaks[0])
  }

  /// Looks a hundred times a second.
  private static func awaitEnds(
    _ name: String, of graph: GraphID, _ connection: ClusterConnection
  ) async throws {
    var selection = Selection.graph(graph)
    selection.operation = name
    while true {
      let reply = try await connection.request(.operations(selection, after: nil, limit: 1_000))
      guard case .operations(let rows, _) = reply else { continue }
      for row in rows where row.outcome != nil && row.outcome != .succeeded {
        throw Follower.NotSucceeded(description: row.result?.diagnostic ?? row.name)
      }
      if rows.allSatisfy({ $0.outcome == .succeeded }) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private static func template(
    _ name: String, _ command: CommandSpecification, at worker: String, count: UInt32
  ) -> OperationTemplate {
    var template = OperationTemplate(name: name, count: count, work: .command)
    template.isArray = name == "write"
    template.payload = Wire.encode(command: command)
    template.requirements = [LabelRequirement(key: "worker", values: [worker])]
    return template
  }
}
