// Reports wrong command lines in the form of every other error: what is wrong, what to do.

import ArgumentParser
import OpClusterPresentation

enum UsageError {
  /// Returns the output format of a command line, as far as it can be parsed. An error before
  /// parsing has no `GlobalOptions`. Programs that ask for JSON get the error as JSON all the same.
  /// Words behind `--` are a command's own.
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

  /// Goes down the command tree by the words, so that the advice names the command that was meant.
  /// ArgumentParser itself knows no near names of commands.
  static func failure(_ error: any Error, _ arguments: [String]) -> Failure {
    var known = "opbatch"
    var level: any ParsableCommand.Type = Opbatch.self
    for word in arguments {
      let next = level.configuration.subcommandsOfAllGroups
      guard !next.isEmpty, !word.hasPrefix("-") else { break }
      guard let command = next.first(where: { $0.shownName == word }) else {
        guard word != "help" else { break }
        let near = nearest(word, among: next.map { $0.shownName })
        return .usage(
          "unknown command '\(safe(word))'",
          hint: near.map { "did you mean '\($0)'?" } ?? "'\(known) --help' lists the commands")
      }
      known += " " + word
      level = command
    }
    // ArgumentParser begins with a capital; our errors go on behind `error: `.
    let message = Opbatch.message(for: error)
    let first = message.first.map { $0.lowercased() } ?? ""
    return .usage(first + message.dropFirst(), hint: "'\(known) --help' shows what can be given")
  }
}

extension CommandConfiguration {
  /// Grouped ones are not among `subcommands`.
  fileprivate var subcommandsOfAllGroups: [any ParsableCommand.Type] {
    subcommands + groupedSubcommands.flatMap(\.subcommands)
  }
}

extension ParsableCommand {
  /// The command's name as typed.
  fileprivate static var shownName: String {
    configuration.commandName ?? String(describing: Self.self).lowercased()
  }
}
