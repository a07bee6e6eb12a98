// `opcoord config show`: the settings in force with their sources. Tests read the times from here.
// Values are printed as they would be used: this checks them as `serve` does, and ends with 78 at
// the first that is wrong. `Options` finds them, `SettingValues` turns texts into values.

import ArgumentParser
import OpClusterCoordinator
import OpClusterDaemon

struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Show the configuration in force.",
    subcommands: [ConfigShow.self], defaultSubcommand: ConfigShow.self)
}

struct ConfigShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show the configuration in force.")

  /// One document with a `schema`, as all JSON of the programs has.
  enum Output: String, ExpressibleByArgument, CaseIterable { case table, json }

  @OptionGroup var options: ServiceOptions
  @Flag(help: "Also show where each value comes from.") var origin = false
  @Option(name: .shortAndLong, help: "table or json.") var output = Output.table

  func run() throws {
    let configuration: Configuration
    do throws(ConfigurationProblem) {
      configuration = try Configuration(flags: options.flags)
      // Only for its errors: a configuration that `serve` would refuse must not be shown as in
      // force.
      _ = try configuration.settings()
      _ = try configuration.logger()
    } catch {
      fail(error.text, status: 78)
    }
    switch output {
    case .table: table(configuration)
    case .json: StandardStream.output.write(json(configuration))
    }
  }

  /// One setting a line, in the order of `Setting`. Built-in values are shown as well.
  private func table(_ configuration: Configuration) {
    let width = Setting.allCases.reduce(0) { max($0, $1.rawValue.count) }
    for setting in Setting.allCases {
      guard let value = configuration.values[setting] else { continue }
      let name = setting.rawValue + String(repeating: " ", count: width - setting.rawValue.count)
      let tail = origin ? "  (\(value.origin))" : ""
      StandardStream.output.write("\(name)  \(value.text)\(tail)")
    }
  }

  /// Written by hand: opcoord has no JSON writer, and all parts are short texts.
  private func json(_ configuration: Configuration) -> String {
    let items = Setting.allCases.compactMap { setting in
      configuration.values[setting].map { value in
        "{\"name\":\(quoted(setting.rawValue)),\"value\":\(quoted(value.text)),"
          + "\"origin\":\(quoted(value.origin))}"
      }
    }
    return "{\"schema\":\"opcoord/v1\",\"settings\":[\(items.joined(separator: ","))]}"
  }

  /// The same escaping as in the JSON log.
  private func quoted(_ text: String) -> String { StandardErrorLog.quote(text) }
}
