// `opbatch submit`: a manifest becomes a graph; by wish it stays until the graph has ended.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

struct Submit: Command {
  static let configuration = CommandConfiguration(
    abstract: "Submit a manifest.",
    usage: "opbatch submit <file> [-p <key=value> ...] [<options>]",
    discussion: """
      All errors of the manifest are shown at once, and then nothing is submitted. Ctrl-C during \
      --wait or --watch only leaves; the graph goes on.

      Examples:
        opbatch submit graph.yaml -p sample=NA12878 --watch
        generate | opbatch submit -
      """)

  @Argument(
    help: ArgumentHelp("The manifest; - is stdin.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var file: String

  @Option(
    name: [.customShort("p"), .customLong("param")],
    help: ArgumentHelp("A parameter of the manifest; may be repeated.", valueName: "key=value"))
  var parameters: [Assignment] = []

  @Flag(help: "Accept it, but start nothing until 'opbatch resume'.") var hold = false
  @Flag(help: "Stay until it has ended; the status tells how.") var wait = false
  @Flag(help: "Like --wait, and show its stages.") var watch = false
  @Option(help: "The graph's name, in place of the manifest's.") var name: String?
  @Option(
    help: ArgumentHelp(
      "Submitting again with the same key gives the same graph; random if not given.",
      valueName: "text"))
  var key: String?
  @OptionGroup(title: "Common options") var global: GlobalOptions

  static var handlesInterrupts: Bool { true }

  func validate() throws {
    if hold && (wait || watch) {
      throw ValidationError("--hold starts nothing, so --wait and --watch would never end")
    }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    var submission = try ManifestSource(path: file, parameters: parameters).compile(console)
      .submission
    try Self.prepare(&submission, name: name, key: key)
    submission.isSuspended = submission.isSuspended || hold
    let stays = wait || watch
    let session =
      stays
      ? try await openSession(console)
      : Session(connection: try await connect(), embedded: nil)
    do {
      let status = try await submit(submission, session, console)
      await session.end()
      return status
    } catch {
      await session.end()
      throw error
    }
  }

  private func submit(
    _ submission: GraphSubmission, _ session: Session, _ console: Console
  ) async throws -> ExitStatus {
    let accepted = try await GraphRun.submit(
      submission, session.connection, timeout: global.timeout?.duration)
    try show(accepted, submission.name, console)
    guard wait || watch else {
      if console.format == .table {
        let graph = accepted.graph.number
        console.hint(hold ? "opbatch resume \(graph) starts it" : "opbatch watch \(graph)")
      }
      return .success
    }
    let run = GraphRun(session: session, console: console, timeout: global.timeout?.duration)
    return try await run.untilEnd(
      of: accepted.graph, showsProgress: watch,
      onInterrupt: session.embedded == nil ? .detach : .cancel)
  }

  private func show(
    _ accepted: GraphRun.Accepted, _ name: String, _ console: Console
  ) throws {
    switch console.format {
    case .name: try console.writeLine("\(accepted.graph.number)")
    case .table:
      let count = shownCount(accepted.operations, "operation")
      let word = accepted.repeated ? "was submitted before" : hold ? "submitted, held" : "submitted"
      try console.writeLine("graph \(accepted.graph.number) (\(safe(name))) \(word): \(count)")
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.object("graph") { json in
            json.field("id", accepted.graph.number)
            json.field("name", name)
            json.field("operations", accepted.operations)
          }
        })
    }
  }

  /// What the submitter adds to a compiled manifest.
  static func prepare(
    _ submission: inout GraphSubmission, name: String?, key: String?
  ) throws(Failure) {
    if let name {
      guard (1...Limits.nameBytes).contains(name.utf8.count) else {
        throw .usage("a graph's name has 1 to \(Limits.nameBytes) bytes")
      }
      submission.name = name
    }
    if let key {
      guard (1...Limits.submissionKeyBytes).contains(key.utf8.count) else {
        throw .usage("a key has 1 to \(Limits.submissionKeyBytes) bytes")
      }
      submission.key = SubmissionKey(key)
    } else {
      submission.key = GraphRun.randomKey()
    }
    submission.origin = ThisProcess.workingFolder
  }
}
