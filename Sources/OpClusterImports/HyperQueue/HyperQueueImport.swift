// `opbatch import hq`: a job definition file of HyperQueue becomes a graph.

import OpClusterModel

package struct HyperQueueImport {
  /// Where the command is: HQ_SUBMIT_DIR.
  package var folder: String
  package var inherited: [String] = []

  package init(folder: String) { self.folder = folder }

  /// Reads a file such as `job.toml`.
  package func read(_ file: String, _ files: SourceFiles) -> ImportResult {
    ImportSession.run(files) { (session) throws(ImportStop) -> ImportedGraph in
      let place = SourcePlace(path(file, in: folder), 0)
      guard let lines = try session.lines(of: place.file, for: place) else {
        throw session.stop(place, "there is no such file")
      }
      let job = try TomlReader.read(lines, place.file, session)
      var builder = HyperQueueBuilder(session: session, file: place.file, folder: folder)
      builder.graph.inherited = inherited
      try builder.build(job)
      session.note(
        place, "commands do not see the environment of a worker; name variables with --inherit")
      return builder.graph
    }
  }
}

struct HyperQueueBuilder {
  let session: ImportSession
  let file: String
  let folder: String
  var graph: ImportedGraph
  private var names = OperationNames()

  init(session: ImportSession, file: String, folder: String) {
    self.session = session
    self.file = file
    self.folder = folder
    graph = ImportedGraph(
      name: stem(of: file), origin: "From \(file).", workingFolder: folder)
  }

  private func place(_ line: Int) -> SourcePlace { SourcePlace(file, line) }

  mutating func build(_ job: TomlTable) throws(ImportStop) {
    let fields = TomlFields(table: job, file: file, line: 0, session: session)
    try fields.allow(["name", "max_fails", "task", "array", "stream", "data_layer"])
    if let name = try fields.text("name"), !name.isEmpty { graph.name = name }
    if let most = try fields.integer("max_fails") {
      // HyperQueue cancels the rest when more have failed.
      graph.onFailure = "cancel"
      graph.maximumFailures = min(max(most, 0), Limits.operationsPerGraph)
    }
    if let line = job.entries["stream"]?.line {
      session.lost(place(line), "stream: logs are where 'opbatch logs' finds them")
    }
    if try fields.boolean("data_layer") == true {
      throw session.stop(
        place(job.entries["data_layer"]?.line ?? 0), "data_layer: data objects are not read")
    }
    let tasks = try fields.tables("task")
    if let array = try fields.table("array") {
      guard tasks.isEmpty else {
        throw session.stop(place(array.line), "an array and tasks cannot be in one job")
      }
      try addArray(array)
      return
    }
    guard !tasks.isEmpty else { throw session.stop(place(0), "no tasks are defined") }
    try addTasks(tasks)
  }

  private mutating func addTasks(_ tasks: [TomlFields]) throws(ImportStop) {
    var ids: [Int?] = []
    var next = 0
    for task in tasks {
      let id = try task.integer("id")
      if let id {
        guard 0...Int(UInt32.max) ~= id else {
          throw session.stop(place(task.line), "an id is a number from 0 on")
        }
        next = max(next, id + 1)
      }
      ids.append(id)
    }
    var operations: [Int: String] = [:]
    var resolved: [Int] = []
    for (at, id) in ids.enumerated() {
      let number = id ?? next
      if id == nil { next += 1 }
      resolved.append(number)
      let name = names.claim("task-\(number)")
      guard operations.updateValue(name, forKey: number) == nil else {
        throw session.stop(place(tasks[at].line), "the id \(number) is there twice")
      }
    }
    try checkCircles(tasks, resolved)
    for (at, task) in tasks.enumerated() {
      try session.spend(operations: 1, place(task.line))
      try task.allow(HyperQueueTask.keys + ["id", "deps"])
      var values = HyperQueueTask.Values(folder: folder, task: "\(resolved[at])")
      values.entry = nil
      var operation = try HyperQueueTask(fields: task, values: values, session: session)
        .operation(operations[resolved[at]] ?? "")
      for dependency in try task.integers("deps") {
        guard let name = operations[dependency] else {
          throw session.stop(place(task.line), "deps names \(dependency), which is no task")
        }
        try session.spend(edges: 1, place(task.line))
        let need = ImportedOperation.Need(name: name)
        if !operation.needs.contains(need) { operation.needs.append(need) }
      }
      graph.operations.append(operation)
    }
  }

  private func checkCircles(_ tasks: [TomlFields], _ ids: [Int]) throws(ImportStop) {
    let positions = Dictionary(
      ids.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
    var needs: [[Int]] = []
    for task in tasks { needs.append(try task.integers("deps").compactMap { positions[$0] }) }
    if let at = OrderOfNeeds(needs).circle {
      throw session.stop(place(tasks[at].line), "the task \(ids[at]) waits for itself, in a circle")
    }
  }

  private mutating func addArray(_ array: TomlFields) throws(ImportStop) {
    try array.allow(HyperQueueTask.keys + ["ids", "entries"])
    let entries = try array.texts("entries")
    var ids: [Int]?
    if let text = try array.text("ids") {
      ids = try Self.numbers(text, session, place(array.line))
    }
    if let ids, !entries.isEmpty, ids.count != entries.count {
      throw session.stop(place(array.line), "'ids' and 'entries' are not equally many")
    }
    guard ids != nil || !entries.isEmpty else {
      throw session.stop(place(array.line), "an array needs 'ids' or 'entries'")
    }
    try session.spend(operations: 1, place(array.line))
    let index = RuntimeValue.index.code
    if entries.isEmpty, let ids {
      let values = HyperQueueTask.Values(folder: folder, task: index)
      var operation = try HyperQueueTask(fields: array, values: values, session: session)
        .operation(names.claim("task"))
      operation.elements = .numbers(ids)
      graph.operations.append(operation)
      return
    }
    let isCounted = ids.map { $0.enumerated().allSatisfy { $0.element == $0.offset + 1 } } ?? true
    guard !isCounted else {
      var values = HyperQueueTask.Values(
        folder: folder, task: ids == nil ? RuntimeValue.position.code : index)
      values.entry = RuntimeValue.item.code
      var operation = try HyperQueueTask(fields: array, values: values, session: session)
        .operation(names.claim("task"))
      operation.elements = .items(entries)
      graph.operations.append(operation)
      return
    }
    for (id, entry) in zip(ids ?? [], entries) {
      try session.spend(operations: 1, place(array.line))
      var values = HyperQueueTask.Values(folder: folder, task: "\(id)")
      values.entry = entry
      graph.operations.append(
        try HyperQueueTask(fields: array, values: values, session: session)
          .operation(names.claim("task-\(id)")))
    }
  }

  /// `1,2,50-100` and `0-100:20`.
  private static func numbers(
    _ text: String, _ session: ImportSession, _ place: SourcePlace
  ) throws(ImportStop) -> [Int] {
    var numbers: [Int] = []
    for part in text.utf8.split(separator: UInt8(ascii: ",")).map({ Substring($0).trimmed }) {
      let stepped = part.utf8.split(separator: UInt8(ascii: ":")).map { Substring($0) }
      let ends = (stepped.first ?? "").utf8.split(separator: UInt8(ascii: "-")).map {
        UInt32(Substring($0).replacing("_", with: ""))
      }
      let step = stepped.count == 2 ? UInt32(stepped[1]) : 1
      guard (1...2).contains(stepped.count), (1...2).contains(ends.count), let first = ends[0],
        let last = ends[ends.count - 1], first <= last, let step, step > 0
      else { throw session.stop(place, "ids: '\(part)' is no range") }
      guard (last - first) / step < UInt32(Limits.importOperations) else {
        throw session.stop(place, "more than \(Limits.importOperations) ids")
      }
      numbers += stride(from: Int(first), through: Int(last), by: Int(step))
      guard numbers.count <= Limits.importOperations else {
        throw session.stop(place, "more than \(Limits.importOperations) ids")
      }
    }
    guard !numbers.isEmpty, Set(numbers).count == numbers.count else {
      throw session.stop(place, "ids: none, or one twice")
    }
    return numbers
  }
}
