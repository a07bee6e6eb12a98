// Reads one operation: what it runs, what it needs, its elements. Called by the graph decoder.

import OpClusterModel

struct OperationDecoder {
  let findings: Findings
  let defaults: DeclaredSettings

  func decode(_ entry: ManifestNode.Entry, isFinal: Bool) -> OperationDeclaration? {
    guard Names.isName(entry.key) else {
      findings.error(
        "'\(entry.key)' cannot name an operation", entry.place, hint: Findings.nameHint)
      return nil
    }
    let name = "operation '\(entry.key)'"
    guard let fields = Fields(entry.value, ManifestKeys.operation, name: name, findings) else {
      return nil
    }
    var operation = OperationDeclaration(
      name: entry.key, place: entry.place, isFinal: isFinal, settings: defaults)
    operation.work = work(fields, name, entry.place) ?? .nothing
    operation.settings = SettingsDecoder(fields: fields).decode(onto: defaults)
    operation.needs = fields.node("needs").map { NeedsDecoder(findings: findings).decode($0) } ?? []
    decodeElements(fields, &operation)
    decodeRest(fields, &operation)
    checkMeaning(fields, operation, name)
    return operation
  }

  private func work(_ fields: Fields, _ name: String, _ place: Place) -> DeclaredWork? {
    fields.refuse("blocks", hint: "write an operation for each command")
    fields.refuse("group", hint: "write its operations beside the others")
    let kinds = ["run", "call", "blocks", "group", "barrier"].filter { fields[$0] != nil }
    guard kinds.count == 1 else {
      let all = kinds.map { "'\($0)'" }.joined(separator: " and ")
      findings.error(
        kinds.isEmpty ? "\(name) does nothing" : "\(name) has \(all)", place,
        hint: "exactly one of run, call, barrier")
      return nil
    }
    switch kinds[0] {
    case "run": return fields.node("run").flatMap(run)
    case "call": return fields.node("call").flatMap(call)
    case "barrier":
      if let node = fields.node("barrier"), fields.bool("barrier") == false {
        findings.error("'barrier' can only be true", node.place)
      }
      return .nothing
    default: return nil
    }
  }

  private func run(_ node: ManifestNode) -> DeclaredWork? {
    switch node.value {
    case .scalar(let text, _):
      if node.isNull || text.trimmed.isEmpty { findings.error("'run' is empty", node.place) }
    case .sequence(let items):
      if items.isEmpty { findings.error("'run' is empty", node.place) }
    case .mapping:
      findings.error("'run' must be a text or a list, not a mapping", node.place)
      return nil
    }
    return .run(node)
  }

  private func call(_ node: ManifestNode) -> DeclaredWork? {
    guard let fields = Fields(node, ManifestKeys.call, findings) else { return nil }
    guard let type = fields.text("type") else {
      if fields["type"] == nil { findings.error("'call' needs 'type'", node.place) }
      return nil
    }
    if !Names.isName(type), let node = fields.node("type") {
      findings.error("'\(type)' cannot name an operation type", node.place)
    }
    return .call(OperationType(name: type), input: fields.node("input"))
  }

  private func decodeElements(_ fields: Fields, _ operation: inout OperationDeclaration) {
    if let array = fields["array"], fields["matrix"] != nil {
      findings.error("an operation has either 'array' or 'matrix'", array.place)
    }
    let (columns, parallel): (ElementColumns?, UInt32)
    if let node = fields.node("array") {
      (columns, parallel) = ArrayDecoder(findings: findings).decode(node)
    } else if let node = fields.node("matrix") {
      (columns, parallel) = MatrixDecoder(findings: findings).decode(node)
    } else {
      return
    }
    // After an error an empty range stands for it, so that `item` is not unknown as well.
    operation.elements = columns ?? ElementColumns(keys: ["item"], isMatrix: false)
    operation.maximumParallel = parallel
  }

  private func decodeRest(_ fields: Fields, _ operation: inout OperationDeclaration) {
    if fields["description"] != nil { _ = fields.text("description") }
    fields.refuse("needs_any", hint: "'needs' waits for all")
    fields.refuse("if")
    for node in fields.list("outputs") ?? [] {
      if let name = findings.name(node, "an output") { operation.outputs.append(name) }
    }
    if let node = fields.node("allow_failure") {
      if case .sequence(let items) = node.value {
        let codes = items.compactMap { findings.integer($0, "an exit code", 0...255) }
        operation.allowedFailures = .exitStatuses(codes.map { Int32($0) })
      } else if let all = findings.bool(node, "'allow_failure'") {
        operation.allowedFailures = all ? .all : .none
      }
    }
    if let node = fields.node("files") { decodeFiles(node) }
  }

  /// What an operation reads and writes is not looked at yet; it runs in any case.
  private func decodeFiles(_ node: ManifestNode) {
    guard let files = Fields(node, ManifestKeys.files, findings) else { return }
    for key in ["in", "out"] {
      for item in files.list(key) ?? [] { _ = findings.text(item, "a file") }
    }
    let skips = files.bool("skip_if_current") == true
    let stages = [("shared", false), ("copy", true)]
    if files.choice("stage", stages) == true { files.refuse("stage") }
    let meaning = skips ? "the operation always runs" : "nothing is checked"
    findings.warning("'files' is not supported yet: \(meaning)", node.place)
  }

  /// A setting that cannot take effect on this kind of operation is a mistake.
  private func checkMeaning(
    _ fields: Fields, _ operation: OperationDeclaration, _ name: String
  ) {
    var without: [String] = []
    var kind = ""
    switch operation.work {
    case .nothing where fields["barrier"] != nil:
      (without, kind) = (ManifestKeys.runningOnly, "a barrier")
    case .call:
      (without, kind) = (ManifestKeys.commandOnly, "a call")
      if operation.settings.timeout != nil, fields["timeout"] == nil {
        findings.warning("the default 'timeout' does not reach the call of \(name)", fields.place)
      }
    case .nothing, .run: break
    }
    for key in without {
      if let entry = fields[key] {
        findings.error("'\(key)' has no meaning for \(kind)", entry.place)
      }
    }
  }
}
