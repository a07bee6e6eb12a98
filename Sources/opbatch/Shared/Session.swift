// A command's connection to a cluster: the configured one, or one that lives only as long as the
// command.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

/// A connection, and the cluster that was started for it.
struct Session {
  let connection: ClusterConnection
  /// The command's own cluster; Ctrl-C cancels its graph.
  let embedded: EmbeddedCluster?

  /// Ends the session. Call it after every command, failed or not.
  func end() async {
    if let embedded { await embedded.end() } else { await connection.close() }
  }
}

extension Command {
  /// Connects to the configured coordinator; fails without one. For commands that look at or change
  /// something: a cluster of their own would be empty.
  func connect() async throws -> ClusterConnection {
    guard let address = try ClusterAddress.find(flag: global.coordinator, keys: global.keys) else {
      throw Failure(
        .unreachable, code: "unreachable",
        "no coordinator is configured, and none of yours is running on this machine",
        hint: "start one with 'opbatch up', or name one with --coordinator or "
          + "\(ClusterAddress.variable); one that serves with a --state of its own has to be named")
    }
    return try await connect(to: address)
  }

  /// Connects to the configured coordinator, or starts a cluster for this command if none is
  /// configured. A configured coordinator that does not answer is an error, never a silent local
  /// run. For commands that bring their own work: run, demo, and submit where it stays.
  func openSession(workers: Int = 2, _ console: Console) async throws -> Session {
    if let address = try ClusterAddress.find(flag: global.coordinator, keys: global.keys) {
      return Session(connection: try await connect(to: address), embedded: nil)
    }
    var settings = EmbeddedCluster.Settings(workers: workers)
    settings.told = { console.say(safe($0)) }
    let cluster = try await EmbeddedCluster.start(settings)
    console.say(
      "no cluster is configured: this command runs on one of its own "
        + "(1 coordinator, \(shownCount(workers, "worker")))")
    return Session(connection: cluster.connection, embedded: cluster)
  }

  /// Runs `body` with a connection and closes it afterwards. Closing says goodbye, so that the
  /// coordinator need not wait for silence.
  func withConnection<Value>(
    _ body: (ClusterConnection) async throws -> Value
  ) async throws -> Value {
    let connection = try await connect()
    do {
      let value = try await body(connection)
      await connection.close()
      return value
    } catch {
      await connection.close()
      throw error
    }
  }

  /// Sends one request with the `--timeout`.
  func ask(
    _ connection: ClusterConnection, _ request: ClientRequest
  ) async throws(ClientError) -> ClientReply {
    try await connection.request(request, timeout: global.timeout?.duration)
  }

  /// A coordinator on the same network answers in milliseconds, and a wrong address never; on a
  /// busy machine it takes longer, and who waits for it is told. Every error names the source of
  /// the address, since there are several places that one may come from.
  private func connect(to address: ClusterAddress) async throws -> ClusterConnection {
    let console = Console(global)
    let waiting = Task {
      try await Task.sleep(for: .seconds(3))
      console.say("waiting for the coordinator at \(safe(address.text))")
    }
    defer { waiting.cancel() }
    // A socket file whose owner has ended refuses at once; a machine may be silent.
    let patience: Duration = address.text.hasPrefix("ipc:") ? .seconds(30) : .seconds(10)
    // The user's limit, if that is shorter.
    let limit = global.timeout?.duration ?? .seconds(30)
    do {
      let connection = try await ClusterConnection.connect(
        to: address.text, deadline: min(limit, patience), greeting: min(limit, .seconds(30)),
        keys: global.keys)
      let notice = BusyNotice { console.say($0) }
      connection.whenBusy { refusal, pause in
        notice.tell(refusal, pause: pause)
      }
      connection.whenDiskWaits { notice.tell(diskWait: $0) }
      return connection
    } catch {
      guard error.kind == .badAddress || error.kind == .unreachable else { throw error }
      var failure = Failure(error)
      if error.kind == .unreachable, let host = HostName.of(address.text),
        let problem = HostName.problem(of: host)
      {
        failure.message =
          "cannot reach the coordinator at \(safe(address.text)): the name '\(safe(host))' cannot "
          + "be looked up: \(problem)"
        failure.hint = "correct the name, or give the address as a number"
      }
      failure.message += " (named by \(address.origin.text))"
      throw failure
    }
  }
}
