// What the imports of graphs share: their options, what is said on stderr, and what becomes of the
// manifest. The readers are in OpClusterImports and pure; the files are read here.

import ArgumentParser
import OpClusterImports
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

struct ImportOptions: ParsableArguments {
  @Flag(help: "Submit the graph, in place of printing its manifest.") var submit = false
  @Flag(help: "With --submit: accept it, but start nothing until 'opbatch resume'.")
  var hold = false
  @Flag(help: "With --submit: stay until it has ended; the status tells how.") var wait = false
  @Flag(help: "With --submit: like --wait, and show its stages.") var watch = false
  @Option(help: "The graph's name.") var name: String?
  @Option(
    help: ArgumentHelp(
      "With --submit: submitting again with the same key gives the same graph.",
      valueName: "text"))
  var key: String?
  @Flag(help: "Make nothing if something of the files does not map.") var strict = false
  @Option(
    help: ArgumentHelp(
      "A variable of your environment that all commands get; may be repeated.", valueName: "name"))
  var inherit: [String] = []

  func validate() throws {
    if !submit, hold || wait || watch || key != nil {
      throw ValidationError("--hold, --wait, --watch and --key are for --submit")
    }
    for name in inherit where !Self.isVariable(name) {
      throw ValidationError("--inherit takes the name of a variable, not '\(safe(name))'")
    }
  }

  static func isVariable(_ name: String) -> Bool {
    name.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
      && name.utf8.allSatisfy { $0 == 0x5F || Names.isNameByte($0) && $0 != 0x2D && $0 != 0x2E }
  }
}

/// A command that reads the graph of another system.
protocol GraphImport: SubmittingCommand {
  var options: ImportOptions { get }
  /// Reads the files; `folder` is where the command is.
  func read(_ files: SourceFiles, in folder: String) -> ImportResult
}

extension GraphImport {
  var hold: Bool { options.hold }
  var wait: Bool { options.wait }
  var watch: Bool { options.watch }
  var name: String? { options.name }
  var key: String? { options.key }
  static var handlesInterrupts: Bool { true }

  func validate() throws { try checkStaying() }

  func perform(_ console: Console) async throws -> ExitStatus {
    let folder = ThisProcess.workingFolder
    let result = read(Self.disk, in: folder)
    guard var graph = result.graph else { throw refusal(result, folder, console) }
    say(result, folder, console)
    let lost = result.remarks.count { $0.weight == .lost }
    if options.strict, lost > 0 {
      throw Failure(
        .badInput, code: "not_mapped",
        "\(shownCount(lost, "thing")) of the files "
          + "\(lost == 1 ? "does" : "do") not map, and --strict was given",
        hint: "leave --strict out to go on without \(lost == 1 ? "it" : "them")")
    }
    if let name { graph.name = name }
    let text = ManifestText.of(graph)
    guard text.utf8.count <= ManifestSource.maximumBytes else {
      throw Failure(
        .badInput, code: "too_large",
        "the manifest would have more than \(ManifestSource.maximumBytes >> 20) MiB")
    }
    summarise(graph, result, lost, console)
    guard options.submit else {
      try console.write(text)
      return .success
    }
    let manifest = try ManifestSource(path: "-", parameters: []).compile(
      text, baseFolder: folder, workingFolder: folder, console)
    return try await submitManifest(
      manifest.submission, manifest.ownFiles, manifest.notifications, console)
  }

  /// Files as the readers ask for them.
  private static var disk: SourceFiles {
    SourceFiles(
      contents: { path, limit in
        switch FileKind(ofTarget: path) {
        case nil: return .failure(.absent)
        // A pipe could keep the command waiting for ever.
        case .file?: break
        default: return .failure(.unreadable("it is no file"))
        }
        return Descriptor.contents(of: path, limit: limit).mapError { error in
          error.isAbsence
            ? .absent : .unreadable(error.isTooLarge ? "it is too large" : error.text)
        }
      },
      age: { FileTree.lastWritten($0) })
  }

  /// `FILE:LINE: warning: reason`, one a line.
  private func say(_ result: ImportResult, _ folder: String, _ console: Console) {
    for remark in result.remarks {
      let line = line(of: remark, folder)
      // Errors are told in quiet mode, too.
      if remark.weight == .error { console.complain(line) } else { console.say(line) }
    }
    if result.furtherRemarks > 0 {
      console.say("… and \(shownCount(result.furtherRemarks, "further remark"))")
    }
  }

  private func line(of remark: ImportRemark, _ folder: String) -> String {
    let word =
      switch remark.weight {
      case .note: "note"
      case .lost: "warning"
      case .error: "error"
      }
    let number = remark.place.line > 0 ? ":\(remark.place.line)" : ""
    let file = remark.place.file
    let shown = file.hasPrefix(folder + "/") ? String(file.dropFirst(folder.count + 1)) : file
    return "\(safe(shown))\(number): \(word): \(safe(remark.reason))"
  }

  private func refusal(_ result: ImportResult, _ folder: String, _ console: Console) -> Failure {
    let errors = result.remarks.filter { $0.weight == .error }
    if !console.wantsJSON { say(result, folder, console) }
    let first = errors.first.map { line(of: $0, folder) } ?? "it cannot be read"
    let more = errors.count > 1 ? " (and \(shownCount(errors.count - 1)) more)" : ""
    return Failure(
      .badInput, code: "bad_import",
      console.wantsJSON
        ? first + more : "nothing was imported: \(shownCount(errors.count, "error"))")
  }

  private func summarise(
    _ graph: ImportedGraph, _ result: ImportResult, _ lost: Int, _ console: Console
  ) {
    let count = graph.operations.count + graph.finally.count
    let notes = result.remarks.count - lost + result.furtherRemarks
    console.say(
      "\(shownCount(count, "operation")); \(shownCount(lost, "thing")) "
        + "\(lost == 1 ? "does" : "do") not map, \(shownCount(notes, "note"))")
  }
}
