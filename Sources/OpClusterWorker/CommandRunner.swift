// Runs commands: makes of a template and a launch a process, of its end a result. Owns the process
// host; lives on the loop thread.

import Glibc
import OpClusterModel
import OpClusterProcesses
import OpClusterZeroMQ

/// A command that runs.
private struct RunningCommand {
  var attempt: AttemptID
  var reference: ProcessReference
  var slot: SlotPaths
  /// Where the streams really go.
  var streams: StreamPaths
  var command: CommandSpecification
  var startedAt: WallTime
  var hasCancelledFile = false
}

/// A command that has ended, its files still where it left them.
private struct EndedCommand {
  var command: RunningCommand
  var isSuccess: Bool
  var end: EndedProcess
}

/// Where the two streams of a command go.
private struct StreamPaths {
  var output: String
  var error: String
}

final class CommandRunner {
  let host: ProcessHost
  private let scratch: Scratch
  private let user: String
  private let home: String
  /// Unguessable, new for each run of the worker: the first part of every `OP_FENCE`.
  private let fence: String
  private var running: [UInt64: RunningCommand] = [:]
  private var tokens: [AttemptID: UInt64] = [:]
  private var newestToken: UInt64 = 0
  private var untidy: [EndedCommand] = []

  init(host: ProcessHost, scratch: Scratch, session: WorkerSession) {
    self.host = host
    self.scratch = scratch
    fence = String(session.number, radix: 16)
    home = Terminal.variable("HOME") ?? "/"
    user = Terminal.variable("USER") ?? "\(getuid())"
  }

  var count: Int { running.count }

  /// Where a stream of a running command goes; nil when it does not run.
  func stream(_ stream: LogStream, of attempt: AttemptID) -> String? {
    guard let token = tokens[attempt], let streams = running[token]?.streams else { return nil }
    return stream == .standardOutput ? streams.output : streams.error
  }

  /// Starts the process; what it throws is the attempt's end.
  func start(
    _ attempt: AttemptID, _ template: PreparedTemplate, _ command: CommandSpecification,
    argument: [UInt8], inputs: [DependencyInput]
  ) throws(AttemptProblem) {
    guard let elements = ElementValues.decode(argument, keyCount: command.elementKeys.count) else {
      throw AttemptProblem(
        cause: .badArgument,
        message: "the element's values do not fit its keys; submit the graph anew")
    }
    let values = AttemptValues(
      index: template.shownIndex(of: attempt.operation), elements: elements, inputs: inputs)
    let slot: SlotPaths
    do throws(Folders.Problem) {
      slot = try scratch.takeSlot()
    } catch {
      throw AttemptProblem(cause: .cannotStart, message: error.description)
    }
    do throws(AttemptProblem) {
      var specification = try specification(attempt, template, command, values, slot)
      let streams = try direct(&specification, command, values, slot)
      try spawn(attempt, specification, command, slot, streams)
    } catch {
      scratch.giveBack(slot)
      throw error
    }
  }

  private func spawn(
    _ attempt: AttemptID, _ specification: ProcessSpecification, _ command: CommandSpecification,
    _ slot: SlotPaths, _ streams: StreamPaths
  ) throws(AttemptProblem) {
    newestToken += 1
    do throws(SpawnError) {
      let reference = try host.start(specification, token: newestToken)
      tokens[attempt] = newestToken
      running[newestToken] = RunningCommand(
        attempt: attempt, reference: reference, slot: slot, streams: streams, command: command,
        startedAt: WallTime(milliseconds: WallClock.now()))
    } catch {
      throw AttemptProblem(cause: .cannotStart, message: error.description)
    }
  }

  private func specification(
    _ attempt: AttemptID, _ template: PreparedTemplate, _ command: CommandSpecification,
    _ values: AttemptValues, _ slot: SlotPaths
  ) throws(AttemptProblem) -> ProcessSpecification {
    let form: ProcessSpecification.Command
    switch command.form {
    case .arguments(let texts):
      var arguments: [String] = []
      for text in texts { arguments.append(try values.render(text)) }
      form = .arguments(arguments)
    case .shell(let interpreter, let text):
      form = .shell(
        try values.render(text), prefix: interpreter.isEmpty ? ["/bin/sh", "-c"] : interpreter)
    }
    var specification = ProcessSpecification(command: form)
    specification.environment = try environment(attempt, template, command, values, slot)
    specification.workingDirectory =
      command.workingDirectory.isEmpty ? slot.folder : command.workingDirectory
    specification.outputLimit = Int(clamping: command.maximumOutputBytes)
    specification.nice = Self.nice(template.announcement.qos)
    return specification
  }

  /// QoS is the scheduling class of the job (S55).
  static func nice(_ qos: QualityOfService) -> Int32 {
    switch qos {
    case .background: 10
    case .utility: 5
    case .default, .userInitiated, .userInteractive: 0
    }
  }

  /// Connects the three streams. Returns where the outputs go.
  private func direct(
    _ specification: inout ProcessSpecification, _ command: CommandSpecification,
    _ values: AttemptValues, _ slot: SlotPaths
  ) throws(AttemptProblem) -> StreamPaths {
    let folder = specification.workingDirectory ?? slot.folder
    func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : "\(folder)/\(path)" }
    switch command.standardInput {
    case .nothing: break
    case .text(let text): specification.input = .bytes(Array(try values.render(text).utf8))
    case .file(let path): specification.input = .file(path: absolute(try values.render(path)))
    }
    var (output, error) = (slot.output, slot.error)
    if let text = command.standardOutput { output = absolute(try values.render(text)) }
    if let text = command.standardError { error = absolute(try values.render(text)) }
    specification.output = .file(Self.file(output, own: slot.output))
    specification.error =
      error == output ? .sameAsOutput : .file(Self.file(error, own: slot.error))
    return StreamPaths(output: output, error: error)
  }

  /// A slot's own files are empty and seldom written to: neither emptied nor closed each time.
  private static func file(_ path: String, own: String) -> OutputFile {
    OutputFile(path: path, appends: path == own, isUsedAgain: path == own)
  }

  /// The clean environment with what interface.md promises to an operation.
  private func environment(
    _ attempt: AttemptID, _ template: PreparedTemplate, _ command: CommandSpecification,
    _ values: AttemptValues, _ slot: SlotPaths
  ) throws(AttemptProblem) -> [(name: String, value: String)] {
    let operation = attempt.operation
    let demand = template.announcement.demand
    var variables: [(name: String, value: String)] = [
      ("OP_GRAPH", String(operation.graph.number)), ("OP_NAME", template.announcement.name),
      ("OP_ATTEMPT", String(attempt.attempt)), ("OP_CPUS", Self.text(demand.cpus)),
      ("OP_MEMORY_BYTES", String(demand.memoryBytes)), ("OP_SCRATCH", slot.folder),
      ("OP_OUTPUT", slot.values), ("OP_CANCELLED", slot.cancelled),
      (
        "OP_FENCE",
        "\(fence)-\(operation.graph.number).\(operation.index).\(attempt.attempt)"
      ),
    ]
    if template.announcement.isArray { variables.append(("OP_INDEX", String(values.index))) }
    if demand.gpus > .zero { variables.append(("OP_GPUS", Self.text(demand.gpus))) }
    for (key, value) in zip(command.elementKeys, values.elements) {
      variables.append((key == "item" ? "OP_ITEM" : Self.variableName(key), value))
    }
    for variable in command.environment {
      variables.append((variable.name, try values.render(variable.value)))
    }
    do throws(OperationEnvironment.Refusal) {
      return try OperationEnvironment.clean(
        given: variables, home: home, user: user, temporaryFolder: slot.folder)
    } catch {
      throw AttemptProblem(cause: .cannotStart, message: error.description)
    }
  }

  /// `OP_MATRIX_<KEY>`: capitals, digits and `_`.
  static func variableName(_ key: String) -> String {
    "OP_MATRIX_"
      + String(key.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  /// `2`, or `0.5`.
  static func text(_ amount: ResourceAmount) -> String {
    amount.tenThousandths % 10_000 == 0
      ? String(amount.tenThousandths / 10_000) : String(amount.units)
  }

  /// Asks the whole tree to stop: the flag file, then the signal.
  func stop(_ attempt: AttemptID) {
    guard let token = tokens[attempt], let command = running[token] else { return }
    Folders.touch(command.slot.cancelled)
    running[token]?.hasCancelledFile = true
    host.signalTree(command.reference, command.command.stopSignal)
  }

  func kill(_ attempt: AttemptID) {
    guard let token = tokens[attempt], let command = running[token] else { return }
    host.killTree(command.reference)
  }

  /// What has ended since the last call, with its results.
  func collectEnded() -> [(AttemptID, AttemptResult)] {
    host.collectEnded().compactMap { ended in
      guard let command = running.removeValue(forKey: ended.reference.token) else { return nil }
      tokens[command.attempt] = nil
      let result = result(of: ended, command)
      untidy.append(EndedCommand(command: command, isSuccess: result.isSuccess, end: ended))
      return (command.attempt, result)
    }
  }

  /// The raw end: why it was stopped is the brain's to say.
  private func result(of ended: EndedProcess, _ command: RunningCommand) -> AttemptResult {
    var result = AttemptResult()
    result.startedAt = command.startedAt
    result.endedAt = WallTime(milliseconds: WallClock.now())
    result.maximumResidentBytes = ended.peakMemory.bytes
    result.processorMicroseconds = Self.microseconds(ended.userTime + ended.systemTime)
    switch ended.status {
    case .exited(let status):
      result.exitStatus = status
      let isSuccess =
        command.command.successStatuses.isEmpty
        ? status == 0 : command.command.successStatuses.contains { Int32($0) == status }
      result.cause = isSuccess ? .none : .failed
    case .signalled(let signal):
      result.signal = signal
      result.cause = .signal
    case .unknown:
      result.cause = .failed
      result.diagnostic = "the end of the process was not seen; somebody else waited for it"
    }
    if result.cause == .none {
      do throws(AttemptProblem) {
        result.output = try OutputValues.read(
          command.slot.values, declared: command.command.outputs)
      } catch {
        result.cause = error.cause
        result.diagnostic = error.result.diagnostic
      }
    } else if result.diagnostic.isEmpty {
      result.diagnostic = LogFiles.end(of: command.streams.error)
    }
    return result
  }

  private static func microseconds(_ time: Duration) -> UInt64 {
    let (seconds, attoseconds) = time.components
    return UInt64(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
  }

  /// Keeps the logs of what has ended and frees the slots: at the end of the turn, when what comes
  /// next runs already.
  func tidy() {
    for ended in untidy { tidy(ended) }
    untidy.removeAll(keepingCapacity: true)
  }

  private func tidy(_ ended: EndedCommand) {
    let (attempt, slot) = (ended.command.attempt, ended.command.slot)
    let streams = ended.command.streams
    scratch.keep(
      streams.output, of: attempt, .standardOutput, isOwn: streams.output == slot.output,
      size: ended.end.outputSize)
    scratch.keep(
      streams.error, of: attempt, .standardError, isOwn: streams.error == slot.error,
      size: ended.end.errorSize)
    // The values of a success have been read and are gone.
    if !ended.isSuccess { Folders.remove(slot.values) }
    if ended.command.hasCancelledFile { Folders.remove(slot.cancelled) }
    // A slot in which something may still write is not used again.
    if !ended.end.leftSomethingBehind { scratch.giveBack(slot) }
  }

  /// Kills what is left; for the end of the worker.
  func endAll(within limit: Duration) { _ = host.endAll(within: limit) }
}
