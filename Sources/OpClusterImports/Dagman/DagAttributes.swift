// What statements of a DAG file say of nodes: dependencies, retries, scripts, macros, categories.

import OpClusterModel

extension DagReader {
  /// A statement that names nodes. All nodes are known by now.
  mutating func apply(
    _ line: DagLine, in folder: String, prefix: String
  ) throws(ImportStop) {
    switch line.keyword {
    case "PARENT": try connect(line, prefix)
    case "SCRIPT": try script(line, in: folder, prefix)
    case "VARS": try macros(line, prefix)
    case "RETRY", "PRIORITY", "PRE_SKIP", "ABORT-DAG-ON": try number(line, prefix)
    case "CATEGORY":
      let category = try word(line, 2)
      // A category of a splice is its own, unless its name begins with a plus.
      let name =
        category.hasPrefix("+")
        ? String(category.dropFirst()) : prefix + category
      try each(line, prefix) { $0.category = name }
    case "MAXJOBS":
      guard let limit = Int(try word(line, 2)), limit >= 0 else {
        throw session.stop(line.place, "MAXJOBS needs a category and a number")
      }
      let category = try word(line, 1)
      let name =
        category.hasPrefix("+") ? String(category.dropFirst()) : prefix + category
      dag.categories.removeAll { $0.name == name }
      dag.categories.append((name, limit))
    case "DONE": try each(line, prefix) { $0.isDone = true }
    default: try sayWhatIsNotRead(line)
    }
  }

  /// What stands besides the graph. An unknown word is an error: it may change everything.
  private func sayWhatIsNotRead(_ line: DagLine) throws(ImportStop) {
    let reason: (isLost: Bool, text: String)
    switch line.keyword {
    case "CONFIG": reason = (true, "CONFIG: settings of DAGMan, such as its limits, are not read")
    case "DOT": reason = (false, "DOT: 'opbatch graph NUMBER --format dot' draws it")
    case "NODE_STATUS_FILE":
      reason = (false, "NODE_STATUS_FILE: 'opbatch ls NUMBER -o json' tells it")
    case "JOBSTATE_LOG": reason = (false, "JOBSTATE_LOG: 'opbatch events NUMBER' tells it")
    case "SAVE_POINT_FILE":
      reason = (
        false, "SAVE_POINT_FILE: 'opbatch retry NUMBER --failed' goes on from what succeeded"
      )
    case "SET_JOB_ATTR": reason = (true, "SET_JOB_ATTR: attributes of a job are not here")
    case "ENV": reason = (true, "ENV: name the variables with --inherit")
    case "SERVICE": reason = (true, "SERVICE: nothing runs beside the whole graph")
    case "PROVISIONER": reason = (true, "PROVISIONER: workers are not started by a graph")
    case "REJECT":
      throw session.stop(line.place, "REJECT: the file is marked as one that is not to be run")
    case "CONNECT", "PIN_IN", "PIN_OUT":
      throw session.stop(line.place, "\(line.keyword): pins of splices are not read")
    default: throw session.stop(line.place, "'\(line.words[0])' is no statement of DAGMan")
    }
    if reason.isLost {
      session.lost(line.place, reason.text)
    } else {
      session.note(line.place, reason.text)
    }
  }

  private func word(_ line: DagLine, _ at: Int) throws(ImportStop) -> String {
    guard at < line.words.count else {
      throw session.stop(line.place, "\(line.keyword) needs \(at) words")
    }
    return line.words[at]
  }

  /// Changes the node that a statement names as its second word, or all of them.
  private mutating func each(
    _ line: DagLine, _ prefix: String, at position: Int = 1, _ change: (inout DagNode) -> Void
  ) throws(ImportStop) {
    let name = try word(line, position)
    if name.uppercased() == "ALL_NODES" {
      for at in dag.nodes.indices
      where dag.nodes[at].name.hasPrefix(prefix) && dag.nodes[at].kind != .final {
        // Of a file alone, not of its splices.
        if !dag.nodes[at].name.dropFirst(prefix.count).contains("+") { change(&dag.nodes[at]) }
      }
      return
    }
    guard let at = dag.positions[prefix + name] else {
      throw session.stop(line.place, "\(line.keyword) names '\(name)', which is no node")
    }
    change(&dag.nodes[at])
  }

  private mutating func number(_ line: DagLine, _ prefix: String) throws(ImportStop) {
    guard let number = Int(try word(line, 2)), Int(Int32.min)...Int(Int32.max) ~= number else {
      throw session.stop(line.place, "\(line.keyword) needs a node and a number")
    }
    let more = line.words.dropFirst(3).map { $0 }
    switch line.keyword {
    case "PRIORITY": try each(line, prefix) { $0.priority = number }
    case "PRE_SKIP": try each(line, prefix) { $0.skipCode = number }
    case "ABORT-DAG-ON":
      session.lost(
        line.place,
        "ABORT-DAG-ON: what does not depend on the node goes on; the node itself is not tried again"
      )
      try each(line, prefix) { $0.abortCode = number }
    default:
      guard number >= 0 else { throw session.stop(line.place, "RETRY needs a number from 0 on") }
      var finalCode: Int?
      if more.first?.uppercased() == "UNLESS-EXIT" {
        guard more.count == 2, let code = Int(more[1]) else {
          throw session.stop(line.place, "UNLESS-EXIT needs a number")
        }
        finalCode = code
      } else if !more.isEmpty {
        throw session.stop(line.place, "'\(more[0])' is not known behind RETRY")
      }
      try each(line, prefix) {
        $0.retries = number
        $0.finalExitCode = finalCode
      }
    }
  }

  private mutating func script(
    _ line: DagLine, in folder: String, _ prefix: String
  ) throws(ImportStop) {
    var at = 1
    while true {
      switch try word(line, at).uppercased() {
      case "DEFER":
        session.lost(line.place, "SCRIPT DEFER: the script is not tried again later")
        at += 3
      case "DEBUG":
        session.note(line.place, "SCRIPT DEBUG: 'opbatch logs' has what a script writes")
        at += 3
      case "PRE", "POST", "HOLD":
        let kind = try word(line, at).uppercased()
        let script = DagScript(
          program: try word(line, at + 2), arguments: Array(line.words.dropFirst(at + 3)),
          folder: folder, place: line.place)
        if kind == "HOLD" {
          session.lost(line.place, "SCRIPT HOLD: operations are never held by themselves")
          return
        }
        try each(line, prefix, at: at + 1) {
          if kind == "PRE" { $0.before = script } else { $0.after = script }
        }
        return
      default: throw session.stop(line.place, "SCRIPT needs PRE or POST, a node and a program")
      }
    }
  }

  /// `VARS node [PREPEND|APPEND] a="1" b="2"`: quotes and backslashes are escaped by a backslash.
  private mutating func macros(_ line: DagLine, _ prefix: String) throws(ImportStop) {
    var rest = ByteReader(line.text)
    _ = rest.word()
    guard rest.word() != nil else { throw session.stop(line.place, "VARS needs a node") }
    var found: [(name: String, value: String)] = []
    var isFirst = true
    while true {
      rest.skipBlanks()
      guard !rest.isAtEnd else { break }
      let name = rest.text { $0 != UInt8(ascii: "=") && !isBlank($0) }
      if isFirst, ["PREPEND", "APPEND"].contains(name.uppercased()) {
        isFirst = false
        // Before or behind what the submit file says: both are macros of the file here.
        session.note(line.place, "VARS \(name): macros of a node come before those of its file")
        continue
      }
      isFirst = false
      rest.skipBlanks()
      guard rest.take(UInt8(ascii: "=")) else {
        throw session.stop(line.place, "VARS has a name without '='")
      }
      rest.skipBlanks()
      guard rest.take(UInt8(ascii: "\"")), let value = rest.quoted(UInt8(ascii: "\"")) else {
        throw session.stop(line.place, "a value of VARS is not in double quotes")
      }
      if name.hasPrefix("+") || name.lowercased().hasPrefix("my.") {
        session.lost(line.place, "VARS \(name): attributes of a job are not here")
      } else {
        found.append((name, value))
      }
    }
    try each(line, prefix) { $0.macros += found }
  }

  private mutating func connect(_ line: DagLine, _ prefix: String) throws(ImportStop) {
    guard let middle = line.words.firstIndex(where: { $0.uppercased() == "CHILD" }),
      middle > 1, middle + 1 < line.words.count
    else { throw session.stop(line.place, "PARENT needs nodes, CHILD and nodes") }
    var parents: [Int] = []
    for name in line.words[1..<middle] {
      parents += try members(name, line, prefix) { $0.last }
    }
    for name in line.words[(middle + 1)...] {
      for child in try members(name, line, prefix, { $0.first }) {
        try session.spend(edges: parents.count, line.place)
        dag.nodes[child].parents += parents
      }
    }
  }

  /// A node, or those of a splice that stand at its edge.
  private func members(
    _ name: String, _ line: DagLine, _ prefix: String,
    _ edge: ((first: [Int], last: [Int])) -> [Int]
  ) throws(ImportStop) -> [Int] {
    if let splice = dag.splices[prefix + name] { return edge(splice) }
    guard let at = dag.positions[prefix + name] else {
      throw session.stop(line.place, "'\(name)' is no node")
    }
    guard dag.nodes[at].kind != .final else {
      throw session.stop(line.place, "the FINAL node '\(name)' has no parents and no children")
    }
    return [at]
  }
}
