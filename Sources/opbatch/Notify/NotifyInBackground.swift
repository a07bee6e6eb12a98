// Who submits and leaves is told of the graph all the same: a process of this program stays behind,
// on this machine, until the graph has ended. It gets what to tell through its stdin, since that
// may be secret.

import ArgumentParser
import OpClusterClient
import OpClusterFolders
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Not for people.
struct NotifyInBackground: Command {
  static let configuration = CommandConfiguration(
    commandName: "notify-in-background", abstract: "Tell others of a graph, until it ends.",
    shouldDisplay: false)

  @Argument var graph: UInt32
  @OptionGroup var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    guard case .success(let bytes) = Descriptor.input.readAll(limit: Self.mostBytes),
      let notifications = GraphNotification.decoded(bytes)
    else { throw Failure.usage("stdin has no notifications", hint: "see 'opbatch watch --help'") }
    return try await withConnection { connection in
      let reader = Reader(connection: connection, timeout: nil)
      let since = try await reader.lastEvent()
      let rows = try await reader.allGraphs(.graph(GraphID(graph)))
      guard !rows.isEmpty else { throw Failure.nothingSelected("\(graph)") }
      let follower = try await GraphFollower(rows, since: since, reader)
      let notifier = Notifier(notifications: notifications, reader: reader, console: console) {
        // Lines of many graphs and days are in one log.
        console.say("\(rfc3339(WallTime(milliseconds: WallClock.now()))) \($0)")
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await follower.run() }
        group.addTask { try await notifier.run(follower.moments) }
        try await group.waitForAll()
      }
      return .success
    }
  }

  private static let mostBytes = 1 << 20
  private static let logName = "notifications.log"

  /// Starts it for a graph. Nobody waits for it; what it has to say is in a log.
  static func start(
    _ notifications: [GraphNotification], of graph: GraphID, _ global: GlobalOptions,
    _ console: Console
  ) {
    if notifications.isEmpty { return }
    let folder = PrivateFolder(UserFolders.stateOrTemporary)
    let log = folder.file(logName)
    do {
      try folder.make()
      var words = ["opbatch", "notify-in-background", "\(graph.number)"]
      if let coordinator = global.coordinator { words += ["--coordinator", coordinator] }
      if let keys = global.keys { words += ["--keys", keys] }
      try ShortProgram.leave(
        "/proc/self/exe", words, input: GraphNotification.encoded(notifications), log: log)
      console.say(
        "\(shownCount(notifications.count, "notification")) will be sent from this machine; log "
          + safe(log))
    } catch {
      console.warn(
        "nobody will be told of graph \(graph.number): \(Failure(shown: error).message); "
          + "'opbatch watch \(graph.number) --notify' tells while it runs")
    }
  }
}
