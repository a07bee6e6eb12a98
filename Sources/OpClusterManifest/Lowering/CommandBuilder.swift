// Builds the command of one operation from its settings and `run`. Called by the lowering.
// The result needs nothing of the manifest any more: a worker runs it as it is.

import OpClusterModel

/// One per operation; its blocks are built by the same one.
struct CommandBuilder {
  let substitution: Substitution
  /// Collects the positions of the operation's secrets in the order of their first use.
  let secrets: OperationSecrets
  private var findings: Findings { substitution.findings }
  private var settings: DeclaredSettings { substitution.operation.settings }

  /// Builds the command of a whole operation; nil after a finding.
  /// Times of the operation go into its command; blocks leave them out.
  func build(_ run: ManifestNode) -> CommandSpecification? {
    guard var command = command(run, "'run'") else { return nil }
    command.timeout = settings.timeout
    command.grace = settings.grace
    command.elementKeys = substitution.operation.elements?.keys ?? []
    for file in substitution.operation.outputFiles {
      guard let path = substitution.plain(file.path, "the file '\(file.name)'") else { return nil }
      command.outputFiles.append(.init(name: file.name, path: path))
    }
    return command
  }

  /// Builds the command of one block, without times: they belong to the whole operation. nil after
  /// a finding.
  func block(_ run: ManifestNode) -> CommandSpecification? {
    guard var command = command(run, "a block") else { return nil }
    command.elementKeys = substitution.operation.elements?.keys ?? []
    return command
  }

  /// The part that a command and a block have in common.
  ///
  /// - Parameter what: The name in findings.
  private func command(_ run: ManifestNode, _ what: String) -> CommandSpecification? {
    guard let form = form(run, what) else { return nil }
    let surroundings = findings.surroundings
    var command = CommandSpecification(form: form)
    for variable in settings.environment {
      let value: CommandText
      switch variable.value {
      case .text(let node):
        let what = "the variable '\(variable.name)'"
        guard let text = substitution.plain(node, what) else { return nil }
        value = text
      case .inherited(let text): value = CommandText(text)
      // The value stays out of the command: only its position is written.
      case .secret(let text):
        let position = secrets.position(of: text)
        value = CommandText(segments: [.value(.secret(position), quoting: .none)])
      }
      command.environment.append(.init(name: variable.name, value: value))
    }
    // An absolute folder, so that it means the same on a worker that shares it. Files that travel
    // need no shared folder: then the operation has one of its own.
    let usual = substitution.operation.handsFilesOn ? "" : surroundings.workingFolder
    command.workingDirectory = settings.workingDirectory.map(surroundings.absolute) ?? usual
    guard let input = input() else { return nil }
    command.standardInput = input
    if let node = settings.standardOutput {
      guard let path = output(node, "'stdout'") else { return nil }
      command.standardOutput = path
    }
    if let node = settings.standardError {
      guard let path = output(node, "'stderr'") else { return nil }
      command.standardError = path
    }
    command.successStatuses = settings.successStatuses
    command.stopSignal = settings.stopSignal
    command.outputs = substitution.operation.outputs
    if let bytes = settings.maximumOutputBytes { command.maximumOutputBytes = bytes }
    return command
  }

  /// A list is executed as it is; a text needs an interpreter.
  private func form(_ run: ManifestNode, _ what: String) -> CommandSpecification.Form? {
    if case .sequence(let items) = run.value {
      let words = items.compactMap { substitution.plain($0, "a word of \(what)") }
      return words.count == items.count ? .arguments(words) : nil
    }
    guard let interpreter = settings.interpreter else {
      findings.error("without a shell, \(what) must be a list", run.place)
      return nil
    }
    guard let (text, hasPipe) = substitution.shell(run, what) else { return nil }
    // A chosen shell says that its rules are known.
    if hasPipe, !settings.choosesShell { warnOfPipe(run) }
    let isReferring = text.segments.contains { segment in
      if case .value(_, quoting: .shell) = segment { true } else { false }
    }
    if isReferring, !checkShell(interpreter, run) { return nil }
    return .shell(interpreter: interpreter, text: text)
  }

  /// Warns once that `sh` sees only the failure of a pipe's last command: people expect that any
  /// failure counts.
  /// Once per manifest, as a graph may have thousands of such texts.
  private func warnOfPipe(_ run: ManifestNode) {
    findings.warnOnce(
      .pipe, "of a pipe only the last command's failure is seen by 'sh'", run.place,
      hint: "'shell: bash' fails when any of them does; 'shell: sh' says that this is meant")
  }

  /// Refuses an interpreter that is no shell: values reach the text as shell variables.
  /// Known shells are enough to look for: another interpreter would get the name of a variable as
  /// its text.
  private func checkShell(_ interpreter: [String], _ run: ManifestNode) -> Bool {
    let programs = interpreter.map { $0.split(separator: "/").last.map(String.init) ?? "" }
    let shells = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"]
    guard programs.contains(where: shells.contains) else {
      findings.error(
        "values are put into the text of a shell only, and '\(programs[0])' is none", run.place,
        hint: "give them by 'env', or write ${{ raw(…) }}")
      return false
    }
    // `env sh -c` or a container's command may start the shell with a fresh environment.
    if !shells.contains(programs[0]) {
      findings.warning(
        "values reach the shell by its environment, which '\(programs[0])' must hand on", run.place,
        hint: "where it does not, the command fails with 'OP_VALUE_1: parameter not set'")
    }
    return true
  }

  /// nil after a finding; no setting means an input that has ended.
  private func input() -> CommandSpecification.StandardInput? {
    switch settings.standardInput {
    case nil: .nothing
    case .text(let node): substitution.plain(node, "'stdin'").map { .text($0) }
    case .file(let node): path(node, "'file'").map { .file($0) }
    }
  }

  /// Returns an output's file. A relative path starts from the operation's own working directory,
  /// else from the manifest's folder. The worker opens it beneath that folder, so that it cannot
  /// leave it (G38). A path is absolute only if its literal beginning is: a value at the beginning
  /// never makes it so.
  /// Values cannot make a path absolute, since an item named `/etc/…` would then write there.
  private func output(_ node: ManifestNode, _ what: String) -> CommandText? {
    guard let text = substitution.plain(node, what) else { return nil }
    guard let first = text.segments.first else {
      findings.error("\(what) is empty", node.place)
      return nil
    }
    if case .literal(let start) = first {
      if start.hasPrefix("/") { return text }
      if text.segments.count == 1, OutputPath.leadsOut(start) {
        findings.error(
          "\(what) leads out of the folder it starts from", node.place,
          hint: "write an absolute path")
        return nil
      }
    }
    var path = TextBuilder()
    path.append(outputRoot)
    for segment in text.segments {
      switch segment {
      case .literal(let literal): path.append(literal)
      case .value(let value, let quoting): path.append(value, quoting)
      }
    }
    return path.text
  }

  /// The beginning of a relative output: `./` if it starts from the folder in which the command
  /// runs.
  /// Otherwise the folder is named, since the command runs in another one.
  private var outputRoot: String {
    let surroundings = findings.surroundings
    let startsThere =
      settings.workingDirectory != nil || substitution.operation.handsFilesOn
      || surroundings.baseFolder == surroundings.workingFolder
    return startsThere ? "./" : OutputPath.beginning(beneath: surroundings.baseFolder)
  }

  /// Makes relative paths start from the manifest's folder.
  /// For `stdin`, which is read and never written; it may lead anywhere.
  private func path(_ node: ManifestNode, _ what: String) -> CommandText? {
    guard let text = substitution.plain(node, what) else { return nil }
    guard let first = text.segments.first else {
      findings.error("\(what) is empty", node.place)
      return nil
    }
    var path = TextBuilder()
    if case .literal(let start) = first {
      path.append(findings.surroundings.absolute(start))
    } else {
      let folder = findings.surroundings.baseFolder
      path.append(folder.hasSuffix("/") ? folder : folder + "/")
    }
    for (at, segment) in text.segments.enumerated() {
      switch segment {
      case .literal(let literal): if at > 0 { path.append(literal) }
      case .value(let value, let quoting): path.append(value, quoting)
      }
    }
    return path.text
  }
}

/// Used to decide what an attempt must be told: outputs of dependencies, or an element's values.
extension CommandSpecification {
  /// All texts that may hold values.
  var texts: [CommandText] {
    var all = environment.map { $0.value }
    switch form {
    case .arguments(let words): all += words
    case .shell(_, let text): all.append(text)
    }
    switch standardInput {
    case .nothing: break
    case .text(let text), .file(let text): all.append(text)
    }
    return all + [standardOutput, standardError].compactMap { $0 }
  }

  /// Whether a text holds an output of a dependency.
  /// Then the dispatch has to carry outputs (S135).
  var readsOutputs: Bool {
    holds { if case .output = $0 { true } else { false } }
  }

  /// Whether a text holds a value that differs by element, apart from the index.
  var readsElements: Bool {
    holds { if case .element = $0 { true } else { false } }
  }

  private func holds(_ isWanted: (CommandText.Value) -> Bool) -> Bool {
    texts.contains { text in
      text.segments.contains { segment in
        if case .value(let value, _) = segment { isWanted(value) } else { false }
      }
    }
  }
}
