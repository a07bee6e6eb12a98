// `opbatch ping`: whether a coordinator answers, and how fast. For scripts that have just started a
// coordinator.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// The least request there is: it changes nothing and reads nothing but counters. Ends with 69 when
/// nobody answers in time.
struct Ping: Command {
  static let configuration = CommandConfiguration(
    abstract: "Ask the coordinator whether it is there.",
    discussion: "Example: opcoord serve & opbatch ping --wait 10s")

  @Option(help: ArgumentHelp("Keep asking for so long until one answers.", valueName: "time"))
  var wait: TimeLength?
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    // The time below is of one request on a standing connection; the handshake is not in it.
    let connection = try await connectPatiently()
    let clock = ContinuousClock()
    let start = clock.now
    let reply = try await ask(connection, .ping)
    let time = clock.now - start
    let welcome = connection.welcome
    let address = connection.address
    await connection.close()
    guard case .pong(_, let epoch, _) = reply else { throw Failure.unexpectedReply("ping") }
    // Whole microseconds; a local coordinator answers in some hundred of them.
    let seconds = Double(time / .microseconds(1)) / 1e6
    switch console.format {
    case .name: try console.writeLine(address)
    case .table:
      try console.writeLine(
        "\(address): coordinator \(safe(welcome.build)), protocol \(welcome.version), "
          + "start \(epoch.number), answered in \(Int64(time / .microseconds(1))) us")
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.field("address", address)
          json.field("build", welcome.build)
          json.field("protocol", welcome.version)
          json.field("epoch", epoch.number)
          json.field("seconds", seconds)
        })
    }
    return .success
  }

  /// Retries until the time is up. An error that cannot pass ends it at once. Tries at least once,
  /// also without --wait. Another version or a refused key ends it, since waiting helps neither.
  private func connectPatiently() async throws -> ClusterConnection {
    let end = ContinuousClock().now + (wait?.duration ?? .zero)
    while true {
      do {
        return try await connect()
      } catch let failure as Failure
        where failure.status == .unreachable && ContinuousClock().now < end
      {
        // Short beside the start of a coordinator, long beside a refused connection.
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }
}
