// Reads and compiles a manifest's file and shows the findings. Used by submit, run, check and demo.
// The compiler is pure; what it may know of this machine is handed to it here: the base folder, the
// working folder, the parameters, and how payloads are encoded.

import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem
import OpClusterWire

/// A compiled manifest without errors. `submission` is what is sent. `expanded` is for people: each
/// element with its command.
struct CompiledManifest {
  var submission: GraphSubmission
  /// The submitter's files that it reads; they are left with workers before the submission.
  var ownFiles: OwnFiles
  /// Who is told of the graph.
  var notifications: [GraphNotification]
  var expanded: [ExpandedOperation]
}

/// A manifest by its path; `-` is stdin.
struct ManifestSource {
  /// The limit of the interface, in bytes. A larger text is refused before it is parsed, since
  /// parsing takes many times its size.
  static let maximumBytes = 64 << 20

  var path: String
  var parameters: [Assignment]
  /// Files that every command reads, besides those that the manifest names.
  var uploads: [String] = []

  private var isStandardInput: Bool { path == "-" }
  private var shownName: String { isStandardInput ? "stdin" : path }

  /// Compiles the manifest. Throws all findings at once if one is an error; prints warnings.
  func compile(_ console: Console) throws -> CompiledManifest {
    try compile(
      try text(), baseFolder: baseFolder, workingFolder: ThisProcess.workingFolder, console)
  }

  /// Returns the compiled manifest, nil after an error, and all findings. For `check -o json`,
  /// where an error is data. Throws only if the file cannot be read.
  func findings() throws(Failure) -> (manifest: CompiledManifest?, findings: [Diagnostic]) {
    let result = result(try text(), baseFolder, ThisProcess.workingFolder)
    guard let submission = result.submission else { return (nil, result.diagnostics) }
    do throws(Failure) {
      let manifest = CompiledManifest(
        submission: submission, ownFiles: try OwnFiles(result.ownFiles, of: submission),
        notifications: result.notifications, expanded: result.expanded)
      return (manifest, result.diagnostics)
    } catch {
      let missing = Diagnostic(severity: .error, message: error.message, hint: error.hint)
      return (nil, result.diagnostics + [missing])
    }
  }

  /// Compiles a text that need not be in a file of its own.
  func compile(
    _ source: String, baseFolder: String, workingFolder: String, _ console: Console
  ) throws -> CompiledManifest {
    let result = result(source, baseFolder, workingFolder)
    guard let submission = result.submission else {
      throw failure(result.diagnostics, source, console)
    }
    if !result.diagnostics.isEmpty, !console.wantsJSON {
      let text = renderer(source, console).render(result.diagnostics)
      console.say(text.hasSuffix("\n") ? String(text.dropLast()) : text)
    }
    return CompiledManifest(
      submission: submission, ownFiles: try OwnFiles(result.ownFiles, of: submission),
      notifications: result.notifications, expanded: result.expanded)
  }

  /// The last of equal parameters wins. The encoders are handed in because OpClusterManifest does
  /// not know the wire.
  private func result(
    _ source: String, _ baseFolder: String, _ workingFolder: String
  ) -> ManifestCompiler.Compilation {
    var compiler = ManifestCompiler(
      source: source, fileName: shownName,
      surroundings: Surroundings(baseFolder: baseFolder, workingFolder: workingFolder),
      parameters: Dictionary(
        parameters.map { ($0.key, $0.value) }, uniquingKeysWith: { _, last in last }))
    compiler.uploads = uploads
    return compiler.compile(
      encoders: PayloadEncoders(
        command: { Wire.encode(command: $0) }, callInput: { Wire.encode(callInput: $0) },
        blocks: { Wire.encode(blocks: $0) },
        blockElement: { Wire.encode(blockElement: $0) }))
  }

  /// Widths are those of a terminal, so that carets stand below what they mean.
  private func renderer(_ source: String, _ console: Console) -> DiagnosticRenderer {
    let style = console.errorStyle
    return DiagnosticRenderer(
      source: source, file: shownName, color: style.usesColour, width: style.width
    ) { displayWidth($0) }
  }

  /// The first error as the message, since programs and logs show one line, and all findings as the
  /// text for people.
  private func failure(
    _ diagnostics: [Diagnostic], _ source: String, _ console: Console
  ) -> Failure {
    let errors = diagnostics.filter { $0.severity == .error }
    // There is always one; the text stands for a compiler that has none to tell.
    let first = errors.first ?? Diagnostic(severity: .error, message: "the manifest is wrong")
    let more = errors.count > 1 ? " (and \(shownCount(errors.count - 1)) more)" : ""
    let place = first.line > 0 ? "\(shownName):\(first.line):\(first.column): " : ""
    var rendered = renderer(source, console).render(diagnostics)
    while rendered.hasSuffix("\n") { rendered.removeLast() }
    var failure = Failure(
      .badInput, code: "bad_manifest", place + first.message + more, hint: first.hint,
      rendered: rendered)
    // The rendered text includes the hints.
    if !console.wantsJSON { failure.hint = "" }
    return failure
  }

  /// The whole text. Invalid UTF-8 is refused rather than repaired: a repaired name would be
  /// another name.
  func text() throws(Failure) -> String {
    let result =
      isStandardInput
      ? Descriptor.input.readAll(limit: Self.maximumBytes)
      : Descriptor.contents(of: path, limit: Self.maximumBytes)
    switch result {
    case .success(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw Failure(
          .badInput, code: "bad_manifest", "\(safe(shownName)) is not UTF-8",
          hint: "save it as UTF-8")
      }
      return text
    case .failure(let failure):
      guard !failure.isTooLarge else {
        throw Failure(
          .badInput, code: "too_large",
          "\(safe(shownName)) is too large: a manifest has at most \(Self.maximumBytes >> 20) MiB",
          hint: "operations that differ only in a value are one 'array' or 'matrix', whose values "
            + "can come from a file; or make several graphs of it")
      }
      throw Failure(
        failure.isAbsence ? .badInput : .inputOutput, code: "cannot_read",
        "cannot read \(safe(shownName)): \(failure.text)",
        hint: failure.isAbsence ? "'opbatch init' prints a manifest to begin with" : "")
    }
  }

  /// The folder where relative paths of the manifest start: its own folder; ours for stdin.
  /// Resolves all links, so that the content is the same from wherever it is submitted (G19).
  private var baseFolder: String {
    let here = ThisProcess.workingFolder
    guard !isStandardInput, let slash = path.lastIndex(of: "/") else { return here }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    return ThisProcess.realPath(folder) ?? (folder.hasPrefix("/") ? folder : "\(here)/\(folder)")
  }
}
