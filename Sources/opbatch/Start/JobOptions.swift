// The requirements of one command or call: `--cpus 4 --memory 2GiB --retry 3`. Shared by `run` and
// `submit`; a manifest has its own keys for them. Whether a worker has as much is for the
// coordinator to see; `Placement` warns.

import ArgumentParser
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

/// Each option has a counterpart in a manifest, with the same words and bounds.
struct JobOptions: ParsableArguments {
  @Option(help: ArgumentHelp("CPUs that it asks for; 1, if not given.", valueName: "count"))
  var cpus: Amount?

  @Option(help: ArgumentHelp("Memory that it asks for, such as 512MiB or 4G.", valueName: "size"))
  var memory: Size?

  @Option(help: ArgumentHelp("GPUs that it asks for.", valueName: "count"))
  var gpus: Amount?

  @Option(
    help: ArgumentHelp(
      "An amount of a resource that workers name; may be repeated.", valueName: "name=amount"))
  var resource: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      "Only on workers with this label; may be repeated.", valueName: "key=value"))
  var require: [Assignment] = []

  @Option(
    name: [.customShort("l"), .long],
    help: ArgumentHelp(
      "A label of the graph, for 'ls -l'; may be repeated.", valueName: "key=value"))
  var label: [Assignment] = []

  @Option(help: ArgumentHelp("The queue that it goes through.", valueName: "name"))
  var queue: String?

  @Option(help: ArgumentHelp("Further attempts after a failed one.", valueName: "count"))
  var retry: UInt32 = 0

  /// Whether no option was given.
  var isEmpty: Bool {
    cpus == nil && memory == nil && gpus == nil && resource.isEmpty && require.isEmpty
      && label.isEmpty && queue == nil && retry == 0
  }

  /// The same bounds as the coordinator's, so that a wrong option is told as such (64) and before
  /// anything is sent.
  func validate() throws {
    guard retry <= Self.mostRetries else {
      throw ValidationError("--retry is 0 to \(Self.mostRetries)")
    }
    try require.checkLabels()
    try label.checkLabels()
    _ = try resource.namedAmounts()
    if let queue, !(1...Limits.nameBytes).contains(queue.utf8.count) {
      throw ValidationError("a queue's name has 1 to \(Limits.nameBytes) bytes")
    }
  }

  /// The same limit as in a manifest. A higher number is a typing error sooner than a wish.
  private static let mostRetries: UInt32 = 100

  /// Applies the options to a graph of one operation. Call it after the graph was made: it replaces
  /// demand, requirements, retries and labels. Expects exactly one template.
  func apply(to submission: inout GraphSubmission) {
    submission.templates[0].demand = Resources(
      cpus: cpus?.value ?? ResourceAmount(1), memoryBytes: memory?.bytes ?? 0,
      gpus: gpus?.value ?? .zero,
      custom: (try? resource.namedAmounts()) ?? [])
    submission.templates[0].requirements = require.requirements
    submission.templates[0].retry = RetryPolicy(maximum: retry)
    submission.labels = label.map { Label(key: $0.key, value: $0.value) }
    if let queue { submission.queues = [.named(queue)] }
  }
}

/// The environment and folder of one command: `--env`, `--workdir`. Of the machine that submits:
/// its variables, its folder, its stdin.
struct CommandOptions: ParsableArguments {
  @Option(
    name: [.customShort("e"), .customLong("env")],
    help: ArgumentHelp(
      "A variable for the command; the value is ours if not given. May be repeated.",
      valueName: "name[=value]"))
  var environment: [String] = []

  @Option(
    help: ArgumentHelp("The folder that it runs in; ours, if not given.", valueName: "folder"),
    completion: .directory)
  var workdir: String?

  @Flag(name: .customLong("no-stdin"), help: "Do not pass our stdin on to the command.")
  var ignoresInput = false

  /// Whether no option was given.
  var isEmpty: Bool { environment.isEmpty && workdir == nil && !ignoresInput }

  /// Returns a graph of one operation that runs `command` with these options.
  func submission(
    _ command: [String], timeout: TimeLength?, _ console: Console
  ) throws(Failure) -> GraphSubmission {
    let input = ignoresInput ? .nothing : try console.passedInput.get()
    let submission = CommandRun.submission(
      command, environment: try variables(), timeout: timeout, input: input, folder: folder)
    guard submission.templates[0].payload.count <= Limits.payloadBytes else {
      throw Failure(
        .badInput, code: "too_large",
        "the command with its variables and its stdin has more than "
          + "\(Limits.payloadBytes / 1024) KiB",
        hint: PassedInput.advice)
    }
    return submission
  }

  /// The folder; a relative one starts from ours. Links are resolved here, as a shell shows the
  /// folder after `cd`.
  private var folder: String? {
    guard let workdir, !workdir.isEmpty else { return nil }
    let path = workdir.hasPrefix("/") ? workdir : "\(ThisProcess.workingFolder)/\(workdir)"
    // A folder that exists only on the workers stays as written.
    return ThisProcess.realPath(path) ?? path
  }

  /// The variables in the order given. Refuses those that change what the command loads (G38),
  /// before anything is sent; the worker refuses them again.
  private func variables() throws(Failure) -> [Assignment] {
    var result: [Assignment] = []
    for text in environment {
      if let assignment = Assignment(argument: text) {
        result.append(assignment)
        // `-e NAME` alone passes our value on, as other runners do it.
      } else if let value = OwnProcess.filledVariable(text) {
        result.append(Assignment(key: text, value: value))
      } else {
        throw .usage("variable '\(safe(text))' is not set here", hint: "write NAME=VALUE")
      }
    }
    for assignment in result {
      guard let objection = CommandVariables.objection(to: assignment.key, assignment.value)
      else { continue }
      throw .usage(safe(objection.message), hint: safe(objection.hint))
    }
    return result
  }
}
