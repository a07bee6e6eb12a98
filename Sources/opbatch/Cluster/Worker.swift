// `opbatch worker …`: the workers of the cluster. A worker is named by its name, not by its number,
// since it gets another number each time it joins. These commands act on the coordinator's list;
// starting and stopping a worker is done on its machine.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Changing needs the role admin; looking needs the right to read (G36).
struct Worker: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at workers, take one out of service.",
    subcommands: [
      WorkerList.self, WorkerShow.self, WorkerDrain.self, WorkerResume.self, WorkerForget.self,
    ])
}

/// Down workers are in the list, so that a loss does not pass unnoticed. One reply holds all: there
/// are 4,096 workers at most, and 1,000 that are down.
struct WorkerList: Command {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the workers.",
    discussion: """
      A worker that was lost is listed as down, with the reason, until one of its name joins or \
      'opbatch worker forget' lets it go; a week at most.
      """)
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let rows = try await withConnection { try await workerRows($0) }
    try showWorkers(rows, console)
    // Only for people: `-o name` is read by programs, which count lines.
    if !rows.contains(where: { $0.state != .down }), console.format == .table {
      console.hint(
        "no worker \(rows.isEmpty ? "has joined" : "is there"); start one with 'opworker serve'")
    }
    return .success
  }
}

/// Reads all rows, as `ls` does: the names are needed for a near one. A worker that is down is
/// shown as well.
struct WorkerShow: Command {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one worker.")
  @Argument(help: "The worker's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let rows = try await withConnection { try await workerRows($0) }
    // One at most: a worker that joins takes the place of one of its name that was down.
    let chosen = rows.filter { $0.name == name }
    guard !chosen.isEmpty else {
      let near = nearest(name, among: rows.map(\.name))
      throw Failure(
        .nothingSelected, code: "unknown_worker", "there is no worker '\(safe(name))'",
        hint: near.map { "did you mean '\($0)'?" } ?? "'opbatch worker ls' lists the workers")
    }
    try showWorkers(chosen, console)
    return .success
  }
}

/// The request returns when it is written down, not when the worker has left: what runs there may
/// take hours (S148).
struct WorkerDrain: Command {
  static let configuration = CommandConfiguration(
    commandName: "drain", abstract: "Let a worker finish what it runs and leave.",
    discussion: "It takes nothing new; what it has not started goes to others.")
  @Argument(help: "The worker's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeNamed(
      "worker", name, "takes nothing new and then leaves", .drainWorker(name), console)
  }
}

/// Ends the rest of a worker that could not start operations. It is given work at once, and rests
/// again if it fails again.
struct WorkerResume: Command {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Give work at once to a worker that was set aside.",
    discussion: """
      A worker that cannot start what others can gets nothing for a while, and for longer each \
      time it is tried. When it is repaired, this is quicker than to wait.
      """)
  @Argument(help: "The worker's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeNamed("worker", name, "takes work", .resumeWorker(name), console)
  }
}

/// Changes the list alone. A worker that is not down is refused, since forgetting it would hide
/// what it runs.
struct WorkerForget: Command {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "List a worker that is down no more.",
    discussion: "For one that does not come back. Should it, it is listed again.")
  @Argument(help: "The worker's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeNamed("worker", name, "is forgotten", .forgetWorker(name), console)
  }
}

extension Command {
  /// All rows, in the order in which people sort numbers in names: `w2` before `w10`.
  func workerRows(_ connection: ClusterConnection) async throws -> [WorkerRow] {
    guard case .workers(let rows) = try await ask(connection, .workers) else {
      throw Failure.unexpectedReply("workers")
    }
    return rows.sorted { comesBefore($0.name, $1.name) }
  }

  /// The rows in the format of `-o`. People are told the reasons below the table; JSON has them as
  /// fields.
  fileprivate func showWorkers(_ rows: [WorkerRow], _ console: Console) throws {
    switch console.format {
    case .table:
      let style = console.outputStyle
      for line in workerTable(rows, style).lines(style) { try console.writeLine(line) }
      for row in rows where !row.trouble.isEmpty {
        console.hint(
          "\(safe(row.name)) is not given everything: \(safe(row.trouble)); when it is repaired: "
            + "'opbatch worker resume \(safe(row.name))'")
      }
      for row in rows.filter({ $0.state == .down }).lostLast(5) {
        console.hint("\(safe(row.name)) is down: \(safe(row.downReason))")
      }
    case .name: for row in rows { try console.writeLine(row.name) }
    case .json, .jsonl:
      var listing = JSONListing("workers", format: console.format == .json ? .json : .jsonl)
      for row in rows { listing.row { $0.fields(of: row) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
  }
}

extension [WorkerRow] {
  /// The last few that were lost, the latest at the end; the rows come sorted by name.
  func lostLast(_ count: Int) -> [WorkerRow] {
    sorted {
      ($0.downSince.milliseconds, $0.name) < ($1.downSince.milliseconds, $1.name)
    }.suffix(count)
  }
}
