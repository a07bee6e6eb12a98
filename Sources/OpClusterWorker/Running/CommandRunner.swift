// Runs commands: makes of a specification and a job a process, of its end a result. Belongs to
// `AttemptRunner`, on its thread; `CommandEnvironment.swift` holds what commands are told.

import Glibc
import OpClusterModel
import OpClusterProcesses
import OpClusterZeroMQ

/// A command that runs.
private struct RunningCommand {
  var part: Part
  var reference: ProcessReference
  var slot: SlotPaths
  /// As whom it runs; nil: as the worker.
  var account: LocalAccount? { slot.account }
  /// Where the streams really go.
  var streams: StreamPaths
  var command: CommandSpecification
  var demand: Resources
  var startedAt: WallTime
  var hasCancelledFile = false
}

/// A command that has ended, its files still where it left them.
private struct EndedCommand {
  var command: RunningCommand
  var isSuccess: Bool
  var end: EndedProcess
}

/// A file as a command names it.
private struct NamedFile {
  /// Absolute.
  let path: String
  let output: OutputFile

  /// A relative name stays in its folder, come what may (G38); an absolute one is where the
  /// submitter wants it.
  init(_ text: String, in folder: String) {
    let named = OutputPath(text, in: folder)
    path = named.path
    output = OutputFile(
      path: named.name, beneath: named.root, followsInnerLinks: named.root != nil)
  }
}

/// Where the two streams of a command go.
private struct StreamPaths {
  var output: String
  var error: String
}

final class CommandRunner {
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
  /// Slots of commands that have ended and of which processes live that KILL does not end.
  private var survived: [UInt64: SlotPaths] = [:]

  init(
    host: ProcessHost, scratch: Scratch, session: UInt64, limits: OperationLimits,
    accounts: OperationAccounts
  ) {
    self.host = host
    self.accounts = accounts
    self.limits = limits
    self.scratch = scratch
    fence = String(session, radix: 16)
    home = OwnProcess.variable("HOME") ?? "/"
    user = OwnProcess.variable("USER") ?? "\(getuid())"
  }

  /// The numbers of attempts may come again: what they mean to others must not.
  func beginAnew(session: UInt64) { fence = String(session, radix: 16) }

  /// Where a stream of a running command goes; nil when it does not run.
  func stream(_ stream: LogStream, of attempt: AttemptID) -> LogPlace? {
    guard let token = tokens[Part(attempt: attempt)], let command = running[token] else {
      return nil
    }
    let streams = command.streams
    return LogPlace(
      path: stream == .standardOutput ? streams.output : streams.error, account: command.account)
  }

  /// Starts the process; what it throws is the part's end. A block's streams are appended to the
  /// attempt's own files, so that those hold what all of its blocks write.
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
      try spawn(part, specification, command, job.announcement.demand, slot, streams)
    } catch {
      scratch.giveBack(slot, isSuspect: true)
      throw error
    }
  }

  private func spawn(
    _ part: Part, _ specification: ProcessSpecification, _ command: CommandSpecification,
    _ demand: Resources, _ slot: SlotPaths, _ streams: StreamPaths
  ) throws(AttemptProblem) {
    newestToken += 1
    do throws(SpawnError) {
      let reference = try host.start(specification, token: newestToken)
      tokens[part] = newestToken
      running[newestToken] = RunningCommand(
        part: part, reference: reference, slot: slot, streams: streams, command: command,
        demand: demand, startedAt: WallTime(milliseconds: WallClock.now()))
    } catch {
      throw error.problem
    }
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
    specification.environment = try environment(job, command, values, slot, references)
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

  /// Connects the three streams. Returns where the outputs go.
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
        // A slot's own files are empty and seldom written to: neither emptied nor closed each time.
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

  /// Nothing of the tree is left after all: nothing writes in its slot any more.
  func survivorsGone(_ token: UInt64) {
    if let slot = survived.removeValue(forKey: token) { scratch.giveBack(slot, isSuspect: true) }
  }

  /// A process tree is gone: the result of what it ran; nil if it was no command's.
  func ended(_ end: EndedProcess) -> (Part, AttemptResult)? {
    guard let command = running.removeValue(forKey: end.reference.token) else { return nil }
    tokens[command.part] = nil
    let result = result(of: end, command)
    untidy.append(EndedCommand(command: command, isSuccess: result.isSuccess, end: end))
    return (command.part, result)
  }

  /// The raw end: why it was stopped is the brain's to say.
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

  /// What a shell says where it does not find a program, and what to do about it.
  private static func hinting(_ text: String) -> String {
    let hint = "127: not found in the operation's PATH; " + SpawnError.pathHint
    var kept = Substring(text)
    while kept.utf8.count + hint.utf8.count + 1 > Limits.diagnosticBytes { kept.removeFirst() }
    return String(kept) + (kept.isEmpty || kept.hasSuffix("\n") ? "" : "\n") + hint
  }

  /// Where nothing can be written, what failed mostly did so for that, and had no room to say it.
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

  /// Keeps the logs of what has ended and frees the slots: at the end of the turn, when what comes
  /// next runs already.
  func tidy() {
    for ended in untidy { tidy(ended) }
    untidy.removeAll(keepingCapacity: true)
  }

  private func tidy(_ ended: EndedCommand) {
    let (part, slot) = (ended.command.part, ended.command.slot)
    let streams = ended.command.streams
    // The values of a success have been read and are gone.
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
    // A slot in which something may still write is not used before that has ended.
    if ended.end.leftSomethingBehind {
      survived[ended.end.reference.token] = slot
    } else {
      scratch.giveBack(slot, isSuspect: isSuspect)
    }
  }
}
