// `opbatch logs`: the output of operations; with -f, their new output. The bytes are at the worker
// that ran the attempt; the coordinator asks it for each piece and stores nothing. So a log may be
// gone with its worker. `LogTail` is a position in one log, `LogFollower` follows many,
// `LogPrinter` makes them safe and readable.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). Status 4 where no operation has a log to show.
struct Logs: Command {
  static let configuration = CommandConfiguration(
    abstract: "Print what operations wrote.",
    discussion: """
      What an operation wrote to its stdout goes to stdout, what it wrote to its stderr to stderr; \
      a stream that is asked for by name goes to stdout. Of several operations, each line begins \
      with its element. -f goes on over further attempts until all have ended; Ctrl-C only stops \
      looking. Into a file or a pipe bytes go as they were written; on a terminal what could steer \
      it is made visible.

      Examples:
        opbatch logs 12/align/3
        opbatch logs 12/align -f --stderr
        opbatch logs 12 -n 20 --no-prefix
      """)

  @Argument(help: ArgumentHelp("12/align/3, 12/align, last.", valueName: "selector"))
  var selector: String

  @Flag(name: .shortAndLong, help: "Go on until they have ended.")
  var follow = false

  @Flag(help: "Only stdout.") var stdout = false
  @Flag(help: "Only stderr.") var stderr = false

  @Option(help: ArgumentHelp("Of this attempt; the newest, if not given.", valueName: "number"))
  var attempt: UInt32?

  @Option(
    name: [.customShort("n"), .customLong("lines")],
    help: ArgumentHelp("Only so many of the last lines of each stream.", valueName: "count"))
  var lines: UInt32?

  @Flag(help: "No line begins with the name of its operation.")
  var noPrefix = false

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  static var handlesInterrupts: Bool { true }

  func perform(_ console: Console) async throws -> ExitStatus {
    // An attempt that is named has ended or is the newest; there is nothing to follow beyond it.
    guard !follow || attempt == nil else {
      throw Failure.usage("-f goes over all further attempts and does not take --attempt")
    }
    let selection = try filters.selection(selector)
    let streams: [LogStream] =
      // Both flags mean the same as none.
      stdout == stderr
      ? [.standardOutput, .standardError]
      : stdout ? [.standardOutput] : [.standardError]
    return try await withConnection { connection in
      let reader = reader(connection)
      if follow {
        // The time limit covers following as a whole, not each request. Follows for hours, if the
        // operations run for hours.
        let patient = Reader(connection: connection, timeout: nil)
        return try await patient.naming(selector, selection) {
          try await followLogs(selection, streams, patient, console)
        }
      }
      return try await reader.naming(selector, selection) {
        try await printLogs(selection, streams, reader, console)
      }
    }
  }

  /// Prints the operations in turn, each stream from its beginning to its present end. The rows are
  /// read first and the logs afterwards: reading logs may take long, and pages would change
  /// meanwhile. Costs memory for each operation that has started.
  private func printLogs(
    _ selection: Selection, _ streams: [LogStream], _ reader: Reader, _ console: Console
  ) async throws -> ExitStatus {
    let (first, isSeveral) = try await reader.firstOperations(selection, limit: 2)
    guard !first.isEmpty else { throw await reader.nothing(selector, selection) }
    // Two rows are enough to know whether lines need a name.
    let printer = LogPrinter(
      console, isPrefixed: !noPrefix && (isSeveral || first.count > 1), isSplit: streams.count > 1)
    var found = false
    var missing = 0
    var problem: String?
    var rows: [OperationRow] = []
    // Remembers the graphs that it has asked about.
    var takenOver = TakenOver(reader)
    try await reader.operations(selection) { page, _ in
      for row in page {
        if row.attempt > 0 {
          rows.append(row)
        } else if TakenOver.isPossible(row), let source = try await takenOver.source(of: row) {
          // The operation ran in an earlier graph, which has its logs.
          rows.append(source)
        }
      }
      return true
    }
    for row in rows {
      let tail = LogTail(row, streams, attempt: attempt ?? row.attempt)
      // Backwards from the end, so that a long log costs its last lines.
      if let lines { try await tail.skip(toLast: lines, reader) }
      switch try await tail.drain(reader, printer) {
      case .complete, .soFar: found = true
      case .missing(let why):
        missing += 1
        problem = why
      }
      try printer.flush()
      if let words = row.result?.wordsOfWorker {
        console.say("\(OperationPath(row)): \(row.result?.cause.sentence ?? ""): \(words)")
      }
    }
    // One readable log is enough: logs of older operations may have been let go.
    if found || rows.isEmpty == false && missing == 0 { return .success }
    throw Failure(
      .nothingSelected, code: "no_such_log",
      rows.isEmpty
        ? "nothing of '\(safe(selector))' has started, so there is no log"
        : "there is no log of '\(safe(selector))'" + (problem.map { ": " + $0 } ?? ""),
      hint: rows.isEmpty ? "opbatch why \(safe(selector)) says what it waits for" : "")
  }

  /// Ends when all operations have ended and their logs were read to the end.
  private func followLogs(
    _ selection: Selection, _ streams: [LogStream], _ reader: Reader, _ console: Console
  ) async throws -> ExitStatus {
    let follower = try await LogFollower(selection, reader)
    guard follower.count > 0 else { throw await reader.nothing(selector, selection) }
    // Two tasks: one applies events, the other reads the logs.
    let end = try await opbatch.follow(
      console, timeout: global.timeout?.duration, painter: { try await follower.listen() }
    ) { [lines, noPrefix] in
      try await follower.read(streams, lines: lines, isPrefixed: !noPrefix, console)
    }
    switch end {
    case .finished: return .success
    case .interrupted:
      console.sayDetached("logs -f", [follower.pinned(selection).path])
      return .interrupted
    case .timedOut:
      console.say("the time is up, and not everything has ended")
      return .timedOut
    }
  }
}
