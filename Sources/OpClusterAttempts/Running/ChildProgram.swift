// The child's side of `ChildPool`: this program, started by the worker to run operations that want
// a process of their own. One attempt at a time; the main thread takes orders, the operation runs
// on Swift's threads and reports its end from there.

import Glibc
import Logging
import OpClusterDaemon
import OpClusterModel
public import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterWire
import Synchronization

/// The protocol between a worker and its children: orders and reports as between coordinator and
/// worker, in a conversation of their own.
enum ChildWords {
  static let conversation = Conversation(
    epoch: Epoch(1), session: WorkerSession(1), increment: 1)

  /// Encodes the address for clients, and whether large values may be left in files.
  static func welcome(_ endpoint: String, mayKeep: Bool) -> Welcome {
    var welcome = Welcome(
      conversation: conversation, version: 1, worker: WorkerID(1), timing: Timing(),
      clientEndpoint: endpoint)
    welcome.takesContents = mayKeep
    return welcome
  }

  /// Where a child leaves a value that is too large for a message.
  static func valueFile(of part: String, in tasks: String, child process: Int32) -> String {
    "\(tasks)/\(part).\(process).value"
  }

  /// Where it leaves files beside the value, by their positions.
  static func filesFolder(of value: String) -> String { value + ".files" }

  /// Encodes a line of an operation's log: its level as a number, and its text.
  static func line(_ level: Logger.Level, _ text: String) -> LogChunk {
    LogChunk(
      number: UInt64(Logger.Level.allCases.firstIndex(of: level) ?? 0), offset: 0,
      bytes: Array(text.utf8.prefix(Limits.logChunkBytes)), size: 0, isComplete: true)
  }

  static func log(_ line: LogChunk, to logger: Logger) {
    let levels = Logger.Level.allCases
    let place = Int(clamping: line.number)
    logger.log(
      level: levels.indices.contains(place) ? levels[place] : .notice,
      "\(String(decoding: line.bytes, as: UTF8.self))")
  }
}

/// Sends an operation's log lines to the worker, and writes them to the operation's own log, this
/// process's stderr.
private struct ChildLog: LogHandler {
  let channel: ParentChannel
  /// The minimum level of the operation's own log; a level set by the operation takes precedence.
  private var ownLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace {
    didSet { ownLevel = logLevel }
  }

  init(_ channel: ParentChannel) { self.channel = channel }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    if event.level >= ownLevel {
      StandardStream.error.write(OperationLogLine.text(event.level, event.message, all))
    }
    let pairs = all.sorted { $0.key < $1.key }
    let text = pairs.reduce("\(event.message)") { "\($0) \($1.key)=\($1.value)" }
    channel.send(Wire.encode(.logChunk(ChildWords.line(event.level, text))))
  }
}

/// The entry point of a program that may be started as a child of its own worker.
public enum ChildProgram {
  static let argument = "--serve-as-child"

  /// The command that starts this program as a child (`WorkerConfiguration.childCommand`).
  public static var command: [String] { ["/proc/self/exe", argument] }

  /// The types that this program runs as a child of itself.
  private static let offered = Mutex<[OperationType]>([])

  /// Runs operations for the parent process and never returns, if a parent started this process as
  /// a child. Otherwise returns at once; this process may then start children of its own for these
  /// types. Call it first in `main`.
  public static func serveIfAsked(_ types: () -> OperationRegistry) {
    let arguments = CommandLine.arguments
    guard 4...5 ~= arguments.count, arguments[1] == argument else {
      let types = types().types
      return offered.withLock { $0 += types }
    }
    guard let channel = ParentChannel.take() else {
      StandardStream.error.write("\(arguments[0]): \(argument) is for workers only")
      exit(64)
    }
    ChildServer(
      types(), channel, scratch: arguments[2], tasks: arguments[3],
      streams: arguments.count == 5 ? ChildStreams(beginning: arguments[4]) : nil
    ).run()
  }

  /// Whether a child of this process knows a type.
  public static func serves(_ type: OperationType) -> Bool {
    offered.withLock { offered in offered.contains { type.isServed(by: $0) } }
  }
}

private final class ChildServer: Sendable {
  private let registry: OperationRegistry
  private let channel: ParentChannel
  private let scratch: String
  /// The folder in which operations may make folders.
  private let tasks: String
  private let streams: StandardStreams
  /// The running attempt; without its work while it is being started.
  private let running = Mutex<(attempt: AttemptID, work: RunningAttempt?)?>(nil)
  private let reports = Atomic<UInt64>(0)
  /// The time of the last progress report, in nanoseconds.
  private let progressTold = Atomic<Int64>(0)
  /// The minimum time between two, in nanoseconds; the worker itself reports at most once a second.
  private static let progressInterval: Int64 = 100_000_000

  init(
    _ registry: OperationRegistry, _ channel: ParentChannel, scratch: String, tasks: String,
    streams: ChildStreams?
  ) {
    self.streams = StandardStreams(own: streams.map { ($0.output, $0.error) })
    self.registry = registry
    self.tasks = tasks
    self.channel = channel
    self.scratch = scratch
  }

  /// Serves until the worker has gone or dismisses the child; a running operation then dies with
  /// the process.
  func run() -> Never {
    streams.close()
    var home = OperationHome.none
    var mayKeep = false
    taking: while let frame = channel.receive() {
      switch try? Wire.decodeCoordinatorMessage(frame) {
      case .welcome(let welcome):
        home = welcome.clientEndpoint.isEmpty ? .none : .endpoint(welcome.clientEndpoint)
        mayKeep = welcome.takesContents
      case .orders(let orders):
        for (template, dispatch) in zip(orders.templates, orders.dispatches) {
          start(template, dispatch, home, mayKeep: mayKeep)
        }
        for cancel in orders.cancels { stop(cancel.attempt) }
      case .refused, .logRequest, nil: break taking
      }
    }
    _exit(0)
  }

  private func stop(_ attempt: AttemptID) {
    let work = running.withLock { $0?.attempt == attempt ? $0?.work : nil }
    work?.cancel()
  }

  private func start(
    _ announcement: TemplateAnnouncement, _ dispatch: Dispatch, _ home: OperationHome,
    mayKeep: Bool
  ) {
    guard case .call(let type) = announcement.work else { return }
    let attempt = dispatch.attempt
    streams.open(
      output: Scratch.log(attempt, .standardOutput, in: scratch),
      error: Scratch.log(attempt, .standardError, in: scratch))
    let job = Job(
      attempt: attempt, run: dispatch.run, ownQueueName: dispatch.queueName,
      template: PreparedTemplate(announcement), inputs: dispatch.inputs,
      gpus: OwnProcess.variable(GPUVariables.own)?.split(separator: ",").map(String.init))
    let name = Part(attempt: attempt).folderName
    let folder = Scratch.taskFolder(name, in: tasks)
    let value = mayKeep ? ChildWords.valueFile(of: name, in: tasks, child: getpid()) : nil
    let logger = Logger(label: "operation") { [channel] _ in ChildLog(channel) }
    running.withLock { $0 = (attempt, nil) }
    let started = registry.start(
      type, argument: dispatch.argument,
      context: job.context(
        scratch: folder + ".\(getpid())", inputs: Scratch.inputFolder(attempt, in: scratch),
        home: home, files: value.map { ChildFiles(besideValue: $0).store } ?? .none, logger: logger
      ) {
        [self] fraction, text in tell(attempt, fraction, text)
      },
      qos: announcement.qos
    ) { [self] result, _ in ended(attempt, result, value) }
    switch started {
    case .ended(let result): ended(attempt, result, nil)
    case .running(let work):
      // The attempt may have ended already.
      running.withLock { if $0 != nil { $0?.work = work } }
    }
  }

  /// - Parameter value: The file for a value that is too large for a message; nil: there is no
  ///   store.
  private func ended(_ attempt: AttemptID, _ result: AttemptResult, _ value: String?) {
    let (fitting, _) = result.fittingMessages(
      keep: value.map { path in { bytes in try Self.leave(bytes, at: path) } })
    // Nobody looks at what came to nothing.
    if let value, !fitting.isSuccess { Folders.removeTree(ChildWords.filesFolder(of: value)) }
    running.withLock { $0 = nil }
    streams.close()
    send(.finished(attempt, fitting))
  }

  /// The worker reads the file, and names it by its digest.
  private static func leave(_ bytes: [UInt8], at path: String) throws -> StoredContent {
    try Folders.makeFile(path, with: bytes)
    return StoredContent(unnamedOf: Int64(bytes.count))
  }

  private func tell(_ attempt: AttemptID, _ fraction: Double, _ text: String) {
    let now = MonotonicClock.now()
    let last = progressTold.load(ordering: .relaxed)
    guard now - last >= Self.progressInterval,
      progressTold.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
    else { return }
    send(.progress(attempt, fraction: fraction, text: text))
  }

  private func send(_ entry: WorkerReport.Entry) {
    let number = reports.add(1, ordering: .relaxed).newValue
    var report = WorkerReport(conversation: ChildWords.conversation, number: number)
    report.entries = [entry]
    channel.send(Wire.encode(.report(report)))
  }
}

/// The files that an operation of a child leaves: as second names where the worker looks for them,
/// which reads them and names them by their digests. On any thread.
private final class ChildFiles: Sendable {
  private let folder: String
  private let count = Atomic<Int>(0)

  init(besideValue path: String) { folder = ChildWords.filesFolder(of: path) }

  var store: OperationFileStore {
    OperationFileStore { [self] path in
      let position = count.add(1, ordering: .relaxed).oldValue
      if position == 0 { try Folders.makeEmpty(folder) }
      return try FileTree.reading(path, followsLinks: true) { descriptor in
        let (size, isExecutable) = try Folders.facts(ofFile: descriptor, at: path)
        try Folders.nameAgain(descriptor, at: path, as: "\(folder)/\(position)")
        return OperationFileStore.Kept(
          content: StoredContent(unnamedOf: size), isExecutable: isExecutable)
      }
    }
  }
}

extension StoredContent {
  /// The worker names it by its digest.
  fileprivate init(unnamedOf size: Int64) {
    guard let unnamed = ContentDigest(bytes: [UInt8](repeating: 0, count: 32)) else {
      preconditionFailure("a digest has 32 bytes")
    }
    self.init(digest: unnamed, size: size)
  }
}
