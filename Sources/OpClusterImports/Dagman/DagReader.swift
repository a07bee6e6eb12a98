// Reads DAGMan input files: statements, splices, rescue files. The second half, what is said of
// nodes, is in `DagAttributes`.

import OpClusterModel

/// Reads one DAG with its splices.
struct DagReader {
  let session: ImportSession
  var dag = Dag()

  /// Reads a file into `dag`.
  mutating func read(
    _ file: String, in folder: String, prefix: String, depth: Int, from place: SourcePlace
  ) throws(ImportStop) {
    try session.checkDepth(depth, place)
    guard let lines = try session.lines(of: file, for: place) else {
      throw session.stop(place, "there is no file \(file)")
    }
    try read(lines, of: file, in: folder, prefix: prefix, depth: depth)
  }

  private mutating func read(
    _ lines: [String], of file: String, in folder: String, prefix: String, depth: Int
  ) throws(ImportStop) {
    var later: [DagLine] = []
    var at = 0
    while at < lines.count {
      let number = at + 1
      let words = lines[at].words
      at += 1
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      let line = DagLine(place: SourcePlace(file, number), text: lines[at - 1], words: words)
      switch line.keyword {
      case "JOB", "NODE", "DATA", "FINAL", "SUBDAG", "SUBMIT-DESCRIPTION":
        let block = block(line, lines, &at)
        try define(line, block, in: folder, prefix: prefix)
      case "SPLICE": try splice(line, in: folder, prefix: prefix, depth: depth)
      case "INCLUDE":
        guard words.count == 2 else { throw session.stop(line.place, "INCLUDE needs a file") }
        let included = path(words[1], in: folder)
        try read(included, in: folder, prefix: prefix, depth: depth + 1, from: line.place)
      default: later.append(line)
      }
    }
    for line in later { try apply(line, in: folder, prefix: prefix) }
  }

  /// The lines of `{ … }` or `@=end … @end` behind a statement; nil if it has none.
  private func block(
    _ line: DagLine, _ lines: [String], _ at: inout Int
  ) -> (lines: [String], first: Int)? {
    guard let opening = line.words.last(where: { $0 == "{" || $0.hasPrefix("@=") }) else {
      return nil
    }
    let end = opening == "{" ? "}" : "@\(opening.dropFirst(2))"
    let first = at + 1
    var found: [String] = []
    while at < lines.count {
      let text = lines[at]
      at += 1
      if text.trimmed.hasPrefix(end) { return (found, first) }
      found.append(text)
    }
    session.error(line.place, "the description has no '\(end)'")
    return (found, first)
  }

  private mutating func define(
    _ line: DagLine, _ block: (lines: [String], first: Int)?, in folder: String, prefix: String
  ) throws(ImportStop) {
    var words = line.words.dropFirst()
    if line.keyword == "SUBMIT-DESCRIPTION" {
      guard let name = words.first, let block else {
        throw session.stop(line.place, "SUBMIT-DESCRIPTION needs a name and a block")
      }
      dag.descriptions[prefix + name] = block
      return
    }
    if line.keyword == "DATA" {
      throw session.stop(line.place, "DATA nodes are jobs of Stork, which is not here")
    }
    if line.keyword == "SUBDAG" {
      guard words.first?.uppercased() == "EXTERNAL" else {
        throw session.stop(line.place, "SUBDAG is followed by EXTERNAL")
      }
      words = words.dropFirst()
    }
    guard words.count >= 2, let name = words.popFirst(), let file = words.popFirst() else {
      throw session.stop(line.place, "\(line.keyword) needs a name and a file")
    }
    let kind: DagNode.Kind =
      line.keyword == "FINAL" ? .final : line.keyword == "SUBDAG" ? .subdag : .job
    var node = DagNode(
      kind: kind, name: prefix + name, place: line.place, file: file, folder: folder)
    node.inline = block
    while block == nil, let word = words.popFirst() {
      switch word.uppercased() {
      case "DIR":
        guard let place = words.popFirst() else {
          throw session.stop(line.place, "DIR needs a folder")
        }
        node.folder = path(place, in: folder)
      case "NOOP": node.isNoop = true
      case "DONE": node.isDone = true
      default: throw session.stop(line.place, "'\(word)' is not known behind \(line.keyword)")
      }
    }
    if kind == .final, !prefix.isEmpty {
      session.lost(line.place, "a FINAL node of a splice is ignored, as DAGMan does")
      return
    }
    if kind == .final, dag.finalNode != nil {
      throw session.stop(line.place, "a second FINAL node")
    }
    try add(node)
  }

  private mutating func add(_ node: DagNode) throws(ImportStop) {
    try session.spend(operations: 1, node.place)
    guard dag.positions.updateValue(dag.nodes.count, forKey: node.name) == nil,
      dag.splices[node.name] == nil
    else { throw session.stop(node.place, "the node '\(node.name)' is there twice") }
    dag.nodes.append(node)
  }

  /// The nodes of the other file become nodes of this one.
  private mutating func splice(
    _ line: DagLine, in folder: String, prefix: String, depth: Int
  ) throws(ImportStop) {
    let words = line.words
    guard words.count == 3 || words.count == 5 && words[3].uppercased() == "DIR" else {
      throw session.stop(line.place, "SPLICE needs a name, a file, and perhaps DIR and a folder")
    }
    let name = prefix + words[1]
    let place = words.count == 5 ? path(words[4], in: folder) : folder
    guard dag.splices[name] == nil, dag.positions[name] == nil else {
      throw session.stop(line.place, "the node '\(name)' is there twice")
    }
    let first = dag.nodes.count
    try read(
      path(words[2], in: place), in: place, prefix: name + "+", depth: depth + 1, from: line.place)
    let members = first..<dag.nodes.count
    var isParent: Set<Int> = []
    for at in members { isParent.formUnion(dag.nodes[at].parents) }
    dag.splices[name] = (
      members.filter { dag.nodes[$0].parents.isEmpty }, members.filter { !isParent.contains($0) }
    )
  }

  /// Nodes that a rescue file says are done. It is read behind the DAG itself.
  mutating func readRescue(_ file: String, _ place: SourcePlace) throws(ImportStop) -> Int? {
    guard let lines = try session.lines(of: file, for: place) else { return nil }
    var count = 0
    for (at, text) in lines.enumerated() {
      let words = text.words
      guard let keyword = words.first?.uppercased(), !keyword.hasPrefix("#") else { continue }
      let line = DagLine(place: SourcePlace(file, at + 1), text: text, words: words)
      switch keyword {
      case "DONE":
        count += 1
        try apply(line, in: "", prefix: "")
      case "RETRY":
        // What was tried in the former run does not count here.
        try apply(line, in: "", prefix: "")
      default:
        session.lost(line.place, "'\(words[0])' of a rescue file is not read: only DONE and RETRY")
      }
    }
    return count
  }
}
