// `opbatch alloc ls`, `rm`, `start` and `log`: this user's allocations on this machine.

import ArgumentParser
import OpClusterAllocation
import OpClusterFolders
import OpClusterModel
import OpClusterPresentation

struct AllocationList: Command {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List your allocations on this machine.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  private struct Row {
    var settings: AllocationSettings
    var status: AllocationStatus
    var word: String
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    let rows = try AllocationFolder.listAll().map { place in
      let status = try place.readStatus()
      return Row(
        settings: try place.readSettings(), status: status,
        word: status.word(isFollowed: place.isFollowed))
    }
    switch console.format {
    case .name: for row in rows { try console.writeLine(row.settings.name) }
    case .json, .jsonl:
      var listing = JSONListing(
        "allocations", format: console.format == .json ? .json : .jsonl)
      for row in rows { listing.row { Self.fields(of: row, &$0) } }
      listing.end()
      try console.write(bytes: listing.take())
    case .table: try show(rows, console)
    }
    return .success
  }

  private static func fields(of row: Row, _ json: inout JSONText) {
    json.field("name", row.settings.name)
    json.field("state", row.word)
    json.field("running", row.status.policy.runningJobs)
    json.field("pending", row.status.policy.pendingJobs)
    json.field("least", row.settings.least)
    json.field("most", row.settings.most)
    json.field("time_seconds", row.settings.seconds)
    json.field("idle_seconds", row.settings.idleSeconds)
    json.field("problem", row.status.problem)
  }

  private func show(_ rows: [Row], _ console: Console) throws {
    let table = allocationTable(
      rows.map { row in
        let (settings, policy) = (row.settings, row.status.policy)
        return AllocationRow(
          name: settings.name, state: row.word, runningJobs: policy.runningJobs,
          pendingJobs: policy.pendingJobs, range: settings.least...settings.most,
          time: .seconds(settings.seconds), idleTime: .seconds(settings.idleSeconds))
      })
    let style = console.outputStyle
    for line in table.lines(style) { try console.writeLine(line) }
    for row in rows {
      let name = safe(row.settings.name)
      if row.word == "stopped" { console.hint("'opbatch alloc start \(name)' follows it again") }
      if !row.status.problem.isEmpty { console.hint("\(name): \(safe(row.status.problem))") }
      if row.word == "halted" {
        console.hint("when it is repaired: 'opbatch alloc start \(name)'")
      }
    }
    if rows.isEmpty { console.hint("there is none; 'opbatch alloc add slurm' makes one") }
  }
}

/// What waits in the batch system is taken back, and running workers drain.
struct AllocationRemove: Command {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "End an allocation.",
    discussion: """
      Jobs that have not begun are taken back; running workers drain: what they run may end by \
      itself, until the time of a drain is over.
      """)
  @Argument(help: "The allocation's name.") var name: String
  @Flag(help: "End running workers at once; what they run runs again elsewhere.") var now = false
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let place = try AllocationFolder.existing(name)
    try place.leaveRequest(now ? .removeAtOnce : .remove)
    let deadline = ContinuousClock.now + (global.timeout?.duration ?? .seconds(60))
    while place.folder.exists {
      if !place.isFollowed {
        var follower = AllocationFollower(
          place: place, settings: try place.readSettings(), status: try place.readStatus(),
          console: console)
        await follower.endAllocation(atOnce: now)
        break
      }
      guard ContinuousClock.now < deadline else {
        throw Failure(
          .internal, code: "not_removed", "the allocation '\(safe(name))' does not end",
          hint: "'opbatch alloc log \(safe(name))' says what it does")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    console.say("allocation \(safe(name)) is removed")
    return .success
  }
}

struct AllocationStart: Command {
  static let configuration = CommandConfiguration(
    commandName: "start", abstract: "Follow an allocation again.",
    discussion: "After a restart of this machine, or after it halted since jobs failed.")
  @Argument(help: "The allocation's name.") var name: String
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let place = try AllocationFolder.existing(name)
    try place.leaveRequest(.start)
    if place.isFollowed {
      console.say("allocation \(safe(name)) starts again")
    } else {
      try await startFollower(of: place, console)
    }
    return .success
  }
}

struct AllocationLog: Command {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print what an allocation did, or what a job wrote.")
  @Argument(help: "The allocation's name.") var name: String
  @Option(help: "The number of a job.") var job: UInt64?
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let place = try AllocationFolder.existing(name)
    let file = job.map { "job-\($0).log" } ?? AllocationFolder.logName
    guard let text = try place.readLog(named: file) else {
      throw Failure(
        .nothingSelected, code: "no_log", "there is no log of job \(job ?? 0)",
        hint: "its output is on the node until it begins to write")
    }
    for line in text.split(separator: "\n") { try console.writeLine(safe(String(line))) }
    return .success
  }
}
