// Runs commands: starts a process from a specification and a job, and converts its end to a result.
// Belongs to `AttemptRunner`, on its thread; `CommandEnvironment.swift` has the commands'
// environment.

import Glibc
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// A command that runs.
private struct RunningCommand {
  var part: Part
  var reference: ProcessReference
  var slot: SlotPaths
  /// The account that it runs as; nil: the worker's.
  var account: LocalAccount? { slot.account }
  /// The real files of the streams.
  var streams: StreamPaths
  var command: CommandSpecification
  var demand: Resources
  /// The files that it has to leave; nil: none.
  var promise: OutputFilePromise?
  var startedAt: WallTime
  var hasCancelledFile = false
}

/// An ended command whose files are still in place.
private struct EndedCommand {
  var command: RunningCommand
  var isSuccess: Bool
  var end: EndedProcess
}

/// A file by the name that a command gives.
private struct NamedFile {
  /// Absolute.
  let path: String
  let output: OutputFile

  /// A relative name stays beneath its folder in every case (G38); an absolute one is unrestricted.
  init(_ text: String, in folder: String) {
    let named = OutputPath(text, in: folder)
    path = named.path
    output = OutputFile(
      path: named.name, beneath: named.root, followsInnerLinks: named.root != nil)
  }
}

/// The files of a command's two streams.
private struct StreamPaths {
  var output: String
  var error: String
}

package final class CommandRunner {
  private let host: ProcessHost
  private let scratch: Scratch
  private let limits: OperationLimits
  private let accounts: OperationAccounts
  let user: String
  let home: String
  /// Unguessable, new for each session of the worker: the first part of every `OP_FENCE`.
  private(set) var fence: String
  private var running: [UInt64: RunningCommand] = [:]
  private var tokens: [Part: UInt64] = [:]
  private var newestToken: UInt64 = 0
  private var untidy: [EndedCommand] = []
  /// Ended ones whose output files are being kept: their folders stay until then.
  private var leaving: [Part: EndedCommand] = [:]
  private let mayKeepFiles: () -> Bool
  /// Slots of ended commands with processes that KILL does not end.
  private var survived: [UInt64: SlotPaths] = [:]

  init(
    host: ProcessHost, scratch: Scratch, session: UInt64, limits: OperationLimits,
    accounts: OperationAccounts, mayKeepFiles: @escaping () -> Bool
  ) {
    self.mayKeepFiles = mayKeepFiles
    self.host = host
    self.accounts = accounts
    self.limits = limits
    self.scratch = scratch
    fence = String(session, radix: 16)
    home = OwnProcess.variable("HOME") ?? "/"
    user = OwnProcess.variable("USER") ?? "\(getuid())"
  }

  /// Changes the fence: the numbers of attempts may come again, but an `OP_FENCE` must not.
  func beginAnew(session: UInt64) { fence = String(session, radix: 16) }

  /// Returns the file of a running command's stream; nil if the command does not run.
  func stream(_ stream: LogStream, of attempt: AttemptID) -> LogPlace? {
    guard let token = tokens[Part(attempt: attempt)], let command = running[token] else {
      return nil
    }
    let streams = command.streams
    return LogPlace(
      path: stream == .standardOutput ? streams.output : streams.error, account: command.account)
  }

  /// Starts the process; an error ends the part. A block appends its streams to the attempt's own
  /// files, which hold the output of all blocks.
  func start(
    _ part: Part, _ job: Job, _ command: CommandSpecification, argument: [UInt8]
  ) throws(AttemptProblem) {
    guard let elements = ElementValues.decode(argument, keyCount: command.elementKeys.count) else {
      throw AttemptProblem(
        cause: .badArgument,
        message: "the element's values do not fit its keys; submit the graph anew")
    }
    let values = AttemptValues(
      index: job.shownIndex, elements: elements, inputs: job.inputs,
      secrets: job.announcement.secrets)
    if !command.outputFiles.isEmpty, !mayKeepFiles() {
      throw AttemptProblem(
        cause: .cannotStart, message: "this worker has no store for the files of its outputs")
    }
    let slot: SlotPaths
    let account = try accounts.account(of: job.announcement)
    do throws(Folders.Problem) {
      slot = try scratch.takeSlot(for: account)
      if !part.isWhole { try scratch.makeLogs(part.attempt, for: account) }
    } catch {
      throw AttemptProblem(cause: .cannotStart, message: error.description)
    }
    do throws(AttemptProblem) {
      var specification = try specification(job, command, values, slot)
      let streams = try direct(&specification, part, command, values, slot)
      limits.bind(&specification, job.announcement)
      let promise = try promise(of: command, values, specification, slot)
      try spawn(part, specification, command, job.announcement.demand, promise, slot, streams)
    } catch {
      scratch.giveBack(slot, isSuspect: true)
      throw error
    }
  }

  private func spawn(
    _ part: Part, _ specification: ProcessSpecification, _ command: CommandSpecification,
    _ demand: Resources, _ promise: OutputFilePromise?, _ slot: SlotPaths, _ streams: StreamPaths
  ) throws(AttemptProblem) {
    newestToken += 1
    do throws(SpawnError) {
      let reference = try host.start(specification, token: newestToken)
      tokens[part] = newestToken
      running[newestToken] = RunningCommand(
        part: part, reference: reference, slot: slot, streams: streams, command: command,
        demand: demand, promise: promise, startedAt: WallTime(milliseconds: WallClock.now()))
    } catch {
      throw error.problem
    }
  }

  private func promise(
    of command: CommandSpecification, _ values: AttemptValues,
    _ specification: ProcessSpecification, _ slot: SlotPaths
  ) throws(AttemptProblem) -> OutputFilePromise? {
    if command.outputFiles.isEmpty { return nil }
    var files: [OutputFilePromise.File] = []
    for file in command.outputFiles {
      files.append(.init(name: file.name, path: try values.render(file.path)))
    }
    return OutputFilePromise(
      files: files, folder: specification.workingDirectory ?? slot.folder, account: slot.account)
  }

  private func specification(
    _ job: Job, _ command: CommandSpecification, _ values: AttemptValues, _ slot: SlotPaths
  ) throws(AttemptProblem) -> ProcessSpecification {
    let form: ProcessSpecification.Command
    var references: [(name: String, value: String)] = []
    switch command.form {
    case .arguments(let texts):
      var arguments: [String] = []
      for text in texts { arguments.append(try values.render(text)) }
      form = .arguments(arguments)
    case .shell(let interpreter, let text):
      let rendering = try values.renderForShell(text)
      references = rendering.variables
      form = .shell(
        rendering.text,
        prefix: interpreter.isEmpty ? CommandSpecification.standardShell : interpreter)
    }
    var specification = ProcessSpecification(command: form)
    specification.environment = try environment(
      job, command, values, slot, inputs: scratch.inputFolder(job.attempt), references)
    specification.workingDirectory =
      command.workingDirectory.isEmpty ? slot.folder : command.workingDirectory
    specification.outputLimit = Int(clamping: command.maximumOutputBytes)
    specification.nice = Self.nice(job.announcement.qos)
    specification.account = slot.account
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

  /// Connects the three streams. Returns the output files.
  private func direct(
    _ specification: inout ProcessSpecification, _ part: Part, _ command: CommandSpecification,
    _ values: AttemptValues, _ slot: SlotPaths
  ) throws(AttemptProblem) -> StreamPaths {
    let folder = specification.workingDirectory ?? slot.folder
    switch command.standardInput {
    case .nothing: break
    case .text(let text): specification.input = .bytes(Array(try values.render(text).utf8))
    case .file(let path):
      specification.input = .file(path: NamedFile(try values.render(path), in: folder).path)
    }
    let own =
      part.isWhole
      ? StreamPaths(output: slot.output, error: slot.error)
      : StreamPaths(
        output: scratch.log(part.attempt, .standardOutput),
        error: scratch.log(part.attempt, .standardError))
    func file(_ text: CommandText?, own: String) throws(AttemptProblem) -> (String, OutputFile) {
      guard let text else {
        // A slot's own files are empty and rarely written: they are neither emptied nor closed each
        // time.
        return (
          own,
          OutputFile(
            path: scratch.relative(own), beneath: scratch.path, appends: true,
            isUsedAgain: part.isWhole)
        )
      }
      let named = NamedFile(try values.render(text), in: folder)
      return (named.path, named.output)
    }
    let (output, outputFile) = try file(command.standardOutput, own: own.output)
    let (error, errorFile) = try file(command.standardError, own: own.error)
    specification.output = .file(outputFile)
    specification.error = error == output ? .sameAsOutput : .file(errorFile)
    return StreamPaths(output: output, error: error)
  }

  /// Asks the whole tree to stop: the flag file, then the signal.
  func stop(_ part: Part) {
    guard let token = tokens[part], let command = running[token] else { return }
    scratch.touch(command.slot.cancelled)
    running[token]?.hasCancelledFile = true
    host.signalTree(command.reference, command.command.stopSignal)
  }

  func kill(_ part: Part) {
    guard let token = tokens[part], let command = running[token] else { return }
    host.killTree(command.reference)
  }

  /// The part that a process tree runs.
  func part(of token: UInt64) -> Part? { running[token]?.part }

  /// Frees the slot after the last surviving process has ended.
  func survivorsGone(_ token: UInt64) {
    if let slot = survived.removeValue(forKey: token) { scratch.giveBack(slot, isSuspect: true) }
  }

  /// Returns the result of a command whose process tree is gone, and the files that are still to be
  /// kept of it; nil if the tree was not a command's.
  func ended(_ end: EndedProcess) -> (Part, AttemptResult, OutputFilePromise?)? {
    guard let command = running.removeValue(forKey: end.reference.token) else { return nil }
    tokens[command.part] = nil
    let result = result(of: end, command)
    let ended = EndedCommand(command: command, isSuccess: result.isSuccess, end: end)
    guard let promise = command.promise, result.isSuccess else {
      untidy.append(ended)
      return (command.part, result, nil)
    }
    leaving[command.part] = ended
    return (command.part, result, promise)
  }

  /// Frees the folder of a command whose files are kept.
  func filesKept(_ part: Part) {
    if leaving.isEmpty { return }
    if let ended = leaving.removeValue(forKey: part) { untidy.append(ended) }
  }

  /// Returns the raw result; the brain adds the reason of a stop.
  private func result(of ended: EndedProcess, _ command: RunningCommand) -> AttemptResult {
    var result = AttemptResult()
    result.startedAt = command.startedAt
    result.endedAt = WallTime(milliseconds: WallClock.now())
    result.maximumResidentBytes = ended.peakMemory.measured ?? 0
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
    if let verdict = limits.verdict(on: ended, command.demand) {
      result.cause = verdict.cause
      result.diagnostic = verdict.result.diagnostic
      return result
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
      result.diagnostic = LogFiles.end(
        of: LogPlace(path: command.streams.error, account: command.account))
      if result.exitStatus == 127, command.command.looksInUsualPath {
        result.diagnostic = Self.hinting(result.diagnostic)
      }
    }
    if result.cause != .none { blameDisk(&result) }
    return result
  }

  /// Adds a hint to a shell's message about a missing program.
  private static func hinting(_ text: String) -> String {
    let hint = "127: not found in the operation's PATH; " + SpawnError.pathHint
    var kept = Substring(text)
    while kept.utf8.count + hint.utf8.count + 1 > Limits.diagnosticBytes { kept.removeFirst() }
    return String(kept) + (kept.isEmpty || kept.hasSuffix("\n") ? "" : "\n") + hint
  }

  /// Names a full disk as the cause: most failures then come from it, and could not write their
  /// message.
  private func blameDisk(_ result: inout AttemptResult) {
    guard scratch.isDiskFull else { return }
    let cause = "the disk of this worker's folder '\(scratch.path)' is full; make room there"
    let rest = result.diagnostic.isEmpty ? "" : "\n\(result.diagnostic)"
    result.diagnostic = cause + rest
  }

  private static func microseconds(_ time: Duration) -> UInt64 {
    let (seconds, attoseconds) = time.components
    return UInt64(clamping: seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
  }

  /// Keeps the logs of ended commands and frees the slots, at the end of the turn, when the next
  /// commands already run.
  func tidy() {
    for ended in untidy { tidy(ended) }
    untidy.removeAll(keepingCapacity: true)
  }

  private func tidy(_ ended: EndedCommand) {
    let (part, slot) = (ended.command.part, ended.command.slot)
    let streams = ended.command.streams
    // The values of a success have been read and removed.
    var isSuspect = !ended.isSuccess || ended.command.hasCancelledFile
    if part.isWhole {
      let keepsOutput = scratch.keep(
        streams.output, of: part.attempt, .standardOutput, isOwn: streams.output == slot.output,
        size: ended.end.outputSize, for: slot.account)
      let keepsError = scratch.keep(
        streams.error, of: part.attempt, .standardError, isOwn: streams.error == slot.error,
        size: ended.end.errorSize, for: slot.account)
      isSuspect = isSuspect || !keepsOutput || !keepsError
    }
    // Keep the slot of a process that may still write until that process has ended.
    if ended.end.leftSomethingBehind {
      survived[ended.end.reference.token] = slot
    } else {
      scratch.giveBack(slot, isSuspect: isSuspect)
    }
  }
}
