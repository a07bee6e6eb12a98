// `opbatch config show`: the values of this command line with their sources, and the coordinator's
// own values if it can be reached.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// `config` alone shows: there is nothing else to do with a configuration here, which is a file and
/// variables.
struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the configuration in force.", subcommands: [ConfigShow.self],
    defaultSubcommand: ConfigShow.self)
}

/// Succeeds also without a coordinator. The order of the sources is that of `ClusterAddress.find`.
struct ConfigShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show the configuration in force.")
  @Flag(help: "Also show where each value comes from.") var origin = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// The value as text, and the place that it was taken from, for people.
  private struct Setting {
    var name: String
    var value: String
    var origin: String
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    // One list for all formats, so that they cannot tell different things.
    let settings = try await collect()
    switch console.format {
    case .name: for setting in settings { try console.writeLine(setting.name) }
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.array("settings") { json in
            for setting in settings {
              json.object { json in
                json.field("name", setting.name)
                json.field("value", setting.value)
                json.field("origin", setting.origin)
              }
            }
          }
        })
    case .table:
      // Names are ASCII and ours, so that characters are columns.
      let width = settings.reduce(0) { max($0, $1.name.count) }
      for setting in settings {
        let name = setting.name + String(repeating: " ", count: width - setting.name.count)
        let tail = origin ? "  (\(safe(setting.origin)))" : ""
        try console.writeLine("\(name)  \(safe(setting.value))\(tail)")
      }
    }
    return .success
  }

  /// Our own values first. The coordinator's are left out where it does not answer: the command is
  /// for those who find out why.
  private func collect() async throws -> [Setting] {
    let address = try ClusterAddress.find(flag: global.coordinator, keys: global.keys)
    var settings = [
      Setting(
        name: "coordinator", value: address?.text ?? "none",
        origin: address?.origin.text ?? "built in")
    ]
    // An error is not told here; `doctor` is for that.
    guard address != nil, let values = try? await coordinatorValues() else { return settings }
    let timing = values.timing
    settings += [
      ("client_endpoint", values.clientEndpoint), ("worker_endpoint", values.workerEndpoint),
      ("state_folder", values.stateFolder), ("heartbeat", shownDuration(timing.heartbeat)),
      ("suspect", shownDuration(timing.suspect)), ("lost", shownDuration(timing.lost)),
      ("resync", shownDuration(timing.resync)), ("grace", shownDuration(timing.grace)),
      ("orphan", shownDuration(timing.orphan)), ("fence", shownDuration(timing.fence)),
    ].map { Setting(name: $0.0, value: $0.1, origin: "coordinator") }
    return settings
  }

  /// The coordinator's times are its own: a client uses them only to show them.
  private func coordinatorValues() async throws -> ConfigurationValues {
    try await withConnection { connection in
      guard case .configuration(let values) = try await ask(connection, .configuration) else {
        throw Failure.unexpectedReply("configuration")
      }
      return values
    }
  }
}
