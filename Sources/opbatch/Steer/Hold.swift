// `opbatch hold` and `opbatch release`: single operations are kept from starting, and let go (S44).

import ArgumentParser
import OpClusterModel
import OpClusterPresentation

struct Hold: Command {
  static let configuration = CommandConfiguration(
    abstract: "Keep operations that have not started from starting.",
    discussion: """
      What has started goes on, and others pass by. 'opbatch release' lets them go; cancelling \
      does, too.

      Examples:
        opbatch hold 12/align
        opbatch hold '12/align*' -l team=blue
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align/3, '12/align*'.", valueName: "selector"))
  var selectors: [String]
  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeOperations(selectors, filters, verb: "held", console) { [.hold($0, true)] }
  }
}

struct Release: Command {
  static let configuration = CommandConfiguration(
    abstract: "Let held operations go.",
    discussion: """
      What was submitted with --hold is let go as a whole by 'opbatch resume'.

      Example: opbatch release 12/align
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align/3, '12/align*'.", valueName: "selector"))
  var selectors: [String]
  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeOperations(selectors, filters, verb: "released", console) {
      [.hold($0, false)]
    }
  }
}
