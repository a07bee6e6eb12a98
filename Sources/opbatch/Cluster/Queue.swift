// `opbatch queue …`: the queues of the cluster. Each command is one request; `QueueActions` has
// what they share, and `QueueBarrier` the one command that submits a graph. Names are checked by
// the coordinator, which knows all of them. A queue that came with a graph is called `GRAPH/name`
// and is found by that name as well (S2).

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Queues belong to nobody: any submitter may change them (G36). Cancelling is the exception, since
/// it changes graphs.
struct Queue: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at queues, make and change them.",
    subcommands: [
      QueueList.self, QueueShow.self, QueueCreate.self, QueueSet.self, QueueSuspend.self,
      QueueResume.self, QueueCancel.self, QueueBarrier.self, QueueRemove.self,
    ])
}

/// All queues, also those that came with graphs. Costs a request for each thousand.
struct QueueList: Command {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the queues.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let rows = try await withConnection { try await queueRows($0) }
    try showQueues(rows, console)
    return .success
  }
}

/// One queue. Reads all rows rather than the one, since the names are needed for a near name if it
/// is not there.
struct QueueShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one queue.")
  @Argument(help: "The queue's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let rows = try await withConnection { try await queueRows($0) }
    // Names are unique, so that there is one at most (S2).
    guard let row = rows.first(where: { $0.settings.name == name }) else {
      let near = nearest(name, among: rows.map(\.settings.name))
      throw Failure(
        .nothingSelected, code: "unknown_queue", "there is no queue '\(safe(name))'",
        hint: near.map { "did you mean '\($0)'?" } ?? "'opbatch queue ls' lists the queues")
    }
    try showQueues([row], console)
    return .success
  }
}

/// A queue that belongs to nobody and stays until `rm`, however empty it is (S5).
struct QueueCreate: Command {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a queue.")
  @Argument(help: "The queue's name.") var name: String
  // Optional rather than 0 for no bound: a limit of 0 is a queue that starts nothing (S65).
  @Option(
    help: ArgumentHelp(
      "Operations that may execute at once; no bound if not given.",
      valueName: "count"))
  var maxConcurrent: UInt32?
  @Option(help: "Which queues go first, and how the operations are scheduled.")
  var qos: ServiceWord = .default
  @Flag(help: "Start nothing until it is resumed.") var suspended = false
  @Option(
    help: ArgumentHelp(
      "Run its operations only on workers with this label; may be repeated.",
      valueName: "key=value"))
  var require: [Assignment] = []
  @OptionGroup(title: "Common options") var global: GlobalOptions

  // Before a connection is made, so that a wrong command line ends with 64 even without a cluster.
  func validate() throws { try require.checkPool() }

  func perform(_ console: Console) async throws -> ExitStatus {
    let settings = QueueSettings(
      name: name, qos: qos.value, maximumConcurrent: maxConcurrent, isSuspended: suspended,
      pool: require.requirements)
    return try await changeNamed("queue", name, "created", .createQueue(settings), console)
  }
}

/// Changes settings that are named and leaves the others. A limit acts on what starts next; nothing
/// that runs is stopped (S66).
struct QueueSet: Command {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change a queue.",
    discussion: "Example: opbatch queue set io --max-concurrent 4")
  @Argument(help: "The queue's name.") var name: String
  @Option(
    help: ArgumentHelp(
      "Operations that may execute at once, or 'unlimited'.",
      valueName: "count"))
  var maxConcurrent: QueueLimit?
  @Option(help: "Which queues go first.") var qos: ServiceWord?
  @Option(name: .customLong("name"), help: ArgumentHelp("Another name.", valueName: "name"))
  var newName: String?
  @Option(
    help: ArgumentHelp(
      "Run its operations only on workers with this label, in place of those it requires now; "
        + "may be repeated. The queue has to be empty.",
      valueName: "key=value"))
  var require: [Assignment] = []
  @Flag(help: "Run its operations on any worker again. The queue has to be empty.")
  var noRequire = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func validate() throws {
    try require.checkPool()
    if noRequire, !require.isEmpty {
      throw ValidationError("--no-require and --require exclude each other")
    }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    // Three answers: nil leaves the pool, an empty one takes it away, anything else replaces it.
    let pool = noRequire ? [] : require.isEmpty ? nil : require.requirements
    let change = QueueChange(
      newName: newName, qos: qos?.value, limit: maxConcurrent?.value, pool: pool)
    // The coordinator would accept an empty change; nobody means one.
    guard change != QueueChange() else {
      throw Failure.usage(
        "nothing to change", hint: "give --max-concurrent, --qos, --require or --name")
    }
    return try await changeNamed(
      "queue", newName ?? name, "changed", .changeQueue(name, change), console)
  }
}

/// Returns when workers have given back what had not started (S72). Suspending twice is no error.
struct QueueSuspend: Command {
  static let configuration = CommandConfiguration(
    commandName: "suspend", abstract: "Start nothing more of a queue.")
  @Argument(help: "The queue's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let change = QueueChange(isSuspended: true)
    return try await changeNamed("queue", name, "suspended", .changeQueue(name, change), console)
  }
}

/// Also ends what was cancelled while the queue stood still (S75).
struct QueueResume: Command {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Let a suspended queue go on.")
  @Argument(help: "The queue's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let change = QueueChange(isSuspended: false)
    return try await changeNamed("queue", name, "resumed", .changeQueue(name, change), console)
  }
}

/// Cancels all members in one commit, of whatever graph (S95, S96). The queue stays usable, and
/// what comes later is not touched.
struct QueueCancel: Command {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel everything that is in a queue now.")
  @Argument(help: "The queue's name.") var name: String
  @Option(help: ArgumentHelp("Why; shown to whoever looks.", valueName: "text")) var reason = ""
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await withConnection { connection in
      let reply = try await ask(connection, .cancelQueue(name, reason: reason))
      guard case .cancelled(_, let counts) = reply else {
        throw Failure.unexpectedReply("queue cancel")
      }
      let summary = CancelSummary(what: name, counts: counts)
      try CancelSummary.show([summary], key: "cancelled", console)
      return .success
    }
  }
}

/// Refused while anything is in the queue, for `default`, and for a graph's own queue (S5).
struct QueueRemove: Command {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Remove an empty queue.")
  @Argument(help: "The queue's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeNamed("queue", name, "removed", .removeQueue(name), console)
  }
}
