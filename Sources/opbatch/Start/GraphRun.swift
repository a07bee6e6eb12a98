// Submits a graph and follows it to its end: shared by submit, run and demo. Shows progress on
// request, and handles Ctrl-C as the command wants.

import Glibc
import OpClusterClient
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Submits a graph and follows it.
struct GraphRun {
  /// The meaning of Ctrl-C.
  enum OnInterrupt {
    /// The first Ctrl-C asks the graph to stop, the second kills its operations.
    case cancel
    /// The command ends, the graph continues.
    case detach
  }

  let session: Session
  let console: Console
  let timeout: Duration?
  /// Whether to show the last output lines of the operations, if they are few.
  var showsOutput = false
  /// The submission; programs are told of it together with its end.
  var submitted: Submitted?
  /// Who is told of the graph while this follows it.
  var notifications: [GraphNotification] = []

  init(session: Session, console: Console, timeout: Duration?) {
    self.session = session
    self.console = console
    self.timeout = timeout
  }

  // No limit for each request: `timeout` is one for the whole.
  private var reader: Reader { Reader(connection: session.connection, timeout: nil) }

  /// The coordinator's answer to a submission.
  struct Accepted: Sendable {
    var graph: GraphID
    var operations: UInt32
    /// The key was known: `graph` is the earlier graph (G19).
    var repeated: Bool
  }

  /// One request. Its key makes it safe to send again, which the connection does by itself.
  static func submit(
    _ submission: GraphSubmission, _ connection: ClusterConnection, timeout: Duration? = nil
  ) async throws -> Accepted {
    let reply = try await connection.request(.submit(submission), timeout: timeout)
    guard case .accepted(let graph, let operations, let repeated) = reply else {
      throw Failure.unexpectedReply("submit")
    }
    return Accepted(graph: graph, operations: operations, repeated: repeated)
  }

  /// Returns a unique key, so that the coordinator recognises a repeated message. 128 random bits
  /// in base 36.
  static func randomKey() -> SubmissionKey {
    let halves = (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
    return SubmissionKey(halves.joined(separator: "-"))
  }

  /// Follows the graph to its end; returns the graph's status.
  func untilEnd(
    of graph: GraphID, showsProgress: Bool, onInterrupt: OnInterrupt
  ) async throws -> ExitStatus {
    // Before the rows: what happens between the two is then told by an event.
    let since = try await reader.lastEvent()
    let rows = try await reader.allGraphs(.graph(graph))
    let follower = try await GraphFollower(rows, since: since, reader)
    let isShown = showsProgress && !console.isQuiet
    let painter = isShown ? ProgressPainter(follower, console) : nil
    let told = FollowedNotifications(notifications, follower, reader, console)
    defer { told.leave() }
    let end = try await stay(with: graph, follower, painter, onInterrupt)
    switch end {
    case .finished:
      let status = try await finish(graph, painter)
      try await told.finish()
      return status
    case .interrupted:
      try await painter?.stop()
      try await tellPrograms(of: graph)
      console.sayDetached("watch", ["\(graph.number)"])
      return .interrupted
    // Programs are told where the graph stands: it may still be running.
    case .timedOut:
      try await painter?.stop()
      try await tellPrograms(of: graph)
      switch onInterrupt {
      case .cancel: console.say("the time is up; graph \(graph.number) is cancelled")
      case .detach: console.say("the time is up, and graph \(graph.number) has not ended")
      }
      return .timedOut
    }
  }

  /// Runs four tasks until the first has something to say: the follower, the painter, the
  /// interrupts and the time limit. Leaving the group cancels the others.
  private func stay(
    with graph: GraphID, _ follower: GraphFollower, _ painter: ProgressPainter?,
    _ onInterrupt: OnInterrupt
  ) async throws -> FollowEnd {
    let console = console
    let connection = session.connection
    let timeout = timeout
    let deadline = timeout.map { ContinuousClock.now + $0 }
    let end: FollowEnd = try await withThrowingTaskGroup(of: FollowEnd?.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        try await follower.run()
        return .finished
      }
      if let painter {
        group.addTask {
          try await painter.run()
          return nil
        }
      }
      group.addTask {
        switch onInterrupt {
        // The first signal is enough.
        case .detach: for await _ in console.interrupts { return .interrupted }
        case .cancel:
          try await Self.cancel(graph, connection, console) { text in
            if let painter { try await painter.say(text) } else { console.say(text) }
          }
        }
        return nil
      }
      if let timeout {
        group.addTask {
          try await Task.sleep(for: timeout)
          if case .cancel = onInterrupt {
            try await Self.stop(graph, connection, "timeout", kill: false)
          }
          return .timedOut
        }
      }
      while let end = try await group.next() {
        if let end { return end }
      }
      return .finished
    }
    // The graph may have ended because of the cancellation at the time limit.
    if end == .finished, let deadline, ContinuousClock.now >= deadline { return .timedOut }
    return end
  }

  /// The first Ctrl-C or TERM asks the graph to stop; all later ones kill.
  static func cancel(
    _ graph: GraphID, _ connection: ClusterConnection, _ console: Console,
    say: (String) async throws -> Void
  ) async throws {
    var count = 0
    for await signal in console.interrupts {
      count += 1
      try await say(cancelling(signal, isFirst: count == 1))
      try await stop(graph, connection, "interrupted", kill: count > 1)
    }
  }

  /// The message for a signal that cancels; mentions Ctrl-C only after SIGINT.
  static func cancelling(_ signal: Int32, isFirst: Bool) -> String {
    guard isFirst else { return "killing what runs" }
    return signal == SIGINT
      ? "cancelling; what runs may clean up. Ctrl-C again kills it"
      : "told to end: cancelling; what runs may clean up. Another signal kills it"
  }

  /// Cancels the whole graph. A limit of its own, so that a lost coordinator cannot keep an
  /// interrupted command.
  static func stop(
    _ graph: GraphID, _ connection: ClusterConnection, _ reason: String, kill: Bool
  ) async throws {
    _ = try await connection.request(
      .cancel(.selection(.graph(graph)), reason: reason, grace: kill ? .zero : nil),
      timeout: .seconds(10))
  }

  /// Paints the last frame from the coordinator's present row, not from counted events.
  private func finish(_ graph: GraphID, _ painter: ProgressPainter?) async throws -> ExitStatus {
    guard let row = try await reader.allGraphs(.graph(graph)).first else {
      throw Failure.unexpectedReply("graphs")
    }
    if let painter {
      try await painter.stop([GraphProgress(try await reader.structure(graph))])
    }
    try submitted?.showEnd(row, console)
    if showsOutput { try await ShownOutput.show(row, reader, console) }
    if row.state == .failed, !console.wantsJSON {
      try await GraphEnding.showFailures(
        row, reader, keepsLogs: session.embedded == nil, console)
    }
    return ExitStatus(row.state)
  }

  /// Tells programs how the graph stands, in place of its end.
  private func tellPrograms(of graph: GraphID) async throws {
    guard let submitted, console.wantsJSON,
      let row = try await reader.allGraphs(.graph(graph)).first
    else { return }
    try submitted.showEnd(row, console)
  }
}
