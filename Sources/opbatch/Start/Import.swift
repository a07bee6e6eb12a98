// `opbatch import`: workflows of other systems as manifests.

import ArgumentParser
import OpClusterPresentation

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Turn a workflow of another system into a manifest.",
    subcommands: [ImportWfFormat.self])
}

struct ImportWfFormat: Command {
  static let configuration = CommandConfiguration(
    commandName: "wfformat",
    abstract: "Turn a WfFormat (WfCommons) workflow into a manifest.",
    discussion: """
      Each task becomes an operation that needs the tasks before it and runs the recorded program. \
      With --sleep it sleeps for the recorded time instead, which replays the shape of a workflow \
      without its programs.

      Example: opbatch import wfformat montage.json -o montage.yaml --sleep 0.01
      """)

  @Argument(
    help: ArgumentHelp("The workflow, WfFormat 1.5.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var file: String

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("Where the manifest goes; - is stdout.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var target = "-"

  @Option(
    help: ArgumentHelp(
      "Sleep for the recorded time multiplied by this.", valueName: "factor"))
  var sleep: Double?

  @Flag(help: "Leave out what tasks ask for in CPUs and memory.") var noResources = false

  /// It speaks to no coordinator, and its -o is a file: the common options are not there.
  var global: GlobalOptions { GlobalOptions.defaults }

  func validate() throws {
    if let sleep, !(0...1_000_000).contains(sleep) {
      throw ValidationError("--sleep is a factor from 0 on")
    }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    let workflow = try read()
    let writer = WorkflowManifest(
      workflow: workflow, sleepFactor: sleep, asksForResources: !noResources)
    let text = writer.text
    guard target != "-" else {
      try console.write(text)
      return .success
    }
    if case .failed(let code) = Descriptor.replace(target, with: Array(text.utf8)) {
      throw Failure(
        .inputOutput, code: "cannot_write",
        "cannot write \(safe(target)): \(SystemFailure(code: code).text)")
    }
    console.say("\(safe(target)): \(shownCount(workflow.tasks.count, "operation"))")
    console.hint("opbatch check \(safe(target)), opbatch run -m \(safe(target))")
    return .success
  }

  private func read() throws -> Workflow {
    switch Descriptor.contents(of: file, limit: Workflow.maximumBytes) {
    case .success(let bytes): return try Workflow.decode(bytes, name: safe(file))
    case .failure(let failure):
      throw Failure(
        failure.isAbsence ? .badInput : .inputOutput, code: "cannot_read",
        "cannot read \(safe(file)): \(failure.text)")
    }
  }
}
