// `opbatch queue barrier`: operations already in the queue end before the barrier, later ones begin
// after it (S77, S78).

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterWire

/// Needs the rights of a submission, not those over the queue: a barrier is an operation like any
/// other in it. With --wait the status is that of the graph, 0 to 3.
struct QueueBarrier: Command {
  static let configuration = CommandConfiguration(
    commandName: "barrier", abstract: "Put a barrier into a queue.",
    usage: """
      opbatch queue barrier <name> [--wait] [<options>]
      opbatch queue barrier <name> [--wait] [<options>] -- <cmd> [<args> ...]
      """,
    discussion: """
      Everything that is in the queue now ends before it, and everything that comes later begins \
      after it. With a command, that runs in between, alone in the queue. Makes a graph of one \
      operation.

      Examples:
        opbatch queue barrier io --wait
        opbatch queue barrier io -- ./swap-disks
      """)

  @Argument(help: "The queue's name.") var name: String
  @Flag(help: "Stay until it is passed; the status tells how it ended.") var wait = false
  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("A command and its arguments, after --.", valueName: "cmd"))
  var command: [String] = []
  @OptionGroup(title: "Common options") var global: GlobalOptions

  // Ctrl-C during --wait leaves the barrier where it is.
  static var handlesInterrupts: Bool { true }

  func perform(_ console: Console) async throws -> ExitStatus {
    // A graph of its own: a barrier is an operation, and an operation is only in a graph (S81).
    var submission = Self.submission(queue: name, command: command)
    try Submit.prepare(&submission, name: nil, key: nil)
    return try await withConnection { connection in
      let accepted = try await namingQueue(name, connection) {
        try await GraphRun.submit(submission, connection, timeout: global.timeout?.duration)
      }
      let graph = accepted.graph
      switch console.format {
      case .name: try console.writeLine("\(graph.number)")
      case .table:
        try console.writeLine("graph \(graph.number): a barrier in queue \(safe(name))")
      case .json, .jsonl:
        try console.write(
          jsonDocument {
            $0.submission(graph, name: submission.name, operations: 1, repeated: false)
          })
      }
      guard wait else { return .success }
      let run = GraphRun(
        session: Session(connection: connection, embedded: nil), console: console,
        timeout: global.timeout?.duration)
      // The barrier has no stages to show, and its time is that of the queue.
      return try await run.untilEnd(of: graph, showsProgress: false, onInterrupt: .detach)
    }
  }

  /// Returns a graph of one barrier; an empty barrier without a command. Pure, for tests. A command
  /// keeps the demand that `run` gives it.
  static func submission(queue: String, command: [String]) -> GraphSubmission {
    var submission = GraphSubmission(name: "barrier")
    if !command.isEmpty {
      submission = CommandRun.submission(command)
    } else {
      var template = OperationTemplate(name: "barrier", work: .nothing)
      // A join point: no worker, no slot, but its place in the queue (S4, S82).
      template.demand = .none
      submission.templates = [template]
    }
    submission.templates[0].name = "barrier"
    submission.templates[0].isBarrier = true
    submission.queues = [.named(queue)]
    return submission
  }
}
