// Decodes `env: {inherit: [NAME…]}`: variables of the submitter's environment that operations get
// unchanged, such as those of `conda activate` or `module load`. The values are read where the
// manifest is compiled.
// Workers never see the environment of the submitter: only these values, each by its name, travel
// with the graph. They are shown to people, in contrast to secrets.

import OpClusterModel

struct InheritedVariables {
  /// The key cannot clash: no variable of an operation can have this name.
  static let key = "inherit"

  /// Supplies the environment of the submitter, and takes the findings.
  let findings: Findings

  /// Later names replace earlier ones, and `env` then replaces both.
  func decode(_ entry: ManifestNode.Entry, onto variables: inout [DeclaredVariable]) {
    guard case .sequence(let items) = entry.value.value else {
      return findings.error(
        "'inherit' is a list of names, not \(entry.value.kind)", entry.value.place,
        hint: "inherit: [PATH, CONDA_PREFIX] takes these from your own environment")
    }
    for item in items {
      guard let name = findings.text(item, "a name in 'inherit'") else { continue }
      if let value = value(of: name, item.place) {
        variables.replace(DeclaredVariable(name: name, value: .inherited(value)))
      }
    }
  }

  /// nil after a finding.
  private func value(of name: String, _ place: Place) -> String? {
    guard Names.isVariableName(name) else {
      findings.error(
        "'\(name)' cannot name a variable", place,
        hint: "a letter or '_', then letters, digits and '_'")
      return nil
    }
    // Variables that a worker refuses would fail every attempt there, so they are refused here.
    if let objection = CommandVariables.objection(to: name, nil) {
      findings.error(objection.message, place, hint: objection.hint)
      return nil
    }
    // Unset is an error, not empty: an activated environment is what somebody counts on.
    guard let value = findings.surroundings.variable(name) else {
      findings.error(
        "the variable '\(name)' is not set here", place,
        hint: "export it before you submit, or leave it out of 'inherit'")
      return nil
    }
    return name == "PATH" ? absolute(value, place) : value
  }

  /// Keeps the absolute folders of a `PATH` and warns of the others: workers accept absolute
  /// folders only.
  /// Relative folders of a `PATH` mean other programs on another machine, in another folder (G38).
  private func absolute(_ path: String, _ place: Place) -> String? {
    let folders = path.split(separator: ":")
    let kept = folders.filter { $0.hasPrefix("/") }
    for folder in folders where !folder.hasPrefix("/") {
      findings.warning("'\(folder)' of your PATH is left out, since it is not absolute", place)
    }
    guard !kept.isEmpty else {
      findings.error("your PATH has no absolute folder", place, hint: "write one into 'env'")
      return nil
    }
    return kept.joined(separator: ":")
  }
}
