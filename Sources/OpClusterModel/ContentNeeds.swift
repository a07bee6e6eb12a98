// What an operation reads of what its dependencies left in stores. Values; the coordinator, the
// worker's brain and its body ask the same question of the same output, and must agree.

extension InputFile {
  /// Where the output of this dependency lies in `OP_INPUTS`.
  package func path(of input: DependencyInput) -> String {
    if operation == InputFile.submitter { return file }
    return isByIndex ? "\(folder)/\(input.index ?? 0)/\(file)" : "\(folder)/\(file)"
  }

  /// Whether it is an output of this dependency.
  package func isOf(_ input: DependencyInput) -> Bool { operation == input.name }
}

/// Which contents of its inputs an operation reads.
package struct ContentNeeds: Hashable, Sendable {
  /// Values of registered types, and the files that are parts of them, except of a dependency of
  /// which files are named: of that these alone. Commands read fields of values alone, which are
  /// with the output.
  package var values: Bool
  package var files: [InputFile]

  package init(values: Bool, files: [InputFile] = []) {
    self.values = values
    self.files = files
  }

  fileprivate init(_ work: Work, _ files: [InputFile]) {
    switch work {
    case .command, .nothing: values = false
    case .call, .blocks: values = true
    }
    self.files = files
  }

  package var isEmpty: Bool { !values && files.isEmpty }

  /// Leaves in outputs only the files that are read of them.
  package func narrow(_ inputs: inout ArraySlice<DependencyInput>) {
    var names: [String: [[UInt8]]] = [:]
    for file in files { names[file.operation, default: []].append(Array<UInt8>(file.file.utf8)) }
    for at in inputs.indices {
      guard let output = inputs[at].output else { continue }
      let named = names[inputs[at].name] ?? []
      if values, named.isEmpty, OperationOutput.isTyped(output) { continue }
      inputs[at].output = OperationOutput.narrowed(output, toFiles: named)
    }
  }
}

extension OperationTemplate {
  package var contentNeeds: ContentNeeds { ContentNeeds(work, inputFiles) }
}

extension TemplateAnnouncement {
  package var contentNeeds: ContentNeeds { ContentNeeds(work, inputFiles) }
}

extension DependencyInput {
  /// The contents of its output that are needed. Costs the fields of the output, each times the
  /// files that are read of it.
  package func contents(_ needs: ContentNeeds) -> [StoredContent] {
    guard let output, !needs.isEmpty else { return [] }
    let files = needs.files.filter { $0.isOf(self) }.map { Array($0.file.utf8) }
    if files.isEmpty, !needs.values { return [] }
    return OperationOutput.contents(of: output) { name, isOfValue in
      if needs.values, name.isEmpty || isOfValue && files.isEmpty { return true }
      return files.contains { $0.elementsEqual(name) }
    }
  }
}

extension DependencyInput {
  /// Of the contents that are needed those without a path in `OP_INPUTS`: its value, and the files
  /// that are parts of it.
  package func valueContents(_ needs: ContentNeeds) -> [StoredContent] {
    guard let output, needs.values else { return [] }
    let areNamed = needs.files.contains { $0.isOf(self) }
    return OperationOutput.contents(of: output) { name, isOfValue in
      name.isEmpty || isOfValue && !areNamed
    }
  }
}

extension [DependencyInput] {
  /// The contents that are needed, each once, in order.
  package func contents(_ needs: ContentNeeds) -> [StoredContent] {
    if needs.isEmpty { return [] }
    var seen: Set<ContentDigest> = []
    return flatMap { $0.contents(needs) }.filter { seen.insert($0.digest).inserted }
  }
}
