// `run -- CMD`: runs one command operation; its streams and status become ours.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterWire
import Synchronization

/// Runs one command on the cluster. Events tell when it begins and ends. Its output is polled at
/// short intervals, since no event tells of it.
final class CommandRun: Sendable {
  private let connection: ClusterConnection
  private let console: Console
  private let timeout: Duration?
  private let life = Mutex(Life())

  /// The events' view of the operation, shared by the tasks of `run`.
  private struct Life {
    /// The newest attempt; 0 before the first.
    var attempt: UInt32 = 0
    /// An attempt is running: its worker enforces the time limit.
    var isRunning = false
    var hasEnded = false
    /// We cancelled the operation: its time was up before it ran.
    var isTimeUp = false
  }

  /// The time between two polls of the output.
  private static let pause = Duration.milliseconds(50)
  /// Maximum time to wait for the last output after the end.
  private static let drainTime = Duration.seconds(5)

  /// - Parameter timeout: Maximum time until the start; the running command has a limit of its own.
  init(_ connection: ClusterConnection, _ console: Console, timeout: Duration?) {
    self.connection = connection
    self.console = console
    self.timeout = timeout
  }

  /// Returns a graph of one operation that runs `command`, by default in our folder.
  static func submission(
    _ command: [String], environment: [Assignment] = [], timeout: TimeLength? = nil,
    input: CommandSpecification.StandardInput = .nothing, folder: String? = nil
  ) -> GraphSubmission {
    var specification = CommandSpecification(form: .arguments(command.map { CommandText($0) }))
    specification.workingDirectory = folder ?? ThisProcess.workingFolder
    specification.standardInput = input
    specification.environment = environment.map {
      CommandSpecification.Variable(name: $0.key, value: CommandText($0.value))
    }
    specification.timeout = timeout.map { .milliseconds($0.milliseconds) }
    var template = OperationTemplate(name: "run", work: .command)
    template.payload = Wire.encode(command: specification)
    // Without its folder: a `/` cannot be in the name of a graph.
    let name = command[0].split(separator: "/").last.map(String.init) ?? "run"
    var submission = GraphSubmission(name: String(decoding: name.utf8.prefix(64), as: UTF8.self))
    submission.templates = [template]
    submission.queues = [.named("default")]
    return submission
  }

  /// Submits and stays to the end. Only `pump` ends the group: the operation may have ended before
  /// its last output has arrived. An error of any task ends all.
  func run(_ submission: GraphSubmission) async throws -> ExitStatus {
    // The position of before the submission, so that no event of the graph can be missed (S116).
    guard case .pong(_, _, let since) = try await connection.request(.ping) else {
      throw Failure.unexpectedReply("ping")
    }
    // The graph has one operation, number 0.
    let graph = try await GraphRun.submit(submission, connection).graph
    let operation = OperationID(graph: graph, index: 0)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await self.listen(EventSubscription(number: 1, selection: .graph(graph), since: since))
        return false
      }
      group.addTask {
        try await self.pump(operation)
        return true
      }
      group.addTask {
        try await GraphRun.cancel(graph, self.connection, self.console) {
          // Begin a new line: the terminal shows ^C, and the command may have written before it.
          self.console.say((self.console.errorIsTerminal ? "\n" : "") + $0)
        }
        return false
      }
      group.addTask {
        try await WaitingNotice(self.connection, self.console).watch(graph) {
          self.life.withLock { $0.attempt == 0 && !$0.hasEnded }
        }
        return false
      }
      if let timeout {
        group.addTask {
          try await Task.sleep(for: timeout)
          try await self.giveUp(graph)
          return false
        }
      }
      while let isDone = try await group.next() { if isDone { return } }
    }
    return try await status(of: graph)
  }

  /// Cancels the operation when the time is up, as soon as it does not run. While an attempt runs,
  /// its worker counts the limit; a limit of ours beside it would count twice.
  private func giveUp(_ graph: GraphID) async throws {
    while true {
      let isOurs = life.withLock { life in
        life.isTimeUp = !life.isRunning && !life.hasEnded
        return life.isTimeUp
      }
      if isOurs { break }
      try await Task.sleep(for: Self.pause)
    }
    console.say("the time is up; cancelling: no worker runs it")
    try await GraphRun.stop(graph, connection, "timeout", kill: false)
  }

  /// Applies events until the operation has ended.
  private func listen(_ subscription: EventSubscription) async throws {
    for try await batch in connection.events(subscription) {
      let hasEnded = life.withLock { life in
        for event in batch.events {
          switch event.kind {
          case .attemptStarted(let attempt, _):
            life.attempt = max(attempt, life.attempt)
            life.isRunning = true
          case .attemptEnded: life.isRunning = false
          case .isFinished: life.hasEnded = true
          default: break
          }
        }
        return life.hasEnded
      }
      if hasEnded { return }
    }
  }

  /// Copies the output to ours until the operation has ended and its output is complete.
  private func pump(_ operation: OperationID) async throws {
    var attempt: UInt32 = 0
    var offsets: [LogStream: Int64] = [:]
    var deadline: ContinuousClock.Instant?
    while true {
      // Read the state before the logs, so that the logs of an ended attempt are complete.
      let (newest, hasEnded) = life.withLock { ($0.attempt, $0.hasEnded) }
      if newest != attempt {
        attempt = newest
        offsets = [:]
      }
      var isComplete = true
      if attempt > 0 {
        for stream in LogStream.allCases {
          let selection = AttemptSelection(operation: operation, attempt: attempt)
          let isOver = try await drain(selection, stream, &offsets[stream, default: 0])
          isComplete = isComplete && isOver
        }
      }
      if hasEnded {
        let end = deadline ?? ContinuousClock.now + Self.drainTime
        deadline = end
        // A worker that is gone with its log must not keep us.
        if isComplete || ContinuousClock.now > end { return }
      }
      try await Task.sleep(for: Self.pause)
    }
  }

  /// Copies one stream; true if it is complete.
  private func drain(
    _ attempt: AttemptSelection, _ stream: LogStream, _ offset: inout Int64
  ) async throws -> Bool {
    while true {
      let request = ClientRequest.log(
        attempt, stream, offset: offset, maximumBytes: UInt32(Limits.logChunkBytes))
      let reply: ClientReply
      do throws(ClientError) {
        reply = try await connection.request(request, timeout: .seconds(10))
      } catch {
        // The log does not exist yet, or no longer; the status matters more.
        guard case .refused = error.kind else { throw error }
        return true
      }
      guard case .log(let chunk) = reply else { throw Failure.unexpectedReply("log") }
      guard chunk.problem.isEmpty else { return true }
      if !chunk.bytes.isEmpty {
        if stream == .standardError {
          console.say(bytes: chunk.bytes)
        } else {
          // A closed stdout does not end the command.
          try? console.write(bytes: chunk.bytes)
        }
      }
      offset = Int64(clamping: chunk.offset) + Int64(chunk.bytes.count)
      if chunk.bytes.isEmpty || offset >= Int64(clamping: chunk.size) { return chunk.isComplete }
    }
  }

  /// Converts the operation's end to our exit status. The last words of the coordinator. A command
  /// that succeeded gives 0 whatever signal came meanwhile.
  private func status(of graph: GraphID) async throws -> ExitStatus {
    let request = ClientRequest.operations(.graph(graph), after: nil, limit: 1)
    guard case .operations(let rows, _) = try await connection.request(request),
      let row = rows.first
    else { throw Failure.unexpectedReply("operations") }
    let result = row.result ?? .success
    switch row.outcome {
    case .succeeded: return .success
    case .timedOut: return .commandTimedOut
    case .cancelled, .skipped, nil:
      if life.withLock({ $0.isTimeUp }) { return .commandTimedOut }
      // A cancelled command may have exited by itself; one that never ran ends as in a shell after
      // Ctrl-C.
      if result.exitStatus != 0 { return ExitStatus(code: result.exitStatus) }
      return .commandSignalled(result.signal == 0 ? SIGINT : result.signal)
    case .lost:
      return explain(.commandNotStarted, "the workers that ran it were lost")
    case .failed: return failed(result)
    }
  }

  /// The status of the last attempt. 128 + n for a signal, as shells have it.
  private func failed(_ result: AttemptResult) -> ExitStatus {
    switch result.cause {
    case .timeout: return .commandTimedOut
    case .outOfMemory: return explain(.commandSignalled(SIGKILL), "it used too much memory")
    case .cannotStart: return explain(Self.startStatus(result), result.diagnostic)
    default:
      if result.signal != 0 { return .commandSignalled(result.signal) }
      if result.exitStatus != 0 { return ExitStatus(code: result.exitStatus) }
      return explain(.commandNotStarted, result.diagnostic)
    }
  }

  /// The status of a command that was not started, as a shell reports it.
  static func startStatus(_ result: AttemptResult) -> ExitStatus {
    if [126, 127].contains(result.exitStatus) { return ExitStatus(code: result.exitStatus) }
    return .commandNotStarted
  }

  private func explain(_ status: ExitStatus, _ reason: String) -> ExitStatus {
    console.report(Failure(status, code: "command_failed", reason))
    return status
  }
}
