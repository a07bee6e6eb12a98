// `opbatch queue …`: the queues of the cluster.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

struct Queue: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at queues, make and change them.",
    subcommands: [
      QueueList.self, QueueShow.self, QueueCreate.self, QueueSet.self, QueueSuspend.self,
      QueueResume.self, QueueCancel.self, QueueBarrier.self, QueueRemove.self,
    ])
}

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

struct QueueShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one queue.")
  @Argument(help: "The queue's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let rows = try await withConnection { try await queueRows($0) }
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

struct QueueCreate: Command {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a queue.")
  @Argument(help: "The queue's name.") var name: String
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

  func validate() throws { try require.checkPool() }

  func perform(_ console: Console) async throws -> ExitStatus {
    let settings = QueueSettings(
      name: name, qos: qos.value, maximumConcurrent: maxConcurrent, isSuspended: suspended,
      pool: require.requirements)
    return try await changeNamed("queue", name, "created", .createQueue(settings), console)
  }
}

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
    let pool = noRequire ? [] : require.isEmpty ? nil : require.requirements
    let change = QueueChange(
      newName: newName, qos: qos?.value, limit: maxConcurrent?.value, pool: pool)
    guard change != QueueChange() else {
      throw Failure.usage(
        "nothing to change", hint: "give --max-concurrent, --qos, --require or --name")
    }
    return try await changeNamed(
      "queue", newName ?? name, "changed", .changeQueue(name, change), console)
  }
}

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

struct QueueCancel: Command {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel everything that is in a queue now.")
  @Argument(help: "The queue's name.") var name: String
  @Option(help: ArgumentHelp("Why; shown to whoever looks.", valueName: "text")) var reason = ""
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await withConnection { connection in
      let reply = try await ask(connection, .cancelQueue(name, reason: reason))
      guard case .cancelled(let verdicts, let total) = reply else {
        throw Failure.unexpectedReply("queue cancel")
      }
      let summary = CancelSummary(what: name, verdicts: verdicts, total: total)
      try CancelSummary.show([summary], key: "cancelled", console)
      return .success
    }
  }
}

struct QueueRemove: Command {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Remove an empty queue.")
  @Argument(help: "The queue's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeNamed("queue", name, "removed", .removeQueue(name), console)
  }
}
