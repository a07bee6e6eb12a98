// `opbatch submit`: submits a manifest; with an option, stays until the graph has ended. `Run`
// differs in that its graph ends with it. A submission is one message and is accepted as a whole or
// not at all (S58, G2).

import ArgumentParser
import OpClusterClient
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

/// Needs the rights of a submission. Without an option it returns when the graph is durable (G1):
/// from then on it runs without this program.
struct Submit: SubmittingCommand {
  static let configuration = CommandConfiguration(
    abstract: "Submit a manifest or one command.",
    usage: """
      opbatch submit <file> [-p <key=value> ...] [<options>]
      opbatch submit [<options>] -- <cmd> [<args> ...]
      """,
    discussion: """
      All errors of the manifest are shown at once, and then nothing is submitted. Ctrl-C during \
      --wait or --watch only leaves; the graph goes on.

      A command runs as with 'opbatch run', but this does not wait for it: 'opbatch logs' shows \
      what it wrote. --timeout is its own. A stdin that is no terminal is read to its end and \
      passed on.

      Examples:
        opbatch submit graph.yaml -p sample=NA12878 --watch
        generate | opbatch submit -
        opbatch submit --cpus 8 --memory 16G -- ./align sample.bam
      """)

  @Argument(
    help: ArgumentHelp("The manifest; - is stdin.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var file: String?

  @Option(
    name: [.customShort("p"), .customLong("param")],
    help: ArgumentHelp("A parameter of the manifest; may be repeated.", valueName: "key=value"))
  var parameters: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      """
      A file, a folder or a pattern that every command of the manifest finds in $OP_INPUTS; may be \
      repeated.
      """,
      valueName: "path"),
    completion: .file())
  var upload: [String] = []

  @Flag(help: "Accept it, but start nothing until 'opbatch resume'.") var hold = false
  @Flag(help: "Stay until it has ended; the status tells how.") var wait = false
  @Flag(help: "Like --wait, and show its stages.") var watch = false
  @Option(help: "The graph's name, in place of the manifest's.") var name: String?
  @Option(
    help: ArgumentHelp(
      "Submitting again with the same key gives the same graph; random if not given.",
      valueName: "text"))
  var key: String?
  @OptionGroup(title: "Of a command") var job: JobOptions
  @OptionGroup(title: "Of a command") var commandOptions: CommandOptions

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("A command and its arguments, after --.", valueName: "cmd"))
  var command: [String] = []

  @OptionGroup(title: "Common options") var global: GlobalOptions

  // Ctrl-C only leaves, and has to say how to come back.
  static var handlesInterrupts: Bool { true }

  var passesInput: Bool { !command.isEmpty && !commandOptions.ignoresInput }
  func validate() throws {
    guard (file != nil) != !command.isEmpty else {
      throw ValidationError("give a manifest, or a command after --")
    }
    // A manifest says such things of each operation; a single word could not.
    if command.isEmpty, !job.isEmpty || !commandOptions.isEmpty {
      throw ValidationError(
        "what is asked for is said on the command line for one command; a manifest says it itself")
    }
    if !command.isEmpty, !upload.isEmpty {
      throw ValidationError("--upload is for a manifest, whose commands find the files")
    }
    if !command.isEmpty, !parameters.isEmpty {
      throw ValidationError("--param is for a manifest; --env gives a command a variable")
    }
    try checkStaying()
  }

  /// Compiles before it connects: an error of the manifest is shown also without a cluster.
  func perform(_ console: Console) async throws -> ExitStatus {
    let manifest = try compiled(console)
    return try await submitManifest(
      manifest.submission, manifest.ownFiles, manifest.notifications, console)
  }

  /// The graph of the manifest, or a graph of one command. Nothing is sent yet.
  private func compiled(
    _ console: Console
  ) throws -> (
    submission: GraphSubmission, ownFiles: OwnFiles?, notifications: [GraphNotification]
  ) {
    guard command.isEmpty else {
      var submission = try commandOptions.submission(command, timeout: global.timeout, console)
      job.apply(to: &submission)
      return (submission, nil, [])
    }
    let source = ManifestSource(path: file ?? "-", parameters: parameters, uploads: upload)
    let manifest = try source.compile(console)
    return (manifest.submission, manifest.ownFiles, manifest.notifications)
  }

  /// Adds the submitter's values to a compiled manifest. A name and a key are checked here rather
  /// than by the coordinator, so that they fail as errors of the command line (64). Without a key a
  /// random one is made, since a lost connection makes the client ask again (G19).
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
    // For people who look for where a graph came from; it is no part of the fingerprint.
    submission.origin = ThisProcess.workingFolder
    if let parent = OwnProcess.variable("TRACEPARENT").flatMap({ TraceParent($0) }),
      submission.labels.count < Limits.labelsPerThing,
      !submission.labels.contains(where: { $0.key == GraphSubmission.traceParentLabel })
    {
      submission.labels.append(
        Label(key: GraphSubmission.traceParentLabel, value: "\(parent)"))
    }
  }
}
