// Decodes one operation: its work, its needs, its elements. Called by the graph decoder and, for
// members of groups, by the group decoder.

import OpClusterModel

struct OperationDecoder {
  let findings: Findings
  let defaults: DeclaredSettings
  let isFinal: Bool
  /// The prefix of member names in a group, such as `build.`; empty outside of groups.
  var prefix = ""

  /// Decodes one operation, or the members of a group and the group's join point after them.
  func decode(_ entry: ManifestNode.Entry) -> DecodedOperations {
    let fullName = prefix + entry.key
    guard Names.isName(entry.key), Names.isName(fullName) else {
      findings.error(
        "'\(fullName)' cannot name an operation", entry.place, hint: Findings.nameHint)
      return DecodedOperations()
    }
    let name = "operation '\(entry.key)'"
    guard let fields = Fields(entry.value, ManifestKeys.operation, name: name, findings) else {
      return DecodedOperations()
    }
    if fields["group"] != nil, checkKind(fields, name, entry.place) {
      return GroupDecoder(findings: findings, outer: self)
        .decode(fields, name: fullName, entry.place)
    }
    let operation = operation(fields, name, named: fullName, entry.place)
    return DecodedOperations(operations: [operation])
  }

  private func operation(
    _ fields: Fields, _ name: String, named fullName: String, _ place: Place
  ) -> OperationDeclaration {
    var operation = OperationDeclaration(
      name: fullName, place: place, isFinal: isFinal, settings: defaults)
    operation.work = work(fields, name, place) ?? .nothing
    operation.settings = SettingsDecoder(fields: fields).decode(onto: defaults)
    operation.needs = fields.node("needs").map { NeedsDecoder(findings: findings).decode($0) } ?? []
    decodeElements(fields, &operation)
    decodeRest(fields, &operation)
    checkMeaning(fields, operation)
    return operation
  }

  /// Checks that an operation has exactly one kind.
  private func checkKind(_ fields: Fields, _ name: String, _ place: Place) -> Bool {
    let kinds = ManifestKeys.kinds.filter { fields[$0] != nil }
    if kinds.count == 1 { return true }
    let all = kinds.map { "'\($0)'" }.joined(separator: " and ")
    findings.error(
      kinds.isEmpty ? "\(name) does nothing" : "\(name) has \(all)", place,
      hint: "exactly one of " + ManifestKeys.kinds.joined(separator: ", "))
    return false
  }

  private func work(_ fields: Fields, _ name: String, _ place: Place) -> DeclaredWork? {
    guard checkKind(fields, name, place) else { return nil }
    let decoder = WorkDecoder(findings: findings)
    if let node = fields.node("run") { return decoder.run(node, "'run'") }
    if let node = fields.node("call") { return decoder.call(node).map { .call($0) } }
    if let node = fields.node("blocks") { return decoder.blocks(node) }
    if let node = fields.node("barrier"), fields.bool("barrier") == false {
      findings.error("'barrier' can only be true", node.place)
    }
    return .nothing
  }

  private func decodeElements(_ fields: Fields, _ operation: inout OperationDeclaration) {
    if let array = fields["array"], fields["matrix"] != nil {
      findings.error("an operation has either 'array' or 'matrix'", array.place)
    }
    let decoded: DecodedElements
    if let node = fields.node("array") {
      decoded = ArrayDecoder(findings: findings).decode(node)
    } else if let node = fields.node("matrix") {
      decoded = MatrixDecoder(findings: findings).decode(node)
    } else {
      return
    }
    // After an error an empty range stands in, so that `item` is not reported as unknown, too.
    operation.elements = decoded.columns ?? ElementColumns(keys: ["item"], isMatrix: false)
    operation.maximumParallel = decoded.parallel
    operation.maximumFailures = decoded.failures
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

  /// Checks the form of `files`. The operation runs in any case: its files are not compared yet.
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

  /// Reports settings that have no effect on this kind of operation.
  private func checkMeaning(_ fields: Fields, _ operation: OperationDeclaration) {
    switch operation.work {
    case .nothing:
      if fields["barrier"] != nil { forbid(ManifestKeys.runningOnly, fields, "a barrier") }
    case .call:
      forbid(ManifestKeys.commandOnly, fields, "a call")
      if let node = fields.node("cancel"), case .mapping(let entries) = node.value,
        let signal = entries.first(where: { $0.key == "signal" })
      {
        findings.error(
          "'signal' has no meaning for a call", signal.place,
          hint: "it is asked by its flag; 'grace' is how long it may take")
      }
    case .blocks:
      forbid(["stdout", "stderr"], fields, "blocks", hint: "redirect in each block")
      forbid(["outputs"], fields, "blocks", hint: "what each block leaves is kept by its position")
    case .run: break
    }
  }

  private func forbid(_ keys: [String], _ fields: Fields, _ kind: String, hint: String = "") {
    for key in keys {
      if let entry = fields[key] {
        findings.error("'\(key)' has no meaning for \(kind)", entry.place, hint: hint)
      }
    }
  }
}

/// The operations that one entry of `operations` becomes.
struct DecodedOperations {
  var operations: [OperationDeclaration] = []
  /// The queues of groups with `max_concurrent`.
  var queues: [QueueSettings] = []

  mutating func append(_ more: DecodedOperations) {
    operations += more.operations
    queues += more.queues
  }
}
