// Makes operations of the nodes of a DAG, and the dependencies between them.

import OpClusterModel

struct DagBuilder {
  let session: ImportSession
  var graph: ImportedGraph
  private var names = OperationNames()
  private var submitFiles: [String: SubmitFile] = [:]
  /// Submit files about which all was said.
  private var saidFiles: Set<String> = []
  private var queueNames = OperationNames()

  init(session: ImportSession, graph: ImportedGraph) {
    self.session = session
    self.graph = graph
  }

  /// What stands for a node: the operations that wait for its parents, and those that its children
  /// wait for.
  struct Ends {
    var first: [Int]
    var last: [ImportedOperation.Need]
  }

  /// Adds all nodes of a DAG, its first ones behind `needs`. Returns what its end is.
  mutating func add(
    _ dag: Dag, prefix: String = "", needs: [ImportedOperation.Need], depth: Int
  ) throws(ImportStop) -> [ImportedOperation.Need] {
    try session.checkDepth(depth, dag.nodes.first?.place ?? SourcePlace(graph.name, 0))
    let queues = makeQueues(dag, prefix)
    let order = try order(dag)
    var ends = [[ImportedOperation.Need]?](repeating: nil, count: dag.nodes.count)
    var isParent: Set<Int> = []
    var all: [ImportedOperation.Need] = []
    for at in order {
      let node = dag.nodes[at]
      if node.kind == .final { continue }
      isParent.formUnion(node.parents)
      // A node that is done is no reason to wait.
      if node.isDone { continue }
      let live = node.parents.filter { !dag.nodes[$0].isDone }
      var wanted = live.flatMap { ends[$0] ?? [] }
      if wanted.isEmpty { wanted = needs }
      try session.spend(edges: wanted.count, node.place)
      let queue = node.category.flatMap { queues[$0] }
      ends[at] = try add(node, dag, prefix: prefix, needs: unique(wanted), queue, depth)
      all += ends[at] ?? []
    }
    if let at = dag.finalNode {
      return try addFinal(dag.nodes[at], dag, prefix: prefix, all: all, depth)
    }
    return dag.nodes.indices.filter { !isParent.contains($0) }.flatMap { ends[$0] ?? [] }
  }

  private func unique(_ needs: [ImportedOperation.Need]) -> [ImportedOperation.Need] {
    var seen: Set<ImportedOperation.Need> = []
    return needs.filter { seen.insert($0).inserted }
  }

  /// Nodes with parents before their children.
  private func order(_ dag: Dag) throws(ImportStop) -> [Int] {
    let order = OrderOfNeeds(dag.nodes.map(\.parents))
    if let at = order.circle {
      throw session.stop(
        dag.nodes[at].place, "'\(dag.nodes[at].name)' waits for itself, in a circle")
    }
    return order.order
  }

  /// The queues of limited categories, by category.
  private mutating func makeQueues(_ dag: Dag, _ prefix: String) -> [String: String] {
    var queues: [String: String] = [:]
    for (category, limit) in dag.categories where limit > 0 {
      let name = queueNames.claim("category-" + prefix + category)
      queues[category] = name
      graph.queues.append(ImportedQueue(name: name, limit: limit))
    }
    return queues
  }

  /// A node with its own prefix; returns what its children wait for.
  private mutating func add(
    _ node: DagNode, _ dag: Dag, prefix: String, needs: [ImportedOperation.Need],
    _ queue: String?, _ depth: Int
  ) throws(ImportStop) -> [ImportedOperation.Need] {
    if node.kind == .subdag {
      return try addSubdag(node, prefix: prefix, needs: needs, depth)
    }
    let first = graph.operations.count
    let last = try addJob(node, dag, prefix: prefix, needs: needs)
    for at in first..<graph.operations.count where graph.operations[at].work != .barrier {
      graph.operations[at].queue = queue
    }
    return last
  }

  private mutating func addFinal(
    _ node: DagNode, _ dag: Dag, prefix: String, all: [ImportedOperation.Need], _ depth: Int
  ) throws(ImportStop) -> [ImportedOperation.Need] {
    session.lost(
      node.place, "FINAL: a failed node fails the graph, also where the FINAL node succeeds")
    let first = graph.operations.count
    let needs = unique(all).map { ImportedOperation.Need(name: $0.name, whenFinished: true) }
    // In a SUBDAG it is the last operation; of the whole DAG it is `finally`.
    let last = try addJob(node, dag, prefix: prefix, needs: depth == 0 ? [] : needs)
    if depth == 0 {
      graph.finally += graph.operations[first...]
      graph.operations.removeSubrange(first...)
    }
    return last
  }

  /// The nodes of a SUBDAG become operations of this graph, and a barrier with its name.
  private mutating func addSubdag(
    _ node: DagNode, prefix: String, needs: [ImportedOperation.Need], _ depth: Int
  ) throws(ImportStop) -> [ImportedOperation.Need] {
    let name = prefix + node.name
    if node.retries > 0 {
      session.lost(node.place, "RETRY of a SUBDAG: its own nodes are tried again only as they say")
    }
    if node.isNoop { return [try barrier(name, needs, node.place)] }
    var reader = DagReader(session: session)
    try reader.read(
      path(node.file, in: node.folder), in: node.folder, prefix: "", depth: depth + 1,
      from: node.place)
    var needs = needs
    if let before = node.before {
      needs = [try script(before, node, name + "-pre", needs)]
    }
    let ends = try add(reader.dag, prefix: name + "+", needs: needs, depth: depth + 1)
    guard let after = node.after else {
      return [try barrier(name, ends.isEmpty ? needs : ends, node.place)]
    }
    session.lost(after.place, "POST of a SUBDAG: failed nodes fail the graph, whatever it says")
    let finished = ends.map { ImportedOperation.Need(name: $0.name, whenFinished: true) }
    return [try script(after, node, name + "-post", finished)]
  }

  private mutating func barrier(
    _ name: String, _ needs: [ImportedOperation.Need], _ place: SourcePlace
  ) throws(ImportStop) -> ImportedOperation.Need {
    try session.spend(operations: 1, place)
    var operation = ImportedOperation(name: names.claim(name), work: .barrier)
    operation.needs = needs
    graph.operations.append(operation)
    return ImportedOperation.Need(name: operation.name)
  }

  /// A script as an operation of its own.
  private mutating func script(
    _ script: DagScript, _ node: DagNode, _ name: String, _ needs: [ImportedOperation.Need]
  ) throws(ImportStop) -> ImportedOperation.Need {
    let text = try NodeScripts(node: node, session: session).command(script, status: nil)
    var operation = ImportedOperation(name: names.claim(name), work: .shell(text))
    operation.needs = needs
    operation.workingFolder = script.folder
    try session.spend(operations: 1, script.place)
    graph.operations.append(operation)
    return ImportedOperation.Need(name: operation.name)
  }

  /// The operations of a node with a submit description.
  private mutating func addJob(
    _ node: DagNode, _ dag: Dag, prefix: String, needs: [ImportedOperation.Need]
  ) throws(ImportStop) -> [ImportedOperation.Need] {
    let name = prefix + node.name
    let scripts = NodeScripts(node: node, session: session)
    if node.isNoop {
      guard node.before != nil || node.after != nil else {
        return [try barrier(name, needs, node.place)]
      }
      var operation = ImportedOperation(
        name: names.claim(name), work: .shell(try scripts.around("true", folder: node.folder)))
      operation.needs = needs
      operation.workingFolder = node.folder
      operation.retry = retry(node, 0)
      graph.operations.append(operation)
      return [ImportedOperation.Need(name: operation.name)]
    }
    let (file, key) = try submitFile(node, dag)
    let isNew = saidFiles.insert(key).inserted
    var elements = NodeElements(node: node, file: file, session: session, remarks: isNew)
    elements.name = name
    let jobs = try elements.jobs()
    if jobs.isEmpty { return [try barrier(name, needs, node.place)] }
    let isOne = jobs.count == 1 && jobs[0].elements == nil
    if isOne { return [try add(jobs[0].job, nil, node, scripts, name, needs)] }
    var needs = needs
    if let before = node.before { needs = [try script(before, node, name + "-pre", needs)] }
    if node.retries > 0, node.before != nil || node.after != nil {
      session.lost(node.place, "RETRY repeats the jobs of '\(node.name)' and not its scripts")
    }
    var last: [ImportedOperation.Need] = []
    let bare = NodeScripts(node: node.withoutScripts, session: session)
    for (at, job) in jobs.enumerated() {
      try session.spend(operations: 1, node.place)
      let jobName = jobs.count == 1 ? name : "\(name).\(at)"
      last.append(try add(job.job, job.elements, node, bare, jobName, needs))
      // What POST says decides, and not the jobs.
      if node.after != nil { graph.operations[graph.operations.count - 1].mayFail = true }
    }
    if let after = node.after {
      let finished = last.map { ImportedOperation.Need(name: $0.name, whenFinished: true) }
      return [try script(after, node, name + "-post", finished)]
    }
    return last.count == 1 ? last : [try barrier(name, last, node.place)]
  }

  private mutating func submitFile(
    _ node: DagNode, _ dag: Dag
  ) throws(ImportStop) -> (file: SubmitFile, key: String) {
    if let inline = node.inline {
      let file = try SubmitFile(
        inline.lines, node.place.file, first: inline.first, folder: node.folder, session)
      return (file, "\(node.place.file):\(inline.first)")
    }
    if let known = dag.descriptions[node.file] {
      let file = try SubmitFile(
        known.lines, node.place.file, first: known.first, folder: node.folder, session)
      return (file, "\(node.place.file):\(known.first)")
    }
    let place = path(node.file, in: node.folder)
    let key = "\(node.folder)\n\(place)"
    if let file = submitFiles[key] { return (file, place) }
    guard let lines = try session.lines(of: place, for: node.place) else {
      throw session.stop(node.place, "there is no file \(place)")
    }
    let file = try SubmitFile(lines, place, first: 1, folder: node.folder, session)
    submitFiles[key] = file
    return (file, place)
  }

  /// DAGMan tries a node again after any exit code but those that end it.
  private func retry(_ node: DagNode, _ ofJob: Int) -> ImportedOperation.Retry? {
    let count = min(
      (node.retries + 1).saturatingMultiply(ofJob.saturatingAdd(1)) - 1, 100)
    if count <= 0 { return nil }
    if (node.retries + 1).saturatingMultiply(ofJob.saturatingAdd(1)) - 1 > 100 {
      session.lost(node.place, "more than 100 retries: at most 100 are made")
    }
    let final = Set([node.finalExitCode, node.abortCode].compactMap { $0 }).sorted()
    if final.isEmpty { return ImportedOperation.Retry(count: count) }
    var reasons: [String] = []
    var from = 1
    for code in final + [256] where code >= from {
      let to = min(code, 256) - 1
      if from <= to { reasons.append(from == to ? "exit:\(from)" : "exit:\(from)-\(to)") }
      from = code.saturatingAdd(1)
    }
    return ImportedOperation.Retry(count: count, reasons: reasons + ["signal", "timeout", "oom"])
  }

  /// One operation of a job; returns what waits for it.
  private mutating func add(
    _ job: SubmitJob, _ elements: ImportedOperation.Elements?, _ node: DagNode,
    _ scripts: NodeScripts, _ name: String, _ needs: [ImportedOperation.Need]
  ) throws(ImportStop) -> ImportedOperation.Need {
    let texts = job.words + [job.input, job.output, job.error].compactMap { $0 }
    let isWrapped = scripts.hasScripts || texts.contains { $0.needsShell }
    var operation = ImportedOperation(name: names.claim(name), work: .barrier)
    operation.needs = needs
    operation.elements = elements
    operation.workingFolder = job.folder
    operation.retry = retry(node, job.retries)
    if isWrapped {
      let command = NodeScripts.command(of: job)
      operation.work = .shell(
        scripts.hasScripts
          ? try scripts.around(job.isNoop ? "true" : command, folder: node.folder)
          : "exec \(command)")
    } else {
      operation.work = job.isNoop ? .barrier : .words(job.words)
      operation.inputFile = job.input
      operation.outputFile = job.output
      operation.errorFile = job.error
    }
    if operation.work == .barrier {
      operation.workingFolder = nil
      operation.retry = nil
    } else {
      fill(&operation, job, node)
    }
    graph.operations.append(operation)
    return ImportedOperation.Need(name: operation.name)
  }

  private func fill(_ operation: inout ImportedOperation, _ job: SubmitJob, _ node: DagNode) {
    operation.environment = job.environment
    operation.inherited = job.inherited
    operation.cpus = job.cpus
    operation.memoryBytes = job.memoryBytes
    operation.gpus = job.gpus
    operation.priority = (node.priority ?? job.priority).map { min(max($0, -1000), 1000) }
    operation.timeoutSeconds = job.timeoutSeconds
    operation.stopSignal = job.stopSignal
    operation.maximumParallel = operation.elements == nil ? nil : job.maximumParallel
    if let code = job.successCode, code != 0 {
      if 1...255 ~= code, node.before == nil, node.after == nil {
        operation.successCodes = [code]
      } else {
        session.lost(node.place, "success_exit_code \(code) is not looked at")
      }
    }
  }
}
