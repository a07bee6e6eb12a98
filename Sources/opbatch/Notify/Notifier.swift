// Tells others of graphs: runs a command or calls a webhook when a graph ends or first fails. Each
// is tried again for a while; what could not be told is said, and changes no status.

import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

struct Notifier: Sendable {
  var notifications: [GraphNotification]
  /// The moments that the user's own terminal tells of.
  var onTerminal: Set<GraphNotification.Moment> = []
  let reader: Reader
  let console: Console
  /// Says what was told, and what could not be.
  let say: @Sendable (String) -> Void

  /// Waits before the second try and those after it.
  static let pauses: [Duration] = [.seconds(2), .seconds(10), .seconds(30)]
  /// Time for one try.
  private static let longest = Duration.seconds(60)
  private static let failuresTold = 3

  /// Tells of all moments; returns when the last was told or given up. What cannot be told of one
  /// graph keeps nothing of the others.
  ///
  /// - Throws: Only if it is cancelled.
  func run(_ moments: AsyncStream<GraphMoment>) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for await moment in moments {
        let due = notifications.filter { $0.moments.contains(moment.moment) }
        if due.isEmpty, !onTerminal.contains(moment.moment) { continue }
        guard let told = try await text(of: moment) else { continue }
        if onTerminal.contains(moment.moment) { console.ring(told.sentence) }
        for notification in due {
          group.addTask { try await deliver(notification, told) }
        }
      }
      try await group.waitForAll()
    }
  }

  /// What is told of one moment.
  private struct Told: Sendable {
    var moment: GraphMoment
    var name: String
    var state: String
    var json: String

    var sentence: String {
      switch moment.moment {
      case .end: "graph \(moment.graph.number) (\(name)) \(state)"
      case .failure: "graph \(moment.graph.number) (\(name)): an operation failed"
      }
    }
  }

  /// What is told; nil, and it is said: the coordinator does not know it, and the client has waited
  /// for it as long as it does.
  private func text(of moment: GraphMoment) async throws -> Told? {
    do {
      return try await presentText(of: moment)
    } catch {
      try Task.checkCancellation()
      say(
        "could not tell of graph \(moment.graph.number), \(moment.moment.rawValue): "
          + Failure(shown: error).message)
      return nil
    }
  }

  /// The coordinator's present rows, not what events said.
  private func presentText(of moment: GraphMoment) async throws -> Told {
    let rows = try await reader.allGraphs(.graph(moment.graph))
    guard let row = rows.first else { throw Failure.nothingSelected("\(moment.graph.number)") }
    var failures: [OperationRow] = []
    // A selection of none is refused.
    if row.counts.failures > 0 {
      var selection = Selection.graph(moment.graph)
      selection.states = [.failed, .timedOut, .lost]
      failures = try await reader.firstOperations(selection, limit: Self.failuresTold).rows
    }
    return Told(
      moment: moment, name: row.name, state: row.state.rawValue,
      json: JSONText.notification(moment.moment.rawValue, row, failures: failures))
  }

  private func deliver(_ notification: GraphNotification, _ told: Told) async throws {
    let what = "graph \(told.moment.graph.number), \(told.moment.moment.rawValue)"
    for pause in Self.pauses.map({ Optional($0) }) + [nil] {
      switch await attempt(notification.way, told) {
      case .told: return say("told \(notification.way.shown): \(what)")
      case .failed(let reason, let isFinal):
        guard let pause, !isFinal else {
          return say("could not tell \(notification.way.shown): \(what): \(reason)")
        }
        try await Task.sleep(for: pause)
      }
    }
  }

  private func attempt(_ way: GraphNotification.Way, _ told: Told) async -> NotificationResult {
    switch way {
    case .webhook(let address, let token):
      let request = WebhookRequest(address: address, token: token, body: told.json)
      let end = await ShortProgram.run(
        ["curl", "--config", "-"], input: request.curlConfiguration, longest: Self.longest)
      return WebhookRequest.result(of: end)
    case .command(let words):
      let variables = [
        "OP_GRAPH=\(told.moment.graph.number)", "OP_GRAPH_NAME=\(told.name)",
        "OP_GRAPH_STATE=\(told.state)", "OP_EVENT=\(told.moment.moment.rawValue)",
      ]
      return await ShortProgram.run(variables + words, input: told.json, longest: Self.longest)
        .result
    }
  }
}

/// How one try went.
enum NotificationResult: Equatable, Sendable {
  case told
  /// - Parameter isFinal: Whether a further try would end the same way.
  case failed(String, isFinal: Bool)
}

extension GraphNotification.Way {
  /// For people; the path of a webhook may be what makes it secret.
  var shown: String {
    switch self {
    case .webhook(let address, _):
      let parts = address.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
      let host = parts.count > 2 ? parts[2].split(separator: "@").last ?? "" : ""
      return safe("\(parts[0])//\(host)")
    case .command(let words):
      let words = words.starts(with: ["sh", "-c"]) ? Array(words.dropFirst(2)) : words
      return safe(truncate(words.joined(separator: " "), to: 60))
    }
  }
}

extension ShortProgram.End {
  /// For commands, whose every failure may pass but that they are not there.
  var result: NotificationResult {
    switch self {
    case .exited(0, _): .told
    case .exited(let status, let output):
      .failed(
        "exit status \(status)" + (safeLines(output).last.map { ": " + $0 } ?? ""),
        isFinal: status == 126 || status == 127)
    case .killed(let signal): .failed("killed by \(signalName(signal))", isFinal: false)
    case .tookTooLong: .failed("it took too long", isFinal: false)
    case .notStarted(let reason): .failed(reason, isFinal: false)
    }
  }
}
