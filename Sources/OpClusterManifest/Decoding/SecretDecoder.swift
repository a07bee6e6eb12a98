// Decodes secret values: `{secret: {env: NAME}}` and `{secret: {file: PATH}}` in `env`, and
// `env_file`. The values are read where the manifest is compiled; neither its text nor a finding
// holds them.
// Secrets travel in the submission, apart from commands, which hold positions of them
// (`SecretTable`). No finding quotes a value, and neither does a rendered line (G39).

import OpClusterModel

/// Sources are the submitter's environment and files, never the manifest: that one is kept and
/// shown.
struct SecretDecoder {
  let findings: Findings

  /// Returns the value of a variable that names its source; nil after a finding.
  /// - Parameter entry: The variable, whose value is a mapping.
  func secret(_ entry: ManifestNode.Entry) -> String? {
    guard let outer = Fields(entry.value, ManifestKeys.variable, findings) else { return nil }
    guard let node = outer.node("secret") else {
      findings.error(
        "the variable '\(entry.key)' must be a text, or say 'secret'", entry.value.place)
      return nil
    }
    // The folders of `PATH` decide which programs run, so they are checked, and shown.
    if entry.key == "PATH" {
      findings.error("'PATH' cannot be secret", entry.place, hint: "write it down")
      return nil
    }
    return value(node, of: entry.key, at: "secret")
  }

  /// Returns what `{env: NAME}` or `{file: PATH}` holds; nil after a finding.
  /// - Parameters:
  ///   - name: What findings call the value.
  ///   - key: The key whose mapping this is.
  func value(_ node: ManifestNode, of name: String, at key: String) -> String? {
    guard let source = Fields(node, ManifestKeys.secret, name: "'\(key)'", findings) else {
      return nil
    }
    // Exactly one source: of two, it would not be clear which is meant.
    guard (source["env"] == nil) != (source["file"] == nil) else {
      findings.error("'\(key)' has either 'env' or 'file'", node.place)
      return nil
    }
    return value(source, of: name)
  }

  private func value(_ source: Fields, of key: String) -> String? {
    if let name = source.text("env"), let place = source.node("env")?.place {
      guard let value = findings.surroundings.variable(name) else {
        findings.error(
          "the variable '\(name)' is not set here", place, hint: "export it before you submit")
        return nil
      }
      return checked(value, key, place)
    }
    guard let path = source.text("file"), let place = source.node("file")?.place,
      let text = file(path, place)
    else { return nil }
    // Drops the line end that editors append.
    return checked(text.hasSuffix("\n") ? String(text.dropLast()) : text, key, place)
  }

  /// Decodes the variables of one or several files. A later file overrides an earlier one.
  /// Lines are `NAME=VALUE`; blank lines and those with `#` first are passed over.
  func files(_ node: ManifestNode, onto variables: inout [DeclaredVariable]) {
    var nodes = [node]
    if case .sequence(let items) = node.value { nodes = items }
    for node in nodes {
      guard let path = findings.text(node, "'env_file'"), let text = file(path, node.place) else {
        continue
      }
      var number = 0
      // Empty lines count for the numbers that findings show.
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        number += 1
        let line = String(line).trimmed
        if line.isEmpty || line.hasPrefix("#") { continue }
        guard let variable = variable(line, path, number, node.place) else { continue }
        variables.replace(variable)
      }
    }
  }

  /// Decodes `NAME=VALUE`. Findings mention only the name.
  /// `export` at the beginning is allowed, as such files are often read by a shell. A value in
  /// quotes loses them, and nothing in it is expanded.
  private func variable(
    _ line: String, _ path: String, _ number: Int, _ place: Place
  ) -> DeclaredVariable? {
    let text = line.after("export ")?.trimmed ?? line
    guard let equals = text.firstIndex(of: "="), Names.isVariableName(String(text[..<equals]))
    else {
      findings.error("line \(number) of '\(path)' is not NAME=VALUE", place)
      return nil
    }
    let name = String(text[..<equals])
    var value = text[text.index(after: equals)...]
    // An opening quote alone is part of the value.
    for quote in ["\"", "'"] where value.count > 1 && value.hasPrefix(quote) {
      if value.hasSuffix(quote) { value = value.dropFirst().dropLast() }
      break
    }
    // Passes nil for the value: the finding must not show a folder of `PATH`.
    if let objection = CommandVariables.objection(to: name, nil) {
      findings.error(objection.message, place, hint: objection.hint)
      return nil
    }
    if name == "PATH" {
      findings.error("'PATH' cannot be secret", place, hint: "write it into 'env'")
      return nil
    }
    guard let checked = checked(String(value), name, place) else { return nil }
    return DeclaredVariable(name: name, value: .secret(checked))
  }

  /// The path is shown, since it is in the manifest; the contents are not.
  private func file(_ path: String, _ place: Place) -> String? {
    switch findings.file(path) {
    case .success(let text): return text
    case .failure(let failure):
      findings.error("cannot read '\(path)': \(failure.reason)", place)
      return nil
    }
  }

  /// The limit is that of all secrets of a graph, so one that passes may still be too much with the
  /// others.
  private func checked(_ value: String, _ name: String, _ place: Place) -> String? {
    if value.utf8.count > Limits.secretBytesPerGraph || value.utf8.contains(0) {
      findings.error(
        "the secret '\(name)' holds a zero byte or more than "
          + "\(Limits.secretBytesPerGraph / 1024) KiB", place,
        hint: "keep it in a file that workers can read")
      return nil
    }
    // Often an unset variable of a script that exported it empty.
    if value.isEmpty { findings.warning("the secret '\(name)' is empty", place) }
    return value
  }
}

/// The order of variables is the order in which people see them.
extension [DeclaredVariable] {
  /// The last value of a name wins.
  /// O(n), for the few variables of an operation.
  mutating func replace(_ variable: DeclaredVariable) {
    removeAll { $0.name == variable.name }
    append(variable)
  }
}
