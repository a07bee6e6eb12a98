// Decodes one operation: its work, its needs, its elements. Called by the graph decoder and, for
// members of groups, by the group decoder.
// The result is a declaration: names of needs are not looked up here, and values are not put in.

import OpClusterModel

/// One per list of operations, since all of a list share defaults, prefix and place in the graph.
struct OperationDecoder {
  let findings: Findings
  /// Settings that were decoded outside: `defaults`, or those of the group.
  let defaults: DeclaredSettings
  /// From the list of `finally`: spared by the failure policy of the graph.
  let isFinal: Bool
  /// The prefix of member names in a group, such as `build.`; empty outside of groups.
  var prefix = ""

  /// Decodes one operation, or the members of a group and the group's join point after them.
  func decode(_ entry: ManifestNode.Entry) -> DecodedOperations {
    let fullName = prefix + entry.key
    // Both must be valid: the key alone, as siblings use it, and the full name, which may be too
    // long.
    guard Names.isName(entry.key), Names.isName(fullName) else {
      findings.error(
        "'\(fullName)' cannot name an operation", entry.place, hint: Findings.nameHint)
      return DecodedOperations()
    }
    let name = "operation '\(entry.key)'"
    guard let fields = Fields(entry.value, ManifestKeys.operation, name: name, findings) else {
      return DecodedOperations()
    }
    // A group has its own meaning of most keys, so it is decoded elsewhere.
    if fields["group"] != nil, checkKind(fields, name, entry.place) {
      return GroupDecoder(findings: findings, outer: self)
        .decode(fields, name: fullName, entry.place)
    }
    let operation = operation(fields, name, named: fullName, entry.place)
    return DecodedOperations(operations: [operation])
  }

  /// Goes on after a finding with work that does nothing, so that mistakes in other keys are found
  /// as well.
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
    // Last, since some keys are meaningless for one kind of work only.
    checkMeaning(fields, operation)
    return operation
  }

  /// Checks that an operation has exactly one kind.
  /// An operation without any is a mistake, not a joint: that is written as `barrier: true`.
  private func checkKind(_ fields: Fields, _ name: String, _ place: Place) -> Bool {
    let kinds = ManifestKeys.kinds.filter { fields[$0] != nil }
    if kinds.count == 1 { return true }
    // Its misspelt kind is reported: that it does nothing as well would hide that.
    if kinds.isEmpty, ManifestKeys.kinds.contains(where: fields.probablyMeans) { return false }
    let all = kinds.map { "'\($0)'" }.joined(separator: " and ")
    findings.error(
      kinds.isEmpty ? "\(name) does nothing" : "\(name) has \(all)", place,
      hint: "exactly one of " + ManifestKeys.kinds.joined(separator: ", "))
    return false
  }

  /// The order of the kinds does not matter: `checkKind` has shown that only one is there.
  private func work(_ fields: Fields, _ name: String, _ place: Place) -> DeclaredWork? {
    guard checkKind(fields, name, place) else { return nil }
    let decoder = WorkDecoder(findings: findings)
    if let node = fields.node("run") { return decoder.run(node, "'run'") }
    if let node = fields.node("call") { return decoder.call(node).map { .call($0) } }
    if let node = fields.node("python") { return decoder.python(node).map { .call($0) } }
    if let node = fields.node("blocks") { return decoder.blocks(node) }
    // `barrier: false` would be an operation without any kind.
    if let node = fields.node("barrier"), fields.bool("barrier") == false {
      findings.error("'barrier' can only be true", node.place)
    }
    return .nothing
  }

  /// Either an array or a matrix; with both, the finding is reported and the array is used.
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

  /// Keys of an operation alone, which `defaults` cannot have.
  private func decodeRest(_ fields: Fields, _ operation: inout OperationDeclaration) {
    // Read for its form; people find it in the manifest, and nobody else does.
    if fields["description"] != nil { _ = fields.text("description") }
    fields.refuse("needs_any", hint: "'needs' waits for all")
    fields.refuse("if")
    if let node = fields.node("outputs") { decodeOutputs(node, &operation) }
    if let node = fields.node("inputs") {
      operation.ownFiles = namedFiles(
        node, "'inputs'", "reads: reads.fq", most: Limits.inputFilesPerOperation)
    }
    // `true` allows every failure, a list those exit codes, `false` none.
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

  /// A list names values; a mapping has values, and files with their paths.
  private func decodeOutputs(_ node: ManifestNode, _ operation: inout OperationDeclaration) {
    guard case .mapping = node.value else {
      return decodeOutputValues(findings.list(node, "'outputs'") ?? [], &operation)
    }
    guard let fields = Fields(node, ManifestKeys.outputs, findings) else { return }
    decodeOutputValues(fields.list("values") ?? [], &operation)
    guard let files = fields.node("files") else { return }
    operation.outputFiles = namedFiles(
      files, "'files' of outputs", "bam: out.bam", most: Limits.outputFilesPerOperation)
  }

  /// A mapping of names to paths.
  private func namedFiles(
    _ node: ManifestNode, _ what: String, _ example: String, most: Int
  ) -> [DeclaredFile] {
    guard case .mapping(let entries) = node.value else {
      findings.error(
        "\(what) is a mapping of names to paths", node.place, hint: "such as: {\(example)}")
      return []
    }
    if entries.count > most {
      findings.error(
        "\(what) has more than \(most) names", node.place,
        hint: "name a folder or a pattern instead")
    }
    return entries.compactMap { entry in
      guard Names.isName(entry.key) else {
        findings.error(
          "'\(entry.key)' cannot name a file", entry.place, hint: Findings.nameHint)
        return nil
      }
      return DeclaredFile(name: entry.key, path: entry.value)
    }
  }

  private func decodeOutputValues(
    _ nodes: [ManifestNode], _ operation: inout OperationDeclaration
  ) {
    for node in nodes {
      if let name = findings.name(node, "an output") { operation.outputs.append(name) }
    }
  }

  /// Checks the form of `files`. The operation runs in any case: its files are not compared yet.
  /// Keeps a manifest for other releases usable; a wrong form is an error all the same.
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
  /// A setting without effect is an error rather than a warning: somebody expects something of it.
  private func checkMeaning(_ fields: Fields, _ operation: OperationDeclaration) {
    switch operation.work {
    case .nothing:
      if fields["barrier"] != nil { forbid(ManifestKeys.runningOnly, fields, "a barrier") }
    case .call:
      forbid(ManifestKeys.commandOnly, fields, "a call")
      // `cancel` itself has a meaning for a call, its grace; only the signal has none.
      if let node = fields.node("cancel"), case .mapping(let entries) = node.value,
        let signal = entries.first(where: { $0.key == "signal" })
      {
        findings.error(
          "'signal' has no meaning for a call", signal.place,
          hint: "it is asked by its flag; 'grace' is how long it may take")
      }
    case .blocks:
      forbid(["stdout", "stderr"], fields, "blocks", hint: "redirect in each block")
      forbid(
        ["inputs"], fields, "blocks", hint: "commands and calls alone read files of the submitter")
      forbid(["outputs"], fields, "blocks", hint: "what each block leaves is kept by its position")
    case .run: break
    }
  }

  /// Findings stand at the key that is of no use.
  ///
  /// - Parameter kind: The kind of work, with its article.
  private func forbid(_ keys: [String], _ fields: Fields, _ kind: String, hint: String = "") {
    for key in keys {
      if let entry = fields[key] {
        findings.error("'\(key)' has no meaning for \(kind)", entry.place, hint: hint)
      }
    }
  }
}

/// The operations that one entry of `operations` becomes.
/// One for a plain operation; several for a group.
struct DecodedOperations {
  var operations: [OperationDeclaration] = []
  /// The queues of groups with `max_concurrent`.
  var queues: [QueueSettings] = []

  mutating func append(_ more: DecodedOperations) {
    operations += more.operations
    queues += more.queues
  }
}
