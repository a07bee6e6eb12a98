// A shuffle of operation types: each of a first row leaves one value with a piece for each of a
// second row, which reads its piece of each. This program is the workers' as well.

import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterOperations
import OpClusterServing
import OpClusterSystem

/// `opbench serve`: what the workers of this measurement run.
enum BenchWorker: WorkerProgram {
  static let types: [any RegisteredOperation.Type] = [MakePieces.self, JoinPieces.self]

  /// Serves and does not return, if this program was started as a worker.
  static func serveIfAsked() {
    if CommandLine.arguments.dropFirst().first == "serve" { main() }
  }
}

/// Leaves random bytes, a piece for each of `width` readers.
private struct MakePieces: RegisteredOperation {
  static let typeName = "bench.make-pieces"
  var width: Int
  var pieceBytes: Int

  func main(_ context: OperationContext) async throws -> OperationFile {
    let path = try context.scratchFolder() + "/pieces"
    let bytes = try FileTree.reading("/dev/urandom", followsLinks: false) { random in
      try FileDescriptor(random).readOnce(limit: width * pieceBytes)
    }
    try Data(bytes).write(to: URL(filePath: path))
    return OperationFile(path: path)
  }
}

/// Joins one piece of each; leaves how many bytes that are.
private struct JoinPieces: RegisteredOperation {
  static let typeName = "bench.join-pieces"
  var width: Int
  var pieceBytes: Int

  func main(_ context: OperationContext) async throws -> Int {
    // Counted from 1, as people do.
    let column = Int(context.index ?? 1) - 1
    var joined = Data()
    for file in try context.outputs(of: "make", as: OperationFile.self) {
      let data = try await file.data()
      let start = data.startIndex + column * pieceBytes
      joined += data[start..<start + pieceBytes]
    }
    guard joined.count == width * pieceBytes else { throw Lacking() }
    return joined.count
  }
  struct Lacking: Error {}
}

extension Measurements {
  /// The seconds for `width` operations that leave a value of `width` pieces each, and as many that
  /// read one piece of each. Over TCP with keys, by two workers without a common folder.
  static func valueShuffle(width: Int, pieceBytes: Int) async throws -> Double {
    let graph = try Graphs.valueShuffle(width: width, pieceBytes: pieceBytes)
    return try await MeasuredCluster.use(
      .encrypted, workerProgram: CommandLine.arguments[0]
    ) { cluster in
      try await seconds { try await Follower(cluster.connection).run(graph) }
    }
  }
}

extension Graphs {
  static func valueShuffle(width: Int, pieceBytes: Int) throws -> GraphSubmission {
    var graph = GraphSubmission(name: "shuffle")
    graph.queues = [.named("default")]
    var make = OperationTemplate(
      name: "make", count: UInt32(width), work: .call(MakePieces.operationType))
    make.payload = try OperationArgument.encode(MakePieces(width: width, pieceBytes: pieceBytes))
    var join = OperationTemplate(
      name: "join", count: UInt32(width), work: .call(JoinPieces.operationType))
    join.payload = try OperationArgument.encode(JoinPieces(width: width, pieceBytes: pieceBytes))
    join.wantsInputs = true
    graph.templates = [make, join]
    for at in graph.templates.indices { graph.templates[at].isArray = true }
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    return graph
  }
}
