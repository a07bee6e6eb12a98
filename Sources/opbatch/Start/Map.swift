// `opbatch map`: one command for each of many arguments, in the grammar of GNU parallel. This reads
// the options; `MapRun` submits, follows and prints.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterOneLiners
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Needs the rights of a submission. Statuses are parallel's, so that scripts need not change.
struct Map: Command {
  static let configuration = CommandConfiguration(
    abstract: "Run a command for each of many arguments, as GNU parallel does.",
    usage: """
      opbatch map [<options>] [<cmd> ...] [::: <args> | :::+ <args> | :::: <files>] ...
      <lines> | opbatch map [<options>] [<cmd> ...]
      """,
    discussion: """
      {} is the argument, {.} without extension, {/} without folder, {//} its folder, {/.} both; \
      {1} {2/} … that of one source or column, {#} the job's number, {%} its place. Arguments are \
      inserted as words, never as text for a shell. A command with characters of the shell runs \
      by 'sh -c', or by PARALLEL_SHELL; others run as they are.

      Options stand before the command. The status is the number of failed jobs, 101 for more than \
      a hundred, 255 for errors of our own.

      Without a configured cluster it runs on one of its own.

      Examples:
        opbatch map gzip -k ::: *.log
        find . -name '*.wav' | opbatch map --bar flac {} -o {.}.flac
        opbatch map -k echo {1}-{2} ::: a b ::: 1 2
        opbatch map --joblog jobs.log --resume-failed --retries 3 ./step {} :::: list
      """)

  @OptionGroup(title: "Of the input") var input: MapInputOptions
  @OptionGroup(title: "Of the jobs") var jobs: MapJobOptions
  @OptionGroup(title: "Of the output") var shown: MapOutputOptions
  @OptionGroup(title: "Of what a job asks for") var job: JobOptions
  @OptionGroup(title: "Common options") var common: MapCommonOptions

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("The command, ::: and its arguments.", valueName: "cmd"))
  var words: [String] = []

  var global: GlobalOptions { common.global }

  // Ctrl-C cancels the jobs rather than leaving them: nobody else waits for them.
  static var handlesInterrupts: Bool { true }

  /// As parallel's: every error of ours is 255, since lower numbers count failed jobs.
  private static let ownFault = ExitStatus(code: 255)

  /// Words that ArgumentParser does not know begin the command, `--help` among them.
  func validate() throws {
    if let first = words.first, ["--help", "-h"].contains(first) {
      throw CleanExit.helpRequest(self)
    }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    do {
      return try await map(console)
    } catch is OutputClosed {
      throw OutputClosed(code: 0)
    } catch {
      console.report(Self.failure(error))
      return Self.ownFault
    }
  }

  private static func failure(_ error: any Error) -> Failure {
    guard let problem = error as? InputProblem else { return Failure(shown: error) }
    return .usage(safe(problem.message), hint: safe(problem.hint))
  }

  private func map(_ console: Console) async throws -> ExitStatus {
    try checkWords()
    let words = words.first == "--" ? Array(words.dropFirst()) : words
    let line = OneLiner(
      words, files: input.argumentFiles, separator: input.argSep,
      fileSeparator: input.argFileSep)
    guard !line.command.contains(where: { $0.contains("{=") }) else {
      throw Failure.usage(
        "expressions in Perl, {= … =}, are not here", hint: ForeignOption.advice(for: "--rpl") ?? ""
      )
    }
    guard line.standardInputs <= 1 else { throw Failure.usage("standard input is named twice") }
    if line.standardInputs == 1, Descriptor.input.isTerminal {
      console.say("reading arguments from the terminal, a line each; Ctrl-D ends them")
    }
    let limit = try jobs.jobs.map { text throws(InputProblem) in try JobLimit(text) }
    var settings = try MapSettings(self, limit)
    let source = try await MapInput.openSources(
      line.sources, rows: try input.rowSettings(), delimiter: try input.delimiterByte())
    settings.composer = JobComposer(
      line.command, names: source.names, whole: input.replacement, appends: input.perJob != 0,
      repetition: input.fillsWords ? .words : input.fillsValues ? .values : .none,
      quotesTemplate: input.quote)
    settings.names = source.names
    settings.tag = try tag(source.names)
    if shown.dryRun {
      source.beginRows(try input.batchSize(places: 1), cost: settings.composer.rowCost)
      return try await DryMapRun.run(source, settings, console)
    }
    return try await inSession(console) { session in
      let cluster = try await MapCluster.ofWorkers(session.connection)
      settings.limitJobs(to: limit, cluster)
      let places = settings.places ?? max(1, cluster.processors)
      source.beginRows(try input.batchSize(places: places), cost: settings.composer.rowCost)
      return try await MapRun(session.connection, source, settings, cluster, console).run()
    }
  }

  /// A first word that looks like an option is one that is not here.
  private func checkWords() throws(Failure) {
    guard let first = words.first, first.hasPrefix("-"), first != "--", first != "-" else { return }
    if let advice = ForeignOption.advice(for: first) {
      throw .usage(
        "'\(safe(first))' of GNU parallel is not here", hint: advice)
    }
    throw .usage(
      "unknown option '\(safe(first))'",
      hint: "'opbatch map --help' lists all; short options stand apart: -k -j 4")
  }

  private func tag(_ names: [String]) throws(Failure) -> ReplacementTemplate? {
    if let text = shown.tagstring { return ReplacementTemplate(text, names: names) }
    return shown.tag ? ReplacementTemplate("{}") : nil
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

/// The workers that are there.
struct MapCluster {
  /// Whole processors of all connected workers.
  var processors = 0
  var workers = 0
  var names: [WorkerID: String] = [:]

  static func ofWorkers(_ connection: ClusterConnection) async throws -> MapCluster {
    var cluster = MapCluster()
    let rows = try await Reader(connection: connection, timeout: nil).workers()
    for row in rows where row.state == .connected {
      cluster.processors += Int(row.capacity.cpus.tenThousandths / 10_000)
      cluster.workers += 1
      cluster.names[row.worker] = row.name
    }
    return cluster
  }
}

/// Prints commands and runs none.
enum DryMapRun {
  static func run(
    _ source: MapInput, _ settings: MapSettings, _ console: Console
  ) async throws -> ExitStatus {
    while true {
      let chunk = await source.nextChunk(atMost: Limits.oneLinersPerGraph)
      var text = ""
      for arguments in chunk.jobs { text += settings.composer.job(arguments).text + "\n" }
      if !text.isEmpty {
        // A pipe gets what a shell can run; a terminal what is safe for it.
        if console.outputIsTerminal {
          try console.write(text)
        } else {
          try console.write(bytes: Array(text.utf8))
        }
      }
      if let problem = chunk.problem { throw problem }
      if chunk.isEnd { return .success }
    }
  }
}
