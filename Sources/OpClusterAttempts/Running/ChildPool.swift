// Child processes of the worker for registered types that want one: started on demand, reused,
// killed after their grace. Belongs to `AttemptRunner`, on its thread. A child is this program with
// a hidden argument (`ChildProgram`), or an interpreter of Python with its side of the same
// protocol (`Sources/python/opcluster/interpreter.py`).

import Logging
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterWire

/// The reports of children.
enum ChildNews {
  /// With the file in which the child has left a value that is too large for a message.
  case ended(Part, AttemptResult, value: LeftValue?)
  case progress(Part, Double, String)
}

final class ChildPool {
  /// One child process.
  private final class Child {
    let reference: ProcessReference
    let channel: FrameChannel
    let kind: Kind
    /// Its output; nil: it writes to the files of the attempts themselves.
    let streams: ChildStreams?
    /// Whether a file of it has to be made anew.
    var lacksStreams = false
    /// The part that the child runs; nil: it is idle.
    var part: Part?
    var startedAt = WallTime.unknown
    /// The begin of its idle time.
    var idleSince = Instant.zero
    /// The cluster's address that the child has.
    var endpoint = ""
    /// Whether it was told that there is a store.
    var mayKeep = false
    /// The templates that an interpreter has been told and remembers.
    var told: Set<TemplateName> = []
    /// Killed, or released: it gets no more work.
    var isCondemned = false
    /// The result of an exclusive part; reported when the child and all its processes are gone.
    var result: AttemptResult?

    init(
      _ reference: ProcessReference, _ channel: FrameChannel, _ kind: Kind,
      _ streams: ChildStreams?
    ) {
      self.reference = reference
      self.channel = channel
      self.kind = kind
      self.streams = streams
    }
  }

  /// The properties of a child's process; a child serves only work with the same ones.
  private struct Kind: Equatable {
    var nice: Int32
    var memory: UInt64?
    var isExclusive: Bool
    var account: LocalAccount?
    /// CUDA reads its variable once per process.
    var gpus: [String]?
    /// nil: this program.
    var interpreter: PythonInterpreter?
    /// Whether it runs whole operations: the blocks of one write to the same files.
    var isOfWholes: Bool
  }

  /// A template of this session.
  private struct TemplateName: Hashable {
    var graph: GraphID
    var template: UInt32
  }

  /// A function of Python: who runs it, and the template's argument.
  struct PythonFunction {
    var interpreter: PythonInterpreter
    var argument: [UInt8]
  }

  /// The idle time after which a child ends.
  private let idleTime: Span
  /// Maximum number of idle children; more end at once.
  static let idleLimit = 64
  /// Maximum number of idle children that a fresh one of another kind leaves alone: there may be as
  /// many kinds as amounts of memory, and each child keeps what it has imported.
  static let idleOfOtherKinds = 8
  /// Tokens of children begin here; commands count from 1.
  private static let firstToken: UInt64 = 1 << 62
  /// The wait before a further try to send.
  private static let flushTime = Span.milliseconds(5)

  private let host: ProcessHost
  private let scratch: Scratch
  /// The program and the arguments that make it a child.
  private let command: [String]
  private let limits: OperationLimits
  private let accounts: OperationAccounts
  private let store: AttemptStore?
  private let logger: Logger
  /// The cluster's address, sent to a child with its next attempt.
  var home = OperationHome.none
  private var children: [UInt64: Child] = [:]
  private var busy: [Part: UInt64] = [:]
  private var newestToken = ChildPool.firstToken
  private var orders: UInt64 = 0

  init(
    host: ProcessHost, scratch: Scratch, command: [String], limits: OperationLimits,
    accounts: OperationAccounts, idleTime: Span, store: AttemptStore?, logger: Logger
  ) {
    self.store = store
    self.accounts = accounts
    self.idleTime = idleTime
    self.logger = logger
    self.limits = limits
    self.host = host
    self.scratch = scratch
    self.command = command
  }

  func isRunning(_ part: Part) -> Bool { busy[part] != nil }

  /// The file of a running attempt's stream; nil: it is the attempt's own.
  func stream(_ stream: LogStream, of attempt: AttemptID) -> LogPlace? {
    guard let token = busy[Part(attempt: attempt)], let child = children[token],
      let streams = child.streams
    else { return nil }
    return LogPlace(path: streams[stream], account: child.kind.account)
  }

  /// The moment at which `collect` must be called, even if nothing is readable.
  func nextDeadline(at now: Instant) -> Instant? {
    if children.isEmpty { return nil }
    let idle = children.values.lazy.filter { $0.part == nil && !$0.isCondemned }
      .map { $0.idleSince + self.idleTime }.min()
    let hasUnsent = children.values.contains { $0.channel.hasUnsent }
    return hasUnsent ? now + Self.flushTime : idle
  }

  // MARK: - Start and stop

  /// Gives the work to a child; returns its result if that fails.
  /// - Parameter function: Is run by its interpreter; nil: this program runs the type.
  func start(
    _ part: Part, _ job: Job, _ type: OperationType, argument: [UInt8],
    function: PythonFunction? = nil
  ) -> AttemptResult? {
    var orders = orders(for: job, type, argument, own: function?.argument ?? [])
    do {
      let account = try accounts.account(of: job.announcement)
      if !part.isWhole { try scratch.makeLogs(part.attempt, for: account) }
      let child = try takeChild(for: part, job, as: account, by: function?.interpreter)
      if function != nil, knows(child, job.announcement) { orders.templates = [] }
      let frame = bytes(of: .orders(orders))
      guard frame.count <= FrameChannel.frameLimit else {
        return AttemptProblem(
          cause: .badArgument,
          message: "its argument and inputs are more than \(FrameChannel.frameLimit) bytes"
        ).result
      }
      if !orders.templates.isEmpty { noteTold(job.announcement, to: child) }
      child.part = part
      child.startedAt = WallTime(milliseconds: WallClock.now())
      busy[part] = child.reference.token
      var endpoint = child.endpoint
      if case .endpoint(let known) = home { endpoint = known }
      // The output of a block is a part of the operation's.
      let mayKeep = part.isWhole && store?.mayKeep == true
      if endpoint != child.endpoint || mayKeep != child.mayKeep {
        (child.endpoint, child.mayKeep) = (endpoint, mayKeep)
        child.channel.send(bytes(of: .welcome(ChildWords.welcome(endpoint, mayKeep: mayKeep))))
      }
      child.channel.send(frame)
      return nil
    } catch let error as SpawnError {
      return error.problem.result
    } catch let error as AttemptProblem {
      return error.result
    } catch {
      return AttemptProblem(cause: .cannotStart, message: "\(error)").result
    }
  }

  /// Whether an interpreter has been told the template.
  private func knows(_ child: Child, _ announcement: TemplateAnnouncement) -> Bool {
    child.told.contains(
      TemplateName(graph: announcement.graph, template: announcement.template))
  }

  private func noteTold(_ announcement: TemplateAnnouncement, to child: Child) {
    // It forgets the oldest: beyond the limit nothing is certain.
    if child.told.count >= Limits.templatesPerInterpreter { child.told = [] }
    child.told.insert(
      TemplateName(graph: announcement.graph, template: announcement.template))
  }

  /// Another session may give the same numbers to other templates.
  func forgetTemplates() {
    for child in children.values { child.told = [] }
  }

  /// Encodes the template for a child, and the dispatch.
  private func orders(
    for job: Job, _ type: OperationType, _ argument: [UInt8], own: [UInt8]
  ) -> WorkerOrders {
    var announcement = job.announcement
    announcement.work = .call(type)
    announcement.payload = own
    announcement.fillsInput = false
    var dispatch = Dispatch(
      attempt: job.attempt, template: announcement.template, argument: argument,
      inputs: job.inputs)
    dispatch.run = job.run
    dispatch.queueName = job.ownQueueName
    var orders = nextOrders()
    orders.templates = [announcement]
    orders.dispatches = [dispatch]
    return orders
  }

  private func nextOrders() -> WorkerOrders {
    orders += 1
    return WorkerOrders(conversation: ChildWords.conversation, number: orders, acknowledged: 0)
  }

  /// Returns an idle child of the same kind, the last used first, or a fresh one.
  private func takeChild(
    for part: Part, _ job: Job, as account: LocalAccount?, by interpreter: PythonInterpreter?
  ) throws -> Child {
    let announcement = job.announcement
    let kind = Kind(
      nice: CommandRunner.nice(announcement.qos), memory: limits.memory(announcement.demand),
      isExclusive: announcement.isExclusive, account: account, gpus: job.gpus,
      interpreter: interpreter, isOfWholes: part.isWhole)
    let idle = children.values.filter { $0.part == nil && !$0.isCondemned && $0.kind == kind }
    if let child = idle.max(by: { $0.idleSince < $1.idleSince }) {
      if child.lacksStreams, let streams = child.streams {
        try scratch.restore(streams, for: account)
        child.lacksStreams = false
      }
      return child
    }
    makeRoom()
    let (near, far) = try FrameChannel.pair()
    newestToken += 1
    let tasks = try scratch.makeTasksFolder(of: account)
    let streams =
      try part.isWhole
      ? scratch.makeStreams(ofChild: newestToken - Self.firstToken, for: account) : nil
    let places = [scratch.path, tasks] + (streams.map { [$0.beginning] } ?? [])
    var specification = ProcessSpecification(
      command: .arguments((interpreter?.command ?? command) + places),
      environment: Self.environment(of: account, job), input: .channel(far), nice: kind.nice)
    if let interpreter {
      // What it runs is the submitter's, as a command is: it gets a command's environment.
      specification.environment = try interpreter.environment(
        of: account, temporaryFolder: tasks, job.gpuVariables)
      specification.workingDirectory = tasks
      // Why it cannot begin, it can only say there.
      specification.error = .file(
        OutputFile(
          path: scratch.relative(streams?.error ?? scratch.log(part.attempt, .standardError)),
          beneath: scratch.path, appends: true))
    }
    specification.account = account
    limits.bind(&specification, announcement)
    let reference = try host.start(specification, token: newestToken)
    _ = host.watch(near)
    let child = Child(reference, near, kind, streams)
    children[newestToken] = child
    return child
  }

  /// Ends the child that is idle longest, if many are: a fresh one is about to begin, so that none
  /// of them is of its kind. Costs the children.
  private func makeRoom() {
    let idle = children.values.filter { $0.part == nil && !$0.isCondemned }
    guard idle.count >= Self.idleOfOtherKinds else { return }
    if let oldest = idle.min(by: { $0.idleSince < $1.idleSince }) { condemn(oldest) }
  }

  /// The worker's environment, with the attempt's gpus.
  private static func environment(
    of account: LocalAccount?, _ job: Job
  ) -> [(name: String, value: String)] {
    let inherited = OperationEnvironment.inherited(by: account)
    guard job.gpus != nil else { return inherited }
    let names = [GPUVariables.own, GPUVariables.cuda]
    return inherited.filter { !names.contains($0.name) } + job.gpuVariables
  }

  /// Sets the operation's flag.
  func stop(_ part: Part) {
    guard let token = busy[part], let child = children[token], !child.isCondemned else { return }
    var orders = nextOrders()
    orders.cancels = [CancelOrder(attempt: part.attempt)]
    child.channel.send(bytes(of: .orders(orders)))
  }

  private func bytes(of message: CoordinatorMessage) -> [UInt8] {
    // A child is of this release and is refused nothing: there is no advice to put into words.
    Wire.encode(message) { _ in "" }
  }

  /// Kills the child with all its processes (S92).
  func kill(_ part: Part) {
    guard let token = busy[part], let child = children[token] else { return }
    condemn(child)
  }

  private func condemn(_ child: Child) {
    child.isCondemned = true
    host.killTree(child.reference)
  }

  // MARK: - News

  /// Returns the reports of children since the last call.
  func collect(at now: Instant) -> [ChildNews] {
    var news: [ChildNews] = []
    for child in children.values {
      if child.channel.hasUnsent { child.channel.flush() }
      take(from: child, at: now, &news)
    }
    endIdle(at: now)
    return news
  }

  private func take(from child: Child, at now: Instant, _ news: inout [ChildNews]) {
    while true {
      switch child.channel.receive() {
      case .nothing: return
      case .closed:
        // The host reports the child's end. A child without its channel is useless.
        if !child.isCondemned { condemn(child) }
        return
      case .frame(let bytes):
        switch try? Wire.decodeWorkerMessage(bytes) {
        case .report(let report):
          for entry in report.entries { take(entry, from: child, at: now, &news) }
        case .logChunk(let line): ChildWords.log(line, to: logger)
        case .hello, .goodbye, nil: return condemn(child)
        }
      }
    }
  }

  private func take(
    _ entry: WorkerReport.Entry, from child: Child, at now: Instant, _ news: inout [ChildNews]
  ) {
    guard let part = child.part else { return }
    switch entry {
    case .finished(part.attempt, let result) where child.kind.isExclusive:
      child.result = child.result ?? result
      if !child.isCondemned { condemn(child) }
    case .finished(part.attempt, let result):
      release(child, part, at: now)
      news.append(.ended(part, result, value: valueFile(of: result, part, child)))
    case .progress(part.attempt, let fraction, let text):
      news.append(.progress(part, fraction, text))
    // Reports of an operation that has already returned.
    case .finished, .progress: break
    case .started, .recalled, .alreadyStarted, .cancelTaken: break
    }
  }

  private func release(_ child: Child, _ part: Part, at now: Instant) {
    busy[part] = nil
    child.part = nil
    child.idleSince = now
    guard let streams = child.streams else { return }
    switch scratch.keep(streams, of: part.attempt, for: child.kind.account) {
    case .untouched: break
    case .incomplete: child.lacksStreams = true
    case .stuck: condemn(child)
    }
  }

  /// Ends unneeded children, with everything that they left running.
  private func endIdle(at now: Instant) {
    let idle = children.values.filter { $0.part == nil && !$0.isCondemned }
      .sorted { $0.idleSince > $1.idleSince }
    for (place, child) in idle.enumerated()
    where place >= Self.idleLimit || now - child.idleSince >= idleTime {
      condemn(child)
    }
  }

  /// The part that a child runs.
  func part(of token: UInt64) -> Part? { children[token]?.part }

  /// Handles the end of a process tree; returns the consequences for a busy child's part.
  func ended(_ end: EndedProcess, at now: Instant) -> [ChildNews] {
    guard let child = children[end.reference.token] else { return [] }
    // The child's last reports still count.
    var news: [ChildNews] = []
    child.isCondemned = true
    take(from: child, at: now, &news)
    children[end.reference.token] = nil
    defer { if let streams = child.streams { scratch.removeStreams(streams) } }
    guard let part = child.part else { return news }
    release(child, part, at: now)
    let tasks = scratch.tasksFolder(of: child.kind.account)
    let name = Part(attempt: part.attempt).folderName
    let folder = Scratch.taskFolder(name, in: tasks) + ".\(end.reference.process)"
    if Folders.size(of: folder) != nil { scratch.removeLater(folder) }
    if let result = child.result {
      return news + [.ended(part, result, value: valueFile(of: result, part, child))]
    }
    // It may have ended while it left its output.
    let value = ChildWords.valueFile(of: name, in: tasks, child: end.reference.process)
    Folders.removeFile(value)
    let files = ChildWords.filesFolder(of: value)
    if Folders.size(of: files) != nil { scratch.removeLater(files) }
    var result = Self.result(of: end.status)
    if let verdict = verdict(on: end, child.kind) { result = verdict }
    var words = LogFiles.lastWords(
      of: LogPlace(
        path: scratch.log(part.attempt, .standardError), account: child.kind.account))
    while words.last?.isWhitespace == true { words.removeLast() }
    if !words.isEmpty {
      let advice = child.kind.interpreter?.advice(on: words).map { "; " + $0 } ?? ""
      result = AttemptProblem(
        cause: result.cause, message: result.diagnostic + ": " + words + advice
      ).result(exitStatus: result.exitStatus, signal: result.signal)
    }
    result.startedAt = child.startedAt
    result.endedAt = WallTime(milliseconds: WallClock.now())
    return news + [.ended(part, result, value: nil)]
  }

  /// The file of a value that the child has left there instead of in its result.
  private func valueFile(
    of result: AttemptResult, _ part: Part, _ child: Child
  ) -> LeftValue? {
    guard store != nil, result.isSuccess, !OperationOutput.contents(of: result.output).isEmpty
    else { return nil }
    return LeftValue(
      path: ChildWords.valueFile(
        of: part.folderName, in: scratch.tasksFolder(of: child.kind.account),
        child: child.reference.process),
      account: child.kind.account)
  }

  /// Returns the result if the child's limits caused the end.
  private func verdict(on end: EndedProcess, _ kind: Kind) -> AttemptResult? {
    let demand = Resources(memoryBytes: Int64(clamping: kind.memory ?? 0))
    guard let verdict = limits.verdict(on: end, demand) else { return nil }
    var (exitStatus, signal): (Int32, Int32) = (0, 0)
    switch end.status {
    case .exited(let status): exitStatus = status
    case .signalled(let number): signal = number
    case .unknown: break
    }
    return verdict.result(exitStatus: exitStatus, signal: signal)
  }

  /// Distinguishes crashes from foreign kills (S16).
  private static func result(of status: EndedProcess.Status) -> AttemptResult {
    switch status {
    case .exited(let status):
      AttemptProblem(cause: .failed, message: "its process ended before it returned")
        .result(exitStatus: status)
    case .signalled(let signal):
      AttemptProblem(
        cause: .signal,
        message: crashes[signal].map { "it crashed (\($0))" }
          ?? "its process was killed by signal \(signal)"
      ).result(signal: signal)
    case .unknown:
      AttemptProblem(cause: .failed, message: "the end of its process was not seen").result
    }
  }

  /// Signals of crashes: raised by the processor, or by the program itself.
  private static let crashes: [Int32: String] = [
    4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV",
    31: "SIGSYS",
  ]
}

extension AttemptProblem {
  func result(exitStatus: Int32 = 0, signal: Int32 = 0) -> AttemptResult {
    var result = result
    result.exitStatus = exitStatus
    result.signal = signal
    return result
  }
}
