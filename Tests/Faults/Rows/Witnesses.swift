// The second and the third witness: the lines that operations wrote, and the exported journal. Read
// after the fact; values.

import OpClusterModel
import RealCluster

/// One line that an operation wrote.
struct WitnessLine: Sendable {
  var operation: OperationID
  var attempt: UInt32
  var process: Int32
  var session: String
  var isStart: Bool
  var time: Moment

  init?(_ line: Substring) {
    let words = line.split(separator: " ")
    guard words.count == 6, let id = OperationID(dotted: words[0]), let attempt = UInt32(words[1]),
      let process = Int32(words[2]), let time = Int64(words[5])
    else { return nil }
    operation = id
    self.attempt = attempt
    self.process = process
    session = String(words[3])
    isStart = words[4] == "start"
    self.time = Moment(nanoseconds: time)
  }

  /// The whole lines of a file.
  static func all(in path: String) -> [WitnessLine] {
    let content = text(of: path)
    return content[..<(content.lastIndex(of: "\n") ?? content.startIndex)]
      .split(separator: "\n").compactMap(WitnessLine.init)
  }
}

extension OperationID {
  /// `3.12`
  init?(dotted text: Substring) {
    let parts = text.split(separator: ".")
    guard parts.count == 2, let graph = UInt32(parts[0]), let index = UInt32(parts[1]) else {
      return nil
    }
    self.init(graph: GraphID(graph), index: index)
  }
  var dotted: String { "\(graph.number).\(index)" }
}

/// One fact as `opcoord journal export` prints it.
struct JournalLine: Sendable {
  var turn: UInt64
  var epoch: UInt64
  /// `dispatched`, `succeeded`…
  var fact: String
  /// `name=value` words behind it.
  var values: [String: String]

  /// Nil for parts of a snapshot, which are no facts of a turn.
  init?(_ line: Substring) {
    let words = line.split(separator: " ")
    guard words.count >= 5, words[0] == "turn", let turn = UInt64(words[1]),
      let epoch = UInt64(words[3])
    else { return nil }
    self.turn = turn
    self.epoch = epoch
    fact = String(words[4])
    values = [:]
    for word in words.dropFirst(5) {
      let parts = word.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
  }

  /// The operations that it speaks of.
  var operations: [OperationID] {
    if let one = values["operation"] {
      return OperationID(dotted: Substring(one.split(separator: "/#").joined(separator: ".")))
        .map { [$0] } ?? []
    }
    guard let graph = values["graph"].flatMap({ UInt32($0) }), let list = values["operations"]
    else {
      return []
    }
    return list.split(separator: ",").flatMap { run -> [OperationID] in
      let ends = run.split(separator: "-").compactMap { UInt32($0) }
      guard let first = ends.first, let last = ends.last, first <= last else { return [] }
      return (first...last).map { OperationID(graph: GraphID(graph), index: $0) }
    }
  }

  /// Exports the journal of a cluster and reads it.
  static func all(of cluster: Cluster) async throws -> [JournalLine] {
    let name = "export-\(UInt32.random(in: 0 ... .max))"
    let export = try ChildProgram(
      name, try Cluster.executable("opcoord"),
      ["journal", "export", "--state", "\(cluster.folder)/state"],
      environment: cluster.environment, folder: cluster.folder, input: "/dev/null")
    let status = try await export.ended(within: .seconds(120))
    guard status == 0 else { throw Trouble("journal export ended with \(status): \(export.error)") }
    return export.output.split(separator: "\n").compactMap(JournalLine.init)
  }
}
