// `opbatch run`: runs a manifest, one command or one call, from submission to end, and returns its
// status. The three differ in whose status and streams become ours: `GraphRun` follows a graph,
// `CommandRun` one command, `CallRun` one call. All of them submit with a random key, so that a
// request that is sent again makes no second graph (G19).

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the rights of a submission. The statuses of a command are those of `env` and `timeout`, so
/// that `opbatch run --` can stand before a command in a script.
struct Run: Command {
  static let configuration = CommandConfiguration(
    abstract: "Run a manifest, one command or one call; end with its status.",
    usage: """
      opbatch run -m <file> [-p <key=value> ...] [<options>]
      opbatch run [<options>] -- <cmd> [<args> ...]
      opbatch run --call <type> [--input <json>] [<options>]
      """,
    discussion: """
      With a command, its streams are ours and its exit status is ours; 124 means that it timed \
      out, 125 that it is our fault, 126 not executable, 127 not found, 128+n signal n. The first \
      Ctrl-C asks it to stop, the second kills it. A stdin that is no terminal is read to its end \
      and passed on: text up to 256 KiB, or a file that the worker can open.

      With a manifest, the end of what its operations wrote is shown when there are 10 or fewer.

      With a call, the value that the operation type returns is on stdout as JSON, 'null' for none.

      Without a configured cluster it runs on one of its own.

      Examples:
        opbatch run -m graph.yaml
        opbatch run -- make -j4 test
        opbatch run --memory 4G --retry 2 -- ./align < reads.txt
        opbatch run --call image.tilt@2 --input '{"path": "a.jpg"}' --timeout 5m
      """)

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The manifest; - is stdin.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var manifest: String?

  @Option(
    name: [.customShort("p"), .customLong("param")],
    help: ArgumentHelp("A parameter of the manifest; may be repeated.", valueName: "key=value"))
  var parameters: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      "An operation type of the workers, NAME or NAME@VERSION.", valueName: "type"))
  var call: String?

  @Option(
    help: ArgumentHelp(
      "What the call is given: JSON, @FILE, or - for stdin.", valueName: "json"))
  var input: String?

  @Option(help: "The graph's name.") var name: String?

  @OptionGroup(title: "Of a command or call") var job: JobOptions
  @OptionGroup(title: "Of a command") var commandOptions: CommandOptions

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("A command and its arguments, after --.", valueName: "cmd"))
  var command: [String] = []

  @OptionGroup(title: "Common options") var global: GlobalOptions

  // Ctrl-C cancels the graph rather than leaving it: nobody else waits for it.
  static var handlesInterrupts: Bool { true }

  /// Exactly one of the three. Options of the others are refused rather than ignored, since a user
  /// who gives them expects that they act.
  func validate() throws {
    guard [manifest != nil, call != nil, !command.isEmpty].count(where: { $0 }) == 1 else {
      throw ValidationError(
        "give a manifest as -m FILE, a type as --call TYPE, or a command after --")
    }
    if command.isEmpty, !commandOptions.isEmpty {
      throw ValidationError(
        "--env, --workdir and --no-stdin are for a command; a manifest says such things itself")
    }
    if manifest != nil, !job.isEmpty {
      throw ValidationError(
        "what is asked for is said on the command line for one command or call; a manifest says "
          + "it itself")
    }
    if call == nil, input != nil { throw ValidationError("--input is for --call") }
  }

  /// Stdin belongs to the command on the cluster. A manifest or an input of `-` reads it by itself.
  var passesInput: Bool { !command.isEmpty && !commandOptions.ignoresInput }

  /// Leads to one of the three. For a command, 125 is the status of everything that is our own
  /// fault, as `env` and `timeout` do it.
  func perform(_ console: Console) async throws -> ExitStatus {
    if let call { return try await runCall(call, console) }
    if command.isEmpty { return try await runManifest(console) }
    do {
      return try await runCommand(console)
    } catch is OutputClosed {
      // The reader of stdout has gone: an end in good order, as of any filter.
      throw OutputClosed(code: 0)
    } catch {
      // An error of ours must not look like the command's status.
      console.report(Failure(shown: error))
      return .commandNotStarted
    }
  }

  /// The graph goes on to its end, or is cancelled with us. Its output is shown at the end, when it
  /// is of few operations.
  private func runManifest(_ console: Console) async throws -> ExitStatus {
    let source = ManifestSource(path: manifest ?? "-", parameters: parameters)
    let compiled = try source.compile(console)
    var prepared = compiled.submission
    try Submit.prepare(&prepared, name: name, key: nil)
    return try await inSession(console) { [prepared] session in
      var submission = prepared
      if let left = try await compiled.ownFiles.leave(
        for: &submission, session.connection, timeout: global.timeout?.duration, console)
      {
        return left
      }
      let accepted = try await GraphRun.submit(submission, session.connection)
      // After the submission: a question that fails must not keep the work from running.
      await PlacementNotice.warn(submission, session, console)
      var run = GraphRun(session: session, console: console, timeout: global.timeout?.duration)
      run.showsOutput = true
      run.submitted = Submitted(accepted, submission.name)
      run.notifications = compiled.notifications
      // Cancelled with Ctrl-C or at the time limit: the user is here and waits.
      return try await run.untilEnd(
        of: accepted.graph, showsProgress: true, onInterrupt: .cancel)
    }
  }

  /// Type and input are checked before a connection is made.
  private func runCall(_ call: String, _ console: Console) async throws -> ExitStatus {
    let request = CallRequest(
      type: try CallRequest.type(call), input: try CallRequest.input(input))
    var submission = request.submission()
    job.apply(to: &submission)
    try Submit.prepare(&submission, name: name, key: nil)
    return try await inSession(console) { session in
      try await CallRun(session: session, console: console, timeout: global.timeout?.duration)
        .run(request, submission)
    }
  }

  /// The time limit travels with the command, so that it counts the running command alone;
  /// `CommandRun` adds one until the start.
  private func runCommand(_ console: Console) async throws -> ExitStatus {
    var submission = try commandOptions.submission(command, timeout: global.timeout, console)
    job.apply(to: &submission)
    try Submit.prepare(&submission, name: name ?? submission.name, key: nil)
    return try await inSession(console) { session in
      try await CommandRun(
        session.connection, console, timeout: global.timeout?.duration
      ).run(submission)
    }
  }

  /// Ends the session on every path: an own cluster that is left behind would run on.
  private func inSession(
    _ console: Console, _ body: (Session) async throws -> ExitStatus
  ) async throws -> ExitStatus {
    let session = try await openSession(workers: 1, console)
    do {
      let status = try await body(session)
      await session.end()
      return status
    } catch {
      await session.end()
      throw error
    }
  }
}
