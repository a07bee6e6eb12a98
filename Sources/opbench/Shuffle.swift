// A shuffle: each operation of a first row leaves a piece for each of a second one, which reads one
// of each.

import OpClusterClient
import OpClusterModel
import OpClusterWire

extension Measurements {
  /// The seconds for `width` operations that leave `width` pieces each, and as many that read one
  /// piece of each. Over TCP with keys, by two workers without a common folder.
  static func shuffle(width: Int, pieceBytes: Int) async throws -> Double {
    try await MeasuredCluster.use(.encrypted) { cluster in
      let graph = Graphs.shuffle(width: width, pieceBytes: pieceBytes)
      return try await seconds { try await Follower(cluster.connection).run(graph) }
    }
  }
}

extension Graphs {
  /// Files of random bytes, and commands that count them. The second row has templates of its own,
  /// since only a template names what it reads.
  static func shuffle(width: Int, pieceBytes: Int) -> GraphSubmission {
    var graph = GraphSubmission(name: "shuffle")
    let pieces = (0..<width).map { String($0 + width) }
    let make = shell(
      "mkdir p; head -c \(width * pieceBytes) /dev/urandom | split -b \(pieceBytes) "
        + "--numeric-suffixes=\(width) -a \(pieces[0].count) - p/",
      leaving: pieces.map { .init(name: $0, path: CommandText("p/\($0)")) })
    var template = OperationTemplate(name: "make", count: UInt32(width), work: .command)
    template.isArray = true
    template.payload = Wire.encode(command: make)
    graph.templates = [template]
    for (number, piece) in pieces.enumerated() {
      let join = shell(
        "test $(cat $OP_INPUTS/make/*/\(piece) | wc -c) = \(width * pieceBytes)", leaving: [])
      var template = OperationTemplate(name: "join\(number)", work: .command)
      template.payload = Wire.encode(command: join)
      template.wantsInputs = true
      template.inputFiles = [
        InputFile(operation: "make", file: piece, folder: "make", isByIndex: true)
      ]
      graph.templates.append(template)
      graph.groupEdges.append(
        GroupEdge(from: 0, to: UInt32(number + 1), policy: .succeeded))
    }
    return graph
  }

  private static func shell(
    _ text: String, leaving files: [CommandSpecification.OutputFile]
  ) -> CommandSpecification {
    var command = CommandSpecification(
      form: .shell(interpreter: [], text: CommandText(text)))
    command.outputFiles = files
    return command
  }
}
