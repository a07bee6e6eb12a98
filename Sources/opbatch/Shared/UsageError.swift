// Wrong command lines in the form of every other error: what is wrong, what to do.

import ArgumentParser
import OpClusterPresentation

enum UsageError {
  /// The output format that a command line asks for, as far as it can be told.
  static func format(of arguments: [String]) -> OutputFormat {
    for (at, argument) in arguments.enumerated() {
      if argument == "--" { break }
      for name in ["-o", "--output"] {
        if argument == name, at + 1 < arguments.count,
          let format = OutputFormat(rawValue: arguments[at + 1])
        {
          return format
        }
        if argument.hasPrefix(name + "="),
          let format = OutputFormat(rawValue: String(argument.dropFirst(name.count + 1)))
        {
          return format
        }
      }
    }
    return .table
  }

  static func failure(_ error: any Error, _ arguments: [String]) -> Failure {
    let command = arguments.first { !$0.hasPrefix("-") } ?? ""
    let names = Opbatch.commandNames
    if !command.isEmpty, !names.contains(command) {
      let near = nearest(command, among: names)
      return .usage(
        "unknown command '\(safe(command))'",
        hint: near.map { "did you mean '\($0)'?" } ?? "'opbatch --help' lists the commands")
    }
    let message = Opbatch.message(for: error)
    let first = message.first.map { $0.lowercased() } ?? ""
    let help = names.contains(command) ? "opbatch \(command) --help" : "opbatch --help"
    return .usage(first + message.dropFirst(), hint: "'\(help)' shows what can be given")
  }
}

extension Opbatch {
  /// The names of all commands of the first level.
  static var commandNames: [String] {
    configuration.groupedSubcommands.flatMap(\.subcommands).map { command in
      command.configuration.commandName ?? String(describing: command).lowercased()
    } + ["help"]
  }
}
