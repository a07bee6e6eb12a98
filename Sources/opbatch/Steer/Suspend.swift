// `opbatch suspend` and `opbatch resume`: make whole graphs stop starting operations, and start
// them again. A suspension is answered when workers have given back what had not started, so that
// nothing starts after it (S72). A queue is suspended by `queue suspend`; a single operation is
// held (S44, S76).

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Needs the right to change the graphs (G36). Suspending twice is no error (S73).
struct Suspend: Command {
  static let configuration = CommandConfiguration(
    abstract: "Start nothing more of these graphs.",
    discussion: """
      What is executing goes on to its end. 'opbatch resume' lifts it. For queues there is \
      'opbatch queue suspend'.
      """)

  @Argument(help: ArgumentHelp("Graphs: 12, 12,14-20, last, active.", valueName: "selector"))
  var selectors: [String]
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await suspendGraphs(selectors, true, console)
  }
}

/// Selection happens afresh, with the priorities of that moment (S74).
struct Resume: Command {
  static let configuration = CommandConfiguration(
    abstract: "Let suspended graphs go on.",
    discussion: "Also starts what was submitted with --hold.")

  @Argument(help: ArgumentHelp("Graphs: 12, 12,14-20, last, active.", valueName: "selector"))
  var selectors: [String]
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await suspendGraphs(selectors, false, console)
  }
}

extension Command {
  /// One request for each selector. The coordinator resolves it, so that graphs that end meanwhile
  /// are no error of ours.
  fileprivate func suspendGraphs(
    _ selectors: [String], _ isSuspended: Bool, _ console: Console
  ) async throws -> ExitStatus {
    // Whole graphs alone: a selector with an operation in it is an error of the command line.
    let selections = try selectors.map { try Selectors.graphs($0) }
    return try await withConnection { connection in
      for (text, selection) in zip(selectors, selections) {
        let reply = try await ask(connection, .suspendGraphs(selection, isSuspended))
        switch reply {
        // Those that had started before; their slots are free when they end.
        case .suspended(let executing):
          try say(text, isSuspended, executing.count, console)
        // A resumption has nothing to wait for.
        case .done, .effect: try say(text, isSuspended, 0, console)
        default: throw Failure.unexpectedReply(isSuspended ? "suspend" : "resume")
        }
      }
      return .success
    }
  }

  /// `executing` is the length of a list that the coordinator cuts at a thousand.
  private func say(
    _ selector: String, _ isSuspended: Bool, _ executing: Int, _ console: Console
  ) throws {
    switch console.format {
    case .name: try console.writeLine(selector)
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.field("selector", selector)
          json.field("is_suspended", isSuspended)
          json.field("executing", executing)
        })
    case .table:
      let word = isSuspended ? "suspended" : "resumed"
      let rest =
        isSuspended && executing > 0
        ? "; \(shownCount(executing, "operation")) still executing go on to their end" : ""
      try console.writeLine("\(safe(selector)): \(word)\(rest)")
    }
  }
}
