// From a submission to its end: what submit, run and demo share. Shows progress if asked to, and
// takes Ctrl-C as the command wants it.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Submits a graph and stays with it.
struct GraphRun {
  /// What Ctrl-C means.
  enum OnInterrupt {
    /// The first asks the graph to stop, the second kills what runs.
    case cancel
    /// We go, the graph goes on.
    case detach
  }

  let session: Session
  let console: Console
  let timeout: Duration?
  /// Whether the end of what its operations wrote is shown, where they are few.
  var showsOutput = false
  /// What was submitted, for programs, which are told of it together with its end.
  var submitted: Submitted?

  init(session: Session, console: Console, timeout: Duration?) {
    self.session = session
    self.console = console
    self.timeout = timeout
  }

  private var reader: Reader { Reader(connection: session.connection, timeout: nil) }

  /// What the coordinator made of a submission.
  struct Accepted: Sendable {
    var graph: GraphID
    var operations: UInt32
    /// The key was known: this is the earlier graph again (G19).
    var repeated: Bool
  }

  static func submit(
    _ submission: GraphSubmission, _ connection: ClusterConnection, timeout: Duration? = nil
  ) async throws -> Accepted {
    let reply = try await connection.request(.submit(submission), timeout: timeout)
    guard case .accepted(let graph, let operations, let repeated) = reply else {
      throw Failure.unexpectedReply("submit")
    }
    return Accepted(graph: graph, operations: operations, repeated: repeated)
  }

  /// A key that no other submission has, so that a repeated message is recognised.
  static func randomKey() -> SubmissionKey {
    let halves = (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
    return SubmissionKey(halves.joined(separator: "-"))
  }

  /// Stays until the graph has ended; the status is the graph's.
  func untilEnd(
    of graph: GraphID, showsProgress: Bool, onInterrupt: OnInterrupt
  ) async throws -> ExitStatus {
    let since = try await reader.lastEvent()
    let rows = try await reader.allGraphs(.graph(graph))
    let follower = try await GraphFollower(rows, since: since, reader)
    let isShown = showsProgress && !console.isQuiet
    let painter = isShown ? ProgressPainter(follower, console) : nil
    let end = try await stay(with: graph, follower, painter, onInterrupt)
    switch end {
    case .finished: return try await finish(graph, painter)
    case .interrupted:
      try await painter?.stop()
      try await tellPrograms(of: graph)
      console.sayDetached("watch", ["\(graph.number)"])
      return .interrupted
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
    // What the time's end cancelled may have ended before that was told.
    if end == .finished, let deadline, ContinuousClock.now >= deadline { return .timedOut }
    return end
  }

  /// The first Ctrl-C or TERM asks, the second and all later ones kill.
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

  /// What is said to a signal that cancels; only who pressed Ctrl-C is told to press it again.
  static func cancelling(_ signal: Int32, isFirst: Bool) -> String {
    guard isFirst else { return "killing what runs" }
    return signal == SIGINT
      ? "cancelling; what runs may clean up. Ctrl-C again kills it"
      : "told to end: cancelling; what runs may clean up. Another signal kills it"
  }

  static func stop(
    _ graph: GraphID, _ connection: ClusterConnection, _ reason: String, kill: Bool
  ) async throws {
    _ = try await connection.request(
      .cancel(.selection(.graph(graph)), reason: reason, grace: kill ? .zero : nil),
      timeout: .seconds(10))
  }

  /// The last frame is made of what the coordinator says then, not of what was counted.
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

  /// How the graph stands, for programs that would have been told its end.
  private func tellPrograms(of graph: GraphID) async throws {
    guard let submitted, console.wantsJSON,
      let row = try await reader.allGraphs(.graph(graph)).first
    else { return }
    try submitted.showEnd(row, console)
  }
}
