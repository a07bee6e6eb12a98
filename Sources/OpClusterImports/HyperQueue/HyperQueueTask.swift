// A task of HyperQueue as an operation: its command, its streams, and what it asks for.

import OpClusterModel

struct HyperQueueTask {
  /// What a task or an array may say.
  static let keys = [
    "command", "env", "request", "stdout", "stderr", "cwd", "pin", "task_dir", "time_limit",
    "priority", "crash_limit", "stdin",
  ]

  struct Values {
    var folder: String
    /// The task's number; of an array a value that is known when it runs.
    var task: String
    var entry: String?
  }

  let fields: TomlFields
  let values: Values
  let session: ImportSession

  func operation(_ name: String) throws(ImportStop) -> ImportedOperation {
    let words = try fields.texts("command")
    guard !words.isEmpty else {
      throw session.stop(fields.place("command"), "a task needs a 'command'")
    }
    for word in words { try session.spend(text: word.utf8.count, fields.place("command")) }
    var operation = ImportedOperation(name: name, work: .words(words))
    operation.workingFolder = path(
      filled(try fields.text("cwd") ?? "%{SUBMIT_DIR}", "cwd", in: values.folder),
      in: values.folder)
    if operation.workingFolder?.utf8.contains(0) == true {
      throw session.stop(
        fields.place("cwd"), "cwd: a folder for each task is not known before it runs")
    }
    let folder = operation.workingFolder ?? values.folder
    operation.environment = try environment()
    operation.outputFile = try stream("stdout", folder)
    operation.errorFile = try stream("stderr", folder)
    operation.inputText = try fields.text("stdin")
    try limits(&operation)
    try requests(&operation)
    wrap(&operation, words, folder)
    return operation
  }

  private func environment() throws(ImportStop) -> [String: String] {
    var environment = ["HQ_SUBMIT_DIR": values.folder]
    if !values.task.needsShell { environment["HQ_TASK_ID"] = values.task }
    if let entry = values.entry { environment["HQ_ENTRY"] = entry }
    guard let given = try fields.table("env") else { return environment }
    for key in given.table.order {
      guard isVariableName(key) else {
        throw session.stop(given.place(key), "'\(key)' is no name of a variable")
      }
      environment[key] = try given.text(key)
    }
    return environment
  }

  /// What HyperQueue puts into paths.
  private func filled(_ text: String, _ key: String, in folder: String) -> String {
    var result = text
    let meanings = [
      "TASK_ID": values.task, "JOB_ID": RuntimeValue.graph.code,
      "INSTANCE_ID": RuntimeValue.retry.code, "SUBMIT_DIR": values.folder, "CWD": folder,
    ]
    for (name, value) in meanings.sorted(by: { $0.key < $1.key }) {
      result = result.replacing("%{\(name)}", with: value)
    }
    if result.contains("%{") {
      session.lost(fields.place(key), "\(key): '\(text)' has a placeholder that is not known")
    }
    return result
  }

  private func stream(_ key: String, _ folder: String) throws(ImportStop) -> String? {
    guard let node = fields.table.entries[key] else { return nil }
    let name: String?
    switch node.value {
    case .text(let text): name = text
    case .table:
      guard let form = try fields.table(key) else { return nil }
      try form.allow(["path", "on_close", "mode"])
      name = try form.text("path")
      let closing = try form.text("on_close")
      let mode = try form.text("mode")
      if let mode = closing ?? mode, mode != "none" {
        session.lost(fields.place(key), "\(key): '\(mode)' is not done, the file stays")
      }
    default: throw session.stop(fields.place(key), "'\(key)' is no path")
    }
    guard let name, !name.isEmpty else { return nil }
    return name == "none" ? "/dev/null" : path(filled(name, key, in: folder), in: folder)
  }

  private func limits(_ operation: inout ImportedOperation) throws(ImportStop) {
    if let text = try fields.text("time_limit") {
      guard let seconds = Self.seconds(text) else {
        throw session.stop(fields.place("time_limit"), "time_limit: '\(text)' is no time")
      }
      operation.timeoutSeconds = seconds
    }
    operation.priority = try fields.integer("priority").map { min(max($0, -1000), 1000) }
    if let pin = try fields.text("pin"), pin != "none" {
      session.lost(fields.place("pin"), "pin: commands are not bound to processors")
    }
    switch fields.table.entries["crash_limit"]?.value {
    case nil: break
    case .integer(let number)?:
      if 1...100 ~= number {
        operation.maximumLosses = number
      } else {
        session.lost(fields.place("crash_limit"), "crash_limit: \(number) is not from 1 to 100")
      }
    case .text("never-restart")?: operation.restartsWhenLost = false
    default:
      session.lost(fields.place("crash_limit"), "crash_limit: only a number or 'never-restart'")
    }
  }

  private func requests(_ operation: inout ImportedOperation) throws(ImportStop) {
    let requests = try fields.tables("request")
    if requests.count > 1 {
      session.lost(
        fields.place("request"), "alternative requests: only the first one is asked for")
    }
    guard let request = requests.first else { return }
    try request.allow(["n_nodes", "time_request", "resources", "weight"])
    if let nodes = try request.integer("n_nodes"), nodes > 0 {
      throw session.stop(request.place("n_nodes"), "n_nodes: an operation runs on one worker")
    }
    for key in ["time_request", "weight"] where request.table.entries[key] != nil {
      session.lost(request.place(key), "\(key): what a worker will have left is not known")
    }
    guard let resources = try request.table("resources") else { return }
    for name in resources.table.order {
      guard let amount = Self.amount(resources.table.entries[name]?.value) else {
        session.lost(resources.place(name), "\(name): only an amount can be asked for")
        continue
      }
      switch name {
      case "cpus": operation.cpus = amount
      case "gpus", "gpus/nvidia", "gpus/amd": operation.gpus = (operation.gpus ?? 0) + amount
      // HyperQueue counts it in MiB.
      case "mem": operation.memoryBytes = Int(saturating: amount * 0x1p20)
      default: operation.resources[OperationNames.valid(name)] = amount
      }
    }
  }

  /// `4`, `1.5`, or a text such as `4 compact!`, whose strategy means nothing here.
  private static func amount(_ value: TomlValue?) -> Double? {
    let number: Double?
    switch value {
    case .integer(let integer): number = Double(integer)
    case .number(let double): number = double
    case .text(let text): number = text.words.first.flatMap { Double($0) }
    default: number = nil
    }
    return number.flatMap { $0.isFinite && 0...1e9 ~= $0 ? $0 : nil }
  }

  /// `1h 30m`, `10s` or `01:30:00`; nil for anything else.
  static func seconds(_ text: String) -> Double? {
    let parts = text.utf8.split(separator: UInt8(ascii: ":")).map { Int(Substring($0)) }
    if parts.count == 3, let hours = parts[0], let minutes = parts[1], let seconds = parts[2],
      [hours, minutes, seconds].allSatisfy({ 0...1_000_000 ~= $0 })
    {
      return Double(hours * 3600 + minutes * 60 + seconds)
    }
    let units: [String: Double] = [
      "ms": 0.001, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60,
      "mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600,
      "hours": 3600, "d": 86_400, "day": 86_400, "days": 86_400, "w": 604_800, "week": 604_800,
      "weeks": 604_800,
    ]
    var reader = ByteReader(text)
    var total = 0.0
    reader.skipBlanks()
    guard !reader.isAtEnd else { return nil }
    while !reader.isAtEnd {
      let digits = reader.text { isDigit($0) }
      reader.skipBlanks()
      let unit = reader.text { isLetter($0) }
      guard let number = Double(digits), let factor = units[unit] else { return nil }
      total += number * factor
      reader.skipBlanks()
    }
    return total.isFinite && total <= 3e9 ? total : nil
  }

  /// Leaves to a shell what only the running operation knows: its number in paths, and folders that
  /// HyperQueue makes for streams.
  private func wrap(
    _ operation: inout ImportedOperation, _ words: [String], _ folder: String
  ) {
    var lines: [String] = []
    let streams = [operation.outputFile, operation.errorFile].compactMap { $0 }
    let folders = Set(streams.filter { $0 != "/dev/null" }.map { OpClusterImports.folder(of: $0) })
    for name in folders.subtracting([folder, values.folder]).sorted() {
      lines.append("mkdir -p \(name.shellWord)")
    }
    if values.task.needsShell {
      lines.append("export HQ_TASK_ID=\(values.task.shellWord)")
    }
    if (try? fields.boolean("task_dir")) == true {
      lines.append("export HQ_TASK_DIR=\"$OP_SCRATCH\"")
    }
    if words.contains(where: { $0.contains("HQ_JOB_ID") }) {
      lines.append("export HQ_JOB_ID=\"$OP_GRAPH\"")
    }
    if words.contains(where: { $0.contains("HQ_INSTANCE_ID") }) {
      lines.append("export HQ_INSTANCE_ID=\(RuntimeValue.retry.code.shellWord)")
    }
    guard !lines.isEmpty || streams.contains(where: \.needsShell) else { return }
    var command = "exec " + words.map(\.shellWord).joined(separator: " ")
    if let output = operation.outputFile { command += " > \(output.shellWord)" }
    if let error = operation.errorFile { command += " 2> \(error.shellWord)" }
    (operation.outputFile, operation.errorFile) = (nil, nil)
    operation.work = .shell((lines + [command]).joined(separator: "\n"))
  }
}
