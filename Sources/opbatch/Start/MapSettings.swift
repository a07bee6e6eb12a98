// What the options of `map` come to: how jobs become graphs, and what is told of them.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterOneLiners
import OpClusterPresentation
import OpClusterSystem
import OpClusterWire

/// The settings of one run; they do not change after `apply`.
struct MapSettings: Sendable {
  /// When a job's output is printed.
  enum Printing { case together, byLine, atOnce }

  var composer = JobComposer([])
  /// The headers of the input sources.
  var names: [String] = []
  var tag: ReplacementTemplate?
  var halt: HaltRule?
  var finished = FinishedJobs()
  var jobLog: String?
  /// The bytes of the whole lines that the job log has, and that are kept; 0: it is written anew.
  private(set) var jobLogBytes = 0
  var results: String?
  var printing = Printing.together
  var keepsOrder = false
  var showsBar = false
  var showsCommands = false
  var delay: Duration?
  /// Jobs at once; nil: what fits.
  private(set) var places: Int?
  /// What each job asks for, its queue, its labels.
  private var asked = GraphSubmission(name: "map")
  private var command = CommandSpecification(form: .arguments([]))
  private let shell: [String]

  init(_ map: Map, _ limit: JobLimit?) throws {
    (jobLog, results) = (map.shown.joblog, map.shown.results)
    keepsOrder = map.shown.keepOrder
    showsBar = map.shown.bar
    showsCommands = map.shown.verbose
    delay = map.jobs.delay?.duration
    if map.shown.linebuffer { printing = .byLine }
    if map.shown.ungroup { printing = .atOnce }
    // In the order of the input a job's output waits for those before it.
    if keepsOrder { printing = .together }
    halt = try map.jobs.halt.flatMap { text throws(InputProblem) in try HaltRule.parse(text) }
    shell = [OwnProcess.filledVariable("PARALLEL_SHELL") ?? "/bin/sh", "-c"]
    command.environment = try Self.variables(map.jobs.environment)
    // The job's number, as in parallel.
    command.environment.append(
      .init(name: "PARALLEL_SEQ", value: CommandText(segments: [.value(.index, quoting: .none)])))
    command.workingDirectory = Self.folder(map.jobs.folder)
    command.timeout = map.jobs.timeout.map { .milliseconds($0.milliseconds) }
    asked.templates = [OperationTemplate(name: "map", work: .command)]
    map.job.apply(to: &asked)
    if let tries = map.jobs.retries {
      guard map.job.retry == 0 else {
        throw Failure.usage("give --retries, which counts all tries, or --retry, not both")
      }
      guard (1...100).contains(tries) else { throw Failure.usage("--retries is 1 to 100") }
      asked.templates[0].retry = RetryPolicy(maximum: tries - 1)
    }
    isExact = map.job.cpus != nil
    let (resumes, again) = (map.shown.resume, map.shown.resumeFailed)
    if resumes || again { try resume(onlySuccesses: again) }
  }

  /// Whether the user says what processors a job asks for.
  private let isExact: Bool

  /// Decides how many jobs run at once. More than there are processors ask for none, so that they
  /// really run at once: a part of one would be a bound for each.
  mutating func limitJobs(to limit: JobLimit?, _ cluster: MapCluster) {
    guard let limit else {
      if composer.usesSlots { places = max(1, cluster.processors) }
      return
    }
    places =
      limit.places(processors: cluster.processors)
      ?? max(1, cluster.workers) * Limits.oneLinersAtOncePerWorker
    guard !isExact, let places, places > cluster.processors else { return }
    asked.templates[0].demand.cpus = .zero
  }

  /// Whether jobs go through a queue of the cluster.
  var hasNamedQueue: Bool { !asked.queues.isEmpty }

  /// Returns one graph: an array with an element for each job.
  ///
  /// - Parameters:
  ///   - limit: Jobs of it at once; nil: what fits.
  ///   - tally: How former jobs ended; counts for `--halt`.
  func graphSubmission(
    _ jobs: [ComposedJob], limit: Int?, after tally: JobTally
  ) throws -> GraphSubmission {
    var submission = asked
    submission.name = Self.name(jobs)
    var command = command
    var template = submission.templates[0]
    template.count = UInt32(jobs.count)
    template.isArray = true
    template.indexRuns = Self.runs(jobs)
    try Self.fill(&command, &template, jobs, shell)
    template.payload = Wire.encode(command: command)
    guard template.payload.count <= Limits.payloadBytes else {
      throw Failure(.badInput, code: "too_large", "the command and its variables are too large")
    }
    if let limit {
      if hasNamedQueue {
        template.maximumParallel = UInt32(limit)
      } else {
        submission.queues = [
          .own(QueueSettings(name: "map", maximumConcurrent: UInt32(limit)))
        ]
      }
    } else if !hasNamedQueue {
      submission.queues = [.named("default")]
    }
    submission.templates = [template]
    // The coordinator stops sooner than we hear of it.
    if let halt, halt.event == .fail, case .count(let count) = halt.amount {
      submission.failurePolicy = halt.killsRunning ? .cancel : .stop
      submission.maximumFailures = UInt32(clamping: max(0, count - 1 - tally.failed))
    }
    try Submit.prepare(&submission, name: nil, key: nil)
    return submission
  }

  /// Words that are the same in all jobs are in the command, others are values of the elements.
  private static func fill(
    _ command: inout CommandSpecification, _ template: inout OperationTemplate,
    _ jobs: [ComposedJob], _ shell: [String]
  ) throws {
    let first = jobs[0].words ?? []
    let areAlike =
      !first.isEmpty && jobs.allSatisfy { $0.words != nil && $0.words?.count == first.count }
    let varying = first.indices.filter { at in
      areAlike && jobs.contains { $0.words?[at] != first[at] }
    }
    if areAlike {
      command.form = .arguments(
        first.indices.map { at in
          varying.firstIndex(of: at).map {
            CommandText(segments: [.value(.element($0), quoting: .none)])
          } ?? CommandText(first[at])
        })
      // The key of a single value is that of arrays of a manifest: OP_ITEM has it.
      command.elementKeys = varying.count == 1 ? ["item"] : varying.map { "\($0)" }
    } else {
      command.form = .shell(
        interpreter: shell,
        text: CommandText(segments: [.value(.element(0), quoting: .none)]))
      command.elementKeys = ["item"]
    }
    guard !command.elementKeys.isEmpty else { return }
    for job in jobs {
      let words = job.words ?? []
      let bytes = ElementValues.encode(areAlike ? varying.map { words[$0] } : [job.text])
      guard bytes.count <= Limits.elementArgumentBytes, !job.text.utf8.contains(0) else {
        throw Failure(
          .badInput, code: "bad_argument",
          "job \(job.arguments.sequence) has NUL, or more than "
            + "\(Limits.elementArgumentBytes / 1024) KiB",
          hint: "write long values into a file, and give the command its name")
      }
      template.elementArguments.append(bytes)
    }
  }

  private static func runs(_ jobs: [ComposedJob]) -> [IndexRun] {
    var runs: [IndexRun] = []
    for job in jobs {
      let number = UInt32(clamping: job.arguments.sequence)
      if let last = runs.last, last.first &+ last.count == number {
        runs[runs.count - 1].count += 1
      } else {
        runs.append(IndexRun(first: number, count: 1))
      }
    }
    return runs
  }

  /// The name of the program, without its folder.
  private static func name(_ jobs: [ComposedJob]) -> String {
    let word = jobs[0].words?.first ?? String(jobs[0].text.prefix { $0 != " " && $0 != ";" })
    let name = word.split(separator: "/").last.map(String.init) ?? "map"
    let isName = name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5a).contains($0 & 0xdf) || "-_.+".utf8.contains($0)
    }
    return isName ? String(decoding: name.utf8.prefix(64), as: UTF8.self) : "map"
  }

  private static func folder(_ named: String?) -> String {
    guard let named, !named.isEmpty else { return ThisProcess.workingFolder }
    // An attempt's scratch folder.
    if named == "..." { return "" }
    let path = named.hasPrefix("/") ? named : "\(ThisProcess.workingFolder)/\(named)"
    return ThisProcess.realPath(path) ?? path
  }

  private static func variables(
    _ texts: [String]
  ) throws(Failure) -> [CommandSpecification.Variable] {
    var variables: [CommandSpecification.Variable] = []
    for text in texts.flatMap({
      $0.contains("=") ? [$0] : $0.split(separator: ",").map(String.init)
    }) {
      guard text != "_" else {
        throw .usage("--env _ is not here", hint: "name the variables: --env NAME")
      }
      let given = Assignment(argument: text)
      guard let value = given?.value ?? OwnProcess.variable(text) else {
        throw .usage("variable '\(safe(text))' is not set here", hint: "write NAME=VALUE")
      }
      let name = given?.key ?? text
      if let objection = CommandVariables.objection(to: name, value) {
        throw .usage(safe(objection.message), hint: safe(objection.hint))
      }
      variables.append(.init(name: name, value: CommandText(value)))
    }
    return variables
  }

  /// Reads the job log that is there.
  private mutating func resume(onlySuccesses: Bool) throws {
    guard let jobLog else {
      throw Failure.usage(
        "--resume and --resume-failed need the --joblog of the former run",
        hint: "--joblog FILE")
    }
    let log: Descriptor
    do throws(ErrorNumber) {
      log = try .opened(jobLog, O_RDONLY)
    } catch {
      if error.code == ENOENT { return }
      throw Failure(
        .inputOutput, code: "cannot_read",
        "cannot read '\(safe(jobLog))': \(error.text)")
    }
    defer { close(log.number) }
    var splitter = JobLogLines()
    while true {
      let bytes = try FileDescriptor(log.number).readOnce(limit: 1 << 20)
      for line in splitter.wholeLines(bytes) {
        try finished.take(line, onlySuccesses: onlySuccesses)
      }
      jobLogBytes = splitter.whole
      if bytes.isEmpty { return }
    }
  }
}

/// Lines of a job log, which may have NUL, and a last one that a crash has cut off.
struct JobLogLines {
  private var rest: [UInt8] = []
  /// The bytes of all whole lines so far.
  private(set) var whole = 0

  mutating func wholeLines(_ bytes: [UInt8]) -> [String] {
    rest += bytes
    guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    let lines = rest[..<end].split(separator: UInt8(ascii: "\n"))
      .map { String(decoding: $0, as: UTF8.self) }
    whole += end + 1
    rest.removeSubrange(...end)
    return lines
  }
}
