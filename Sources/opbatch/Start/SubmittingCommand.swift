// Submitting a compiled graph and, if wanted, staying with it: what `submit` and the imports share.

import ArgumentParser
import OpClusterClient
import OpClusterManifest
import OpClusterModel

/// A command that submits a graph which goes on without it.
protocol SubmittingCommand: Command {
  var hold: Bool { get }
  var wait: Bool { get }
  var watch: Bool { get }
  /// The graph's name, in place of the manifest's.
  var name: String? { get }
  var key: String? { get }
}

extension SubmittingCommand {
  /// Whether an own cluster would do: without staying, it would end at once and take the graph
  /// along.
  private var stays: Bool { wait || watch }

  /// Refuses what would never end.
  func checkStaying() throws(ValidationError) {
    if hold && stays {
      throw ValidationError("--hold starts nothing, so --wait and --watch would never end")
    }
  }

  /// Submits a graph that is compiled, after its own files are left with workers.
  func submitManifest(
    _ compiled: GraphSubmission, _ ownFiles: OwnFiles?, _ notifications: [GraphNotification],
    _ console: Console
  ) async throws -> ExitStatus {
    var submission = compiled
    try Submit.prepare(&submission, name: name, key: key)
    // A manifest may ask for it as well.
    submission.isSuspended = submission.isSuspended || hold
    let session =
      stays
      ? try await openSession(console)
      : Session(connection: try await connect(), embedded: nil)
    do {
      let left = try await ownFiles?.leave(
        for: &submission, session.connection, timeout: global.timeout?.duration, console)
      let status: ExitStatus
      if let left {
        status = left
      } else {
        status = try await submit(prepared: submission, notifications, session, console)
      }
      await session.end()
      return status
    } catch {
      await session.end()
      throw error
    }
  }

  /// Submits, tells the number, and stays if wanted. The number is told before anything else, so
  /// that an interrupted user can find the graph.
  private func submit(
    prepared submission: GraphSubmission, _ notifications: [GraphNotification], _ session: Session,
    _ console: Console
  ) async throws -> ExitStatus {
    let accepted = try await GraphRun.submit(
      submission, session.connection, timeout: global.timeout?.duration)
    let submitted = Submitted(accepted, submission.name)
    // With JSON, one document tells all: if the command stays, it comes at the end.
    if !stays || console.format != .json { try submitted.show(isHeld: hold, console) }
    // A known key gives the earlier graph, about which the same was said then.
    if !accepted.repeated { await PlacementNotice.warn(submission, session, console) }
    // Whoever leaves early is told as well. An own cluster ends with this command.
    if session.embedded == nil, !accepted.repeated {
      NotifyInBackground.start(notifications, of: accepted.graph, global, console)
    }
    guard stays else {
      if console.format == .table {
        let graph = accepted.graph.number
        console.hint(hold ? "opbatch resume \(graph) starts it" : "opbatch watch \(graph)")
      }
      return .success
    }
    var run = GraphRun(session: session, console: console, timeout: global.timeout?.duration)
    run.submitted = submitted
    if session.embedded != nil { run.notifications = notifications }
    return try await run.untilEnd(
      of: accepted.graph, showsProgress: watch,
      // An own cluster ends with the command, so that its graph cannot go on.
      onInterrupt: session.embedded == nil ? .detach : .cancel)
  }
}
