// Decodes the process settings of a command: environment, folder, shell, streams. Part of the
// settings decoder.
// Texts stay nodes here: values are put in by the lowering, which knows the operation's elements
// and needs.

import OpClusterModel

extension SettingsDecoder {
  /// `env_file` comes first, so that what `env` writes down wins. The exit codes that mean success
  /// replace those of `defaults` as a whole.
  func decodeProcess(_ settings: inout DeclaredSettings) {
    let findings = fields.findings
    if let node = fields.node("env_file") {
      SecretDecoder(findings: findings).files(node, onto: &settings.environment)
    }
    if let node = fields.node("env") {
      Self.environment(node, findings, onto: &settings.environment)
    }
    if let folder = fields.text("workdir") { settings.workingDirectory = folder }
    if let node = fields.node("shell") { decodeShell(node, &settings) }
    guard let node = fields.node("ok_exit_codes"),
      let items = findings.list(node, "'ok_exit_codes'")
    else { return }
    let codes = items.compactMap { findings.integer($0, "an exit code", 0...255) }
    settings.successStatuses = codes.map { UInt8($0) }
  }

  /// Decodes `shell`: a name, a name with its strictness, or the words before the text.
  /// Remembers that a shell was chosen, since the warning about pipes is for those who did not.
  private func decodeShell(_ node: ManifestNode, _ settings: inout DeclaredSettings) {
    let findings = fields.findings
    settings.choosesShell = true
    switch node.value {
    case .sequence(let items):
      let words = items.compactMap { findings.text($0, "a word of 'shell'") }
      if items.isEmpty { findings.error("'shell' needs a program", node.place) }
      if !words.isEmpty { settings.interpreter = words }
    case .mapping:
      // Strictness is the default of the long form as well: leaving it out changes nothing.
      guard let shell = Fields(node, ManifestKeys.shell, findings) else { return }
      let isStrict = shell.bool("strict") ?? true
      guard shell["name"] != nil else {
        return findings.error("'shell' needs 'name'", node.place, hint: "sh or bash")
      }
      // `none` has no strictness, so the long form does not take it.
      guard let known = shell.choice("name", Array(Self.shells.dropLast())) else { return }
      settings.interpreter = isStrict ? known.strict : known.lenient
    default:
      guard let known = findings.choice(node, "'shell'", Self.shells) else { return }
      settings.interpreter = known.strict
    }
  }

  /// Command lines of the known shells. In strict mode the shell ends at the first failing command;
  /// bash also ends if a part of a pipe fails or a variable is not set. `sh` cannot check all parts
  /// of a pipe.
  /// `standardShell` is the strict `sh`; nil means no shell.
  private static let shells: [(String, (strict: [String]?, lenient: [String]?))] = [
    ("sh", (CommandSpecification.standardShell, ["/bin/sh", "-c"])),
    ("bash", (["/bin/bash", "-eu", "-o", "pipefail", "-c"], ["/bin/bash", "-c"])),
    ("none", (nil, nil)),
  ]

  /// Merges variables key by key onto those of `defaults`. Also used for the graph's own `env`.
  static func environment(
    _ node: ManifestNode, _ findings: Findings,
    onto variables: inout [DeclaredVariable]
  ) {
    guard let fields = Fields(node, ManifestKeys.environment, findings) else { return }
    // Inherited variables come first, so that written ones override them.
    if let entry = fields[InheritedVariables.key] {
      InheritedVariables(findings: findings).decode(entry, onto: &variables)
    }
    for entry in fields.chosen {
      guard Names.isVariableName(entry.key) else {
        findings.error(
          "'\(entry.key)' cannot name a variable", entry.place,
          hint: "a letter or '_', then letters, digits and '_'")
        continue
      }
      // A mapping says where a secret value comes from; the value itself is read now.
      if case .mapping = entry.value.value {
        guard let secret = SecretDecoder(findings: findings).secret(entry) else { continue }
        variables.replace(DeclaredVariable(name: entry.key, value: .secret(secret)))
        continue
      }
      // A list or nothing has no obvious text: an empty variable is written as `""`.
      guard case .scalar = entry.value.value, !entry.value.isNull else {
        findings.error(
          "the variable '\(entry.key)' must be a text, not \(entry.value.kind)",
          entry.value.place,
          hint: "\"\" is the empty one; {secret: {env: NAME}} is one nobody is shown")
        continue
      }
      checkSafety(entry, findings)
      variables.replace(DeclaredVariable(name: entry.key, value: .text(entry.value)))
    }
  }

  /// Refuses variables that workers do not set, and relative folders of `PATH` (G38).
  /// Known texts are checked with their value; one with a placeholder by its name alone. The place
  /// is the value's if the value is at fault.
  private static func checkSafety(_ entry: ManifestNode.Entry, _ findings: Findings) {
    var known: String?
    if case .scalar(let text, _) = entry.value.value, !text.contains("${{") { known = text }
    guard let objection = CommandVariables.objection(to: entry.key, known) else { return }
    let place = entry.key == "PATH" ? entry.value.place : entry.place
    findings.error(objection.message, place, hint: objection.hint)
  }

  /// Standard input is a text or a file. Outputs may hold values, and are therefore kept as nodes.
  func decodeStreams(_ settings: inout DeclaredSettings) {
    let findings = fields.findings
    if let node = fields.node("stdin") {
      if case .mapping = node.value {
        if let input = Fields(node, ManifestKeys.input, findings) {
          // A mapping without `file` is an error, and reads nothing.
          settings.standardInput = input.node("file").map { .file($0) }
          if input["file"] == nil { findings.error("'stdin' needs 'file'", node.place) }
        }
      } else {
        settings.standardInput = .text(node)
      }
    }
    if let node = fields.node("stdout") { settings.standardOutput = node }
    if let node = fields.node("stderr") { settings.standardError = node }
    guard let node = fields.node("logs"), let logs = Fields(node, ManifestKeys.logs, findings)
    else { return }
    if let bytes = logs.bytes("max") { settings.maximumOutputBytes = UInt64(bytes) }
    // The one word that is supported is the default; the others would drop logs.
    let words = [("always", true), ("on-failure", false), ("never", false)]
    if logs.choice("keep", words) == false {
      logs.refuse("keep", hint: "logs are always kept, up to 'max'")
    }
  }
}
