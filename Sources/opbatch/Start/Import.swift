// `opbatch import`: converts workflows of other systems to manifests. The conversion is in
// OpClusterManifest (`WfFormatImport`) and pure; this reads and writes. The result is a manifest
// like any other, to be read and changed before it is submitted. The graphs of other systems, which
// are read by OpClusterImports, are in `ImportGraph.swift`.

import ArgumentParser
import OpClusterManifest
import OpClusterPresentation
import OpClusterSystem

/// A group, so that further formats can stand beside the first.
struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Turn a workflow of another system into a manifest, or submit it.",
    subcommands: [
      ImportDagman.self, ImportNinja.self, ImportHyperQueue.self, ImportMakeflow.self,
      ImportWfFormat.self,
    ])
}

/// Needs no cluster. The names of the trace are untrusted; the manifest that is written is checked
/// like any other when it is submitted.
struct ImportWfFormat: Command {
  static let configuration = CommandConfiguration(
    commandName: "wfformat",
    abstract: "Turn a WfFormat (WfCommons) trace into a manifest that replays it.",
    discussion: """
      One operation per task, its parents as needs, its run time scaled, its files really read and \
      written at a scaled size; nothing but sh, cat, head and sleep is needed to run it.

      Example: opbatch import wfformat montage.json --time-scale 0.01 -o montage.yaml
      """)

  /// A larger trace is refused before it is read. Bounds the memory of an import.
  static let maximumBytes = 256 << 20

  @Argument(
    help: ArgumentHelp("The trace, WfFormat 1.4 or 1.5.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var file: String

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Where the manifest goes; - is stdout.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var target = "-"

  @Option(
    help: ArgumentHelp(
      "What a second of the trace takes, in seconds. Default: what makes it short.",
      valueName: "factor"))
  var timeScale: Double?

  @Option(help: ArgumentHelp("Bytes written for a byte of the trace.", valueName: "factor"))
  var sizeScale = 0.01

  @Flag(help: "Operations declare what they read and leave: no disk has to be shared.")
  var declareFiles = false

  @Flag(help: "Run the recorded commands in place of a replay; tasks without one wait.")
  var commands = false

  /// The command has no common options: it talks to no coordinator, and its -o is a file.
  var global: GlobalOptions { GlobalOptions.defaults }

  /// A text such as `nan` is refused as well: it is in no range.
  func validate() throws {
    if commands && declareFiles {
      throw ValidationError("--declare-files is for a replay, and --commands is none")
    }
    for scale in [timeScale ?? 1, sizeScale] where !(0...1_000_000).contains(scale) {
      throw ValidationError("a scale is a number from 0 on")
    }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    let text: String
    let bytes = try read()
    // The importer names the task that it does not understand.
    do throws(WfFormatError) {
      var importer = WfFormatImport(timeScale: timeScale, sizeScale: sizeScale)
      importer.declaresFiles = declareFiles
      importer.runsCommands = commands
      // All of them in one folder are for a demonstration; what travels may be as large as it was.
      if declareFiles { importer.maximumFileBytes = 1 << 40 }
      text = try importer.manifest(of: bytes)
    } catch {
      throw Failure(.badInput, code: "bad_trace", "\(safe(file)): \(error.reason)")
    }
    guard target != "-" else {
      try console.write(text)
      return .success
    }
    // A failed write leaves the former manifest.
    if case .failed(let code) = Descriptor.replace(target, with: Array(text.utf8)) {
      throw Failure(
        .inputOutput, code: "cannot_write",
        "cannot write \(safe(target)): \(ErrorNumber(code).text)")
    }
    // A generated manifest wants to be looked at first.
    console.hint("opbatch check \(safe(target)), opbatch run -m \(safe(target))")
    return .success
  }

  /// An absent file is the user's mistake (65); anything else is the disk's (74).
  private func read() throws -> [UInt8] {
    switch Descriptor.contents(of: file, limit: Self.maximumBytes) {
    case .success(let bytes): return bytes
    case .failure(let failure):
      throw Failure(
        failure.isAbsence ? .badInput : .inputOutput, code: "cannot_read",
        "cannot read \(safe(file)): \(failure.text)")
    }
  }
}
