// Chooses the edges of a Ninja file that are needed, and makes operations of them.

import OpClusterModel

struct NinjaBuilder {
  let session: ImportSession
  let ninja: NinjaFile
  /// The build folder.
  let folder: String
  let onlyOutdated: Bool
  let place: SourcePlace
  var graph: ImportedGraph
  private var names = OperationNames()
  /// The operations for which an edge stands; nil for one that was not made yet.
  private var ends: [[String]?]
  /// Which edges run, or have something before them that runs.
  private var runs: [Bool]
  private var isWanted: [Bool]
  private var queues: [String: String] = [:]
  private var folders: [String] = []
  private var knownFolders: Set<String> = ["."]
  /// Properties of edges that are told once, with their number.
  private var told: [String: (place: SourcePlace, count: Int)] = [:]
  private var current: [String] = []

  init(
    session: ImportSession, ninja: NinjaFile, folder: String, onlyOutdated: Bool,
    place: SourcePlace, graph: ImportedGraph
  ) {
    self.session = session
    self.ninja = ninja
    self.folder = folder
    self.onlyOutdated = onlyOutdated
    self.place = place
    self.graph = graph
    ends = Array(repeating: nil, count: ninja.edges.count)
    runs = Array(repeating: false, count: ninja.edges.count)
    isWanted = runs
  }

  mutating func build(_ targets: [String]) throws(ImportStop) {
    let order = try order(try wanted(targets))
    for at in order { try checkInputs(ninja.edges[at]) }
    let users = users(order)
    for at in order {
      let edge = ninja.edges[at]
      let needs = try needs(edge)
      runs[at] = !onlyOutdated || isOutdated(edge)
      guard edge.rule != nil else {
        ends[at] = try phony(edge, needs, users: users[at])
        continue
      }
      guard runs[at] else {
        ends[at] = []
        current.append(edge.outputs[0])
        continue
      }
      ends[at] = [try operation(edge, needs)]
    }
    try addFolders()
    tell()
    if graph.operations.isEmpty {
      throw session.stop(
        place, onlyOutdated ? "everything is up to date" : "nothing is to be done")
    }
  }

  /// The targets, those of `default`, or what nothing reads.
  private func wanted(_ targets: [String]) throws(ImportStop) -> [Int] {
    var paths = targets.isEmpty ? ninja.defaults : targets
    if paths.isEmpty {
      var read: Set<String> = []
      for edge in ninja.edges {
        read.formUnion(edge.inputs)
        read.formUnion(edge.orderOnlyInputs)
      }
      paths = ninja.edges.flatMap { $0.outputs.filter { !read.contains($0) } }
    }
    if paths.isEmpty, let edge = ninja.edges.first {
      throw session.stop(edge.place, "all outputs are needed by others, in a circle")
    }
    var edges: [Int] = []
    for path in paths {
      guard let edge = ninja.makers[path] else {
        throw session.stop(place, "nothing makes '\(path)'")
      }
      edges.append(edge)
    }
    return edges
  }

  /// The edges before one, without repetition.
  private func before(_ edge: NinjaEdge) -> [Int] {
    var seen: Set<Int> = []
    return (edge.inputs + edge.orderOnlyInputs).compactMap { ninja.makers[$0] }.filter {
      seen.insert($0).inserted
    }
  }

  /// All edges that are needed, each behind those that it needs. Validations are further targets.
  private mutating func order(_ roots: [Int]) throws(ImportStop) -> [Int] {
    var order: [Int] = []
    var open: Set<Int> = []
    var pending = roots
    var next = 0
    while next < pending.count {
      let root = pending[next]
      next += 1
      if isWanted[root] { continue }
      var path: [(edge: Int, before: [Int], at: Int)] = [(root, before(ninja.edges[root]), 0)]
      open.insert(root)
      while var step = path.popLast() {
        if step.at < step.before.count {
          let below = step.before[step.at]
          step.at += 1
          path.append(step)
          if isWanted[below] { continue }
          guard open.insert(below).inserted else {
            throw session.stop(
              ninja.edges[below].place,
              "'\(ninja.edges[below].outputs[0])' needs itself, in a circle")
          }
          path.append((below, before(ninja.edges[below]), 0))
        } else {
          open.remove(step.edge)
          isWanted[step.edge] = true
          order.append(step.edge)
          pending += ninja.edges[step.edge].validations.compactMap { ninja.makers[$0] }
        }
      }
    }
    return order
  }

  /// What nothing makes has to be there already.
  private func checkInputs(_ edge: NinjaEdge) throws(ImportStop) {
    // A phony edge may name what only its makers know.
    if edge.rule == nil { return }
    for input in edge.inputs where ninja.makers[input] == nil {
      if session.files.age(path(input, in: folder)) == nil {
        session.error(edge.place, "'\(input)' is missing, and nothing makes it")
      }
    }
  }

  /// How many wanted edges need an edge.
  private func users(_ order: [Int]) -> [Int] {
    var users = [Int](repeating: 0, count: ninja.edges.count)
    for at in order { for below in before(ninja.edges[at]) { users[below] += 1 } }
    return users
  }

  private func needs(_ edge: NinjaEdge) throws(ImportStop) -> [String] {
    var seen: Set<String> = []
    let needs = before(edge).flatMap { ends[$0] ?? [] }.filter { seen.insert($0).inserted }
    try session.spend(edges: needs.count, edge.place)
    return needs
  }

  /// Stands for what it needs; a barrier where many would need many.
  private mutating func phony(
    _ edge: NinjaEdge, _ needs: [String], users: Int
  ) throws(ImportStop) -> [String] {
    guard needs.count > 1, users > 1 else { return needs }
    try session.spend(operations: 1, edge.place)
    var operation = ImportedOperation(name: names.claim(edge.outputs[0]), work: .barrier)
    operation.needs = needs.map { ImportedOperation.Need(name: $0) }
    graph.operations.append(operation)
    return [operation.name]
  }

  /// Whether an output is missing or older than an input, or something before it runs.
  private func isOutdated(_ edge: NinjaEdge) -> Bool {
    let makers = edge.inputs.compactMap { ninja.makers[$0] }
    if makers.contains(where: { runs[$0] }) { return true }
    if edge.rule == nil { return false }
    var oldest = Int64.max
    for output in edge.outputs {
      guard let age = session.files.age(path(output, in: folder)) else { return true }
      oldest = min(oldest, age)
    }
    return edge.inputs.contains { input in
      // A phony name without a file is as old as what it stands for.
      session.files.age(path(input, in: folder)).map { $0 > oldest } ?? false
    }
  }

  private mutating func operation(
    _ edge: NinjaEdge, _ needs: [String]
  ) throws(ImportStop) -> String {
    let scope = NinjaEdgeScope(ninja: ninja, edge: edge, session: session)
    if !(try scope.value("dyndep")).isEmpty {
      throw session.stop(
        edge.place,
        "dyndep: what an edge needs would be known only while it runs; with CMake, "
          + "-DCMAKE_CXX_SCAN_FOR_MODULES=OFF leaves it out")
    }
    let command = try scope.value("command")
    var operation = ImportedOperation(name: names.claim(edge.outputs[0]), work: .shell(command))
    operation.needs = needs.map { ImportedOperation.Need(name: $0) }
    operation.description = String(try scope.value("description").prefix(200))
    let response = try scope.value("rspfile")
    if !response.isEmpty {
      // The file is there while the command runs, and is left behind when it fails.
      operation.work = .shell(
        "cat > \(response.shellWord) && /bin/sh -c \(command.shellWord) < /dev/null"
          + " && rm -f \(response.shellWord)")
      operation.inputText = try scope.value("rspfile_content")
    }
    try session.spend(text: command.utf8.count, edge.place)
    operation.queue = try queue(try scope.value("pool"), edge)
    let depfile = try scope.value("depfile")
    for path in edge.outputs + [depfile, response] where !path.isEmpty { note(folderOf: path) }
    for key in ["restat", "deps", "depfile", "generator"] where !(try scope.value(key)).isEmpty {
      told[key, default: (edge.place, 0)].count += 1
    }
    graph.operations.append(operation)
    return operation.name
  }

  private mutating func queue(_ pool: String, _ edge: NinjaEdge) throws(ImportStop) -> String? {
    if pool.isEmpty { return nil }
    guard let depth = ninja.pools[pool] else {
      throw session.stop(edge.place, "there is no pool '\(pool)'")
    }
    if depth == 0 { return nil }
    if let known = queues[pool] { return known }
    guard queues.count < Limits.queuesPerGraph else {
      throw session.stop(edge.place, "more than \(Limits.queuesPerGraph) pools are used")
    }
    // A pool may have the name of a queue of the cluster.
    let name = OperationNames.valid("pool-" + pool)
    queues[pool] = name
    graph.queues.append(ImportedQueue(name: name, limit: depth))
    return name
  }

  private mutating func note(folderOf path: String) {
    let name = OpClusterImports.folder(of: path)
    if knownFolders.insert(name).inserted { folders.append(name) }
  }

  /// Ninja makes the folders of outputs before an edge runs; here it is an operation before all.
  private mutating func addFolders() throws(ImportStop) {
    let missing = folders.filter { session.files.age(path($0, in: folder)) == nil }
    var made: [ImportedOperation] = []
    var words: [String] = []
    var bytes = 0
    for (at, name) in missing.enumerated() {
      words.append(name.hasPrefix("-") ? "./" + name : name)
      bytes += name.utf8.count + 8
      if bytes > 60_000 || at == missing.count - 1 {
        let operation = ImportedOperation(
          name: names.claim("folders"), work: .words(["mkdir", "-p"] + words))
        made.append(operation)
        (words, bytes) = ([], 0)
      }
    }
    if made.isEmpty { return }
    let needs = made.map { ImportedOperation.Need(name: $0.name) }
    for at in graph.operations.indices where graph.operations[at].needs.isEmpty {
      graph.operations[at].needs = needs
    }
    graph.operations = made + graph.operations
  }

  private func tell() {
    let texts = [
      "restat": "restat: what reads an output that did not change runs all the same",
      "deps": "deps: headers are not looked at, as all that is wanted runs",
      "depfile": "depfile: is written and not read",
      "generator": "generator: is an edge like any other",
    ]
    for (key, (place, count)) in told.sorted(by: { $0.value.place.line < $1.value.place.line }) {
      session.note(place, "\(texts[key] ?? key) (\(count) edges)")
    }
    if ninja.makers[NinjaFile.canonical(place.file)] != nil
      || ninja.makers[String(place.file.dropFirst(folder.utf8.count + 1))] != nil
    {
      session.note(place, "the file is not made anew before the build")
    }
    guard onlyOutdated else { return }
    session.lost(
      place, "--outdated looks at files that edges name, not at headers and changed commands")
    let shown = current.prefix(10).joined(separator: ", ") + (current.count > 10 ? ", …" : "")
    session.note(
      place,
      "\(current.count) edges are up to date and left out"
        + (current.isEmpty ? "" : ": " + shown))
  }
}

/// The variables of an edge: what it says, what its rule says, what the file says.
struct NinjaEdgeScope {
  let ninja: NinjaFile
  let edge: NinjaEdge
  let session: ImportSession

  /// A variable as Ninja finds it; empty if there is none.
  func value(_ name: String) throws(ImportStop) -> String {
    // Names of files are no part of a command.
    let isPath = ["depfile", "dyndep", "rspfile"].contains(name)
    return try value(name, isPath: isPath, depth: 0)
  }

  private func value(_ name: String, isPath: Bool, depth: Int) throws(ImportStop) -> String {
    func list(_ paths: [String], _ separator: String) -> String {
      (isPath ? paths : paths.map(Self.quoted)).joined(separator: separator)
    }
    switch name {
    case "in": return list(edge.explicitInputs, " ")
    case "in_newline": return list(edge.explicitInputs, "\n")
    case "out": return list(edge.explicitOutputs, " ")
    default: break
    }
    // Without variables of its own an edge has those of its file at once, before its rule's.
    let own = edge.bindings.isEmpty ? ninja.scopes[edge.scope].variables : edge.bindings
    if let value = own[name] { return value }
    guard let text = edge.rule.flatMap({ ninja.rules[$0].bindings[name] }) else {
      return ninja.variable(name, in: edge.scope)
    }
    guard depth < Limits.importDepth else {
      throw session.stop(edge.place, "the variable '\(name)' of a rule names itself")
    }
    var result = ""
    for piece in text.pieces {
      switch piece {
      case .literal(let literal): result += literal
      case .variable(let inner): result += try value(inner, isPath: isPath, depth: depth + 1)
      }
      try session.check(text: result.utf8.count, edge.place)
    }
    return result
  }

  /// As Ninja quotes a path for a shell.
  private static func quoted(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      isNameByte(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "+")
    }
    return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
  }
}
