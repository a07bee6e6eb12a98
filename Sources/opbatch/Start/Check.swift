// `opbatch check`: compiles a manifest as for a submission, without a coordinator. It finds all
// that the compiler can know. Names of cluster queues, types of workers and room are known to the
// coordinator alone, and `submit` warns of them (`Placement`). With `--reuse` the coordinator says
// what was done before (`WouldRun`).

import ArgumentParser
import OpClusterClient
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation

/// Needs no cluster but for `--reuse`, and runs nothing. Files that a manifest names for its arrays
/// are read, since the elements are made of them.
struct Check: Command {
  static let configuration = CommandConfiguration(
    abstract: "Validate a manifest and show what it makes.",
    usage: "opbatch check <file> [-p <key=value> ...] [--expand] [--reuse] [<options>]",
    discussion: """
      In JSON, 'findings' has all errors and warnings with their places; with an error the status \
      is 65, and there are no 'operations'.

      With --reuse the cluster is asked what has 'reuse: true' and was done before. RUNS says how \
      many operations of each stage would run; what waits for one that runs counts as running, \
      though that may leave the same as before. With '-o name' only what would run is named.

      Examples:
        opbatch check graph.yaml -p sample=NA12878 --expand
        opbatch check graph.yaml --reuse
      """)

  @Argument(
    help: ArgumentHelp("The manifest; - is stdin.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var file: String

  @Option(
    name: [.customShort("p"), .customLong("param")],
    help: ArgumentHelp("A parameter of the manifest; may be repeated.", valueName: "key=value"))
  var parameters: [Assignment] = []

  @Flag(help: "Show each element of an array with its command.") var expand = false
  @Flag(help: "Ask the cluster what was done before and would not run again.") var reuse = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// For people errors are thrown, as in `submit`; for programs they are data on stdout, with the
  /// status 65.
  func perform(_ console: Console) async throws -> ExitStatus {
    let source = ManifestSource(path: file, parameters: parameters)
    guard !console.wantsJSON else { return try await checkForPrograms(source, console) }
    let manifest = try source.compile(console)
    let wouldRun = try await wouldRun(manifest, console)
    switch console.format {
    case .table: try showTable(manifest, wouldRun, console)
    case .name:
      for (at, operation) in manifest.expanded.enumerated()
      where wouldRun.map({ $0.runs(at) > 0 }) ?? true {
        try console.writeLine(operation.name)
      }
    case .json, .jsonl: break
    }
    return .success
  }

  /// nil without `--reuse`.
  private func wouldRun(
    _ manifest: CompiledManifest, _ console: Console
  ) async throws -> WouldRun? {
    guard reuse else { return nil }
    var submission = manifest.submission
    try await manifest.ownFiles.name(in: &submission, console)
    return try await withConnection { connection in
      let reply = try await ask(connection, .reusable(submission))
      guard case .reusable(let reused, let skipped) = reply else {
        throw Failure.unexpectedReply("reusable")
      }
      if console.format == .table, !submission.templates.contains(where: \.isReusable) {
        console.hint("nothing in it has 'reuse: true', so that all of it would run")
      }
      return WouldRun(submission, reused: reused, skipped: skipped)
    }
  }

  /// Prints one document with all findings, and with the compiled graph unless one is an error.
  private func checkForPrograms(
    _ source: ManifestSource, _ console: Console
  ) async throws -> ExitStatus {
    let (manifest, findings) = try source.findings()
    var wouldRun: WouldRun?
    if let manifest { wouldRun = try await self.wouldRun(manifest, console) }
    try console.write(
      jsonDocument { json in
        if let manifest { fields(manifest, wouldRun, &json) }
        json.array("findings") { json in
          for finding in findings { json.object { $0.fields(of: finding) } }
        }
      })
    // Warnings alone are no failure.
    return manifest == nil ? .badInput : .success
  }

  /// One line for each stage, cut to the width of the terminal. An array of a million is one line,
  /// unless `--expand`.
  private func showTable(
    _ manifest: CompiledManifest, _ wouldRun: WouldRun?, _ console: Console
  ) throws {
    let submission = manifest.submission
    let style = console.outputStyle
    try console.writeLine(
      "\(style.paint(safe(submission.name), .strong)): "
        + "\(shownCount(submission.operationCount, "operation")) in "
        + shownCount(submission.templates.count, "stage") + (wouldRun?.summary ?? ""))
    // An element a line, for `grep`.
    guard !expand else { return try showElements(manifest, wouldRun, console) }
    var stages: [CheckedStage] = []
    for (at, operation) in manifest.expanded.enumerated() {
      let more = operation.needs.count - Self.needsShown
      let needs =
        operation.needs.prefix(Self.needsShown).map(\.shown).joined(separator: ", ")
        + (more > 0 ? " and \(shownCount(more)) more" : "")
      stages.append(
        CheckedStage(
          name: operation.name, count: Int(operation.count),
          runs: wouldRun.map { Int($0.runs(at)) }, needs: needs, queue: operation.queue,
          command: Self.firstLine(operation.command)))
    }
    try console.writeLines(checkTable(stages).lines(style))
  }

  /// Maximum number of needs of an operation in the table; JSON has all.
  private static let needsShown = 3

  /// Each element and its command, separated by a tab, with its verdict between them if there is
  /// one. Costs the elements, which are made one at a time.
  private func showElements(
    _ manifest: CompiledManifest, _ wouldRun: WouldRun?, _ console: Console
  ) throws {
    for (at, operation) in manifest.expanded.enumerated() {
      for position in 0..<operation.count {
        let element = operation.element(position)
        let path = operation.isArray ? "\(operation.name)/\(element.index)" : operation.name
        let lines = safeLines(element.command)
        let verdict = wouldRun.map { "\($0.verdict(at, position).rawValue)\t" } ?? ""
        try console.writeLine("\(path)\t\(verdict)\(lines.first ?? "")")
        try console.writeLines(lines.dropFirst().map { "\t" + $0 })
      }
    }
  }

  /// A command of several lines shows that it goes on.
  private static func firstLine(_ command: String) -> String {
    let lines = safeLines(command)
    return (lines.first ?? "") + (lines.count > 1 ? " …" : "")
  }

  /// The graph and its stages. Edges are in `needs` of each.
  private func fields(
    _ manifest: CompiledManifest, _ wouldRun: WouldRun?, _ json: inout JSONText
  ) {
    json.object("graph") { json in
      json.field("name", manifest.submission.name)
      json.field("operations", manifest.submission.operationCount)
      if let wouldRun { json.field("runs", wouldRun.runs) }
    }
    json.array("operations") { json in
      for (at, operation) in manifest.expanded.enumerated() {
        json.object { fields(operation, at, wouldRun, &$0) }
      }
    }
  }

  /// One stage. The keys are those of a manifest, so that a program can compare the two.
  private func fields(
    _ operation: ExpandedOperation, _ at: Int, _ wouldRun: WouldRun?, _ json: inout JSONText
  ) {
    json.field("name", operation.name)
    json.field("count", operation.count)
    if let wouldRun { json.field("runs", wouldRun.runs(at)) }
    json.field("queue", operation.queue)
    json.array("needs") { json in
      for need in operation.needs {
        json.object { json in
          json.field("id", need.name)
          json.field("when", "\(need.policy)")
        }
      }
    }
    json.field("command", operation.command)
    guard expand else { return }
    json.array("elements") { json in
      for position in 0..<operation.count {
        let element = operation.element(position)
        json.object { json in
          json.field("index", element.index)
          if let wouldRun { json.field("verdict", wouldRun.verdict(at, position).rawValue) }
          json.field("command", element.command)
        }
      }
    }
  }
}

extension ExpandedOperation.Need {
  /// Returns `align`, `align (finished)` or `align [same index]`.
  fileprivate var shown: String {
    var text = name
    if policy != .succeeded { text += " (\(policy))" }
    if match == .sameIndex { text += " [same index]" }
    return text
  }
}

extension JSONText {
  /// Writes the fields of one finding; no place if it has none.
  fileprivate mutating func fields(of finding: Diagnostic) {
    field("severity", finding.severity.rawValue)
    field("message", finding.message)
    if finding.line > 0 {
      field("line", finding.line)
      field("column", finding.column)
      field("length", finding.length)
    }
    if !finding.hint.isEmpty { field("hint", finding.hint) }
  }
}
