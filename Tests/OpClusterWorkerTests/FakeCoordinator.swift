// A coordinator for one worker, on the test's own thread: a router socket, the codec, and what the
// test wants to say. And a worker on a thread of its own.

import Glibc
import Logging
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// Talks to one worker; collects what it says.
final class FakeCoordinator {
  private let socket: Socket
  private var poller = SocketPoller()
  let endpoint: Endpoint
  private var peer: RoutingID?
  var conversation: Conversation?
  var hellos: [WorkerHello] = []
  var entries: [WorkerReport.Entry] = []
  var chunks: [LogChunk] = []
  /// As the newest report says.
  var unkillable: [AttemptID] = []
  /// What its newest report says.
  var wantsToLeave = false
  var saidGoodbye = false
  /// What a hello is answered with.
  var timing = Timing()
  var stale: [AttemptID] = []
  var refusal: Refusal?
  var clientEndpoint = ""
  /// Neither listens nor speaks while true.
  var isSilent = false
  /// Acknowledges reports at once.
  var acknowledges = true
  private var increment: UInt32 = 0
  private var ordersSent: UInt64 = 0
  private var reportTaken: UInt64 = 0
  private var lastSpoken: Int64 = 0
  private var templatesTold: Set<UInt32> = []

  static let graph = GraphID(12)

  /// Listens at the address; without one, at a socket file of its own.
  init(at address: String? = nil) throws {
    socket = try Socket(role: .router(maximumMessageBytes: Limits.messageBytes))
    endpoint = try socket.bind(Endpoint(address ?? Self.freshAddress()))
    _ = poller.add(socket)
    timing.heartbeat = .milliseconds(200)
  }

  /// In one private folder for the whole process; each socket takes its file along when it ends.
  private static let folder: String = {
    let path = "/tmp/worker-test-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
    _ = unsafe mkdir(path, 0o700)
    return path
  }()
  private static func freshAddress() -> String {
    "ipc://\(folder)/\(String(UInt64.random(in: 0...(.max)), radix: 36))"
  }

  static func attempt(_ index: UInt32, _ attempt: UInt32 = 1) -> AttemptID {
    AttemptID(operation: OperationID(graph: graph, index: index), attempt: attempt)
  }

  /// Turns until the condition holds; fails the test after a generous while.
  func until(
    _ what: String, seconds: Int64 = 240, location: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
  ) throws {
    let deadline = MonotonicClock.now() + seconds * 1_000_000_000
    while !condition() {
      guard MonotonicClock.now() < deadline else {
        Issue.record("never: \(what); entries: \(entries)", sourceLocation: location)
        throw Abandoned()
      }
      try turn()
    }
  }
  struct Abandoned: Error {}

  func turn() throws {
    _ = try poller.wait(until: MonotonicClock.now() + 20_000_000)
    if isSilent { return }
    receiving: while true {
      switch socket.receive() {
      case .message(let bytes, let from):
        try take(Wire.decodeWorkerMessage(bytes), from?.connection)
      case .nothing: break receiving
      case .malformed, .failed: Issue.record("a message that is not one frame")
      }
    }
    if conversation != nil, MonotonicClock.now() - lastSpoken > 100_000_000 { try order() }
  }

  private func take(_ message: WorkerMessage, _ from: RoutingID?) throws {
    switch message {
    case .hello(let hello):
      hellos.append(hello)
      peer = from
      increment += 1
      ordersSent = 0
      reportTaken = 0
      templatesTold = []
      if let refusal { return try send(.refused(refusal)) }
      let fresh = Conversation(
        epoch: Epoch(1), session: hello.session, increment: increment)
      conversation = fresh
      try send(
        .welcome(
          Welcome(
            conversation: fresh, version: 1, worker: WorkerID(1), timing: timing, stale: stale,
            clientEndpoint: clientEndpoint)))
    case .report(let report):
      guard report.conversation == conversation else { return }
      #expect(report.number == reportTaken + 1)
      reportTaken = report.number
      entries += report.entries
      unkillable = report.unkillable
      wantsToLeave = report.isLeaving
      if acknowledges, !report.entries.isEmpty { try order() }
    case .logChunk(let chunk): chunks.append(chunk)
    case .goodbye: saidGoodbye = true
    }
  }

  func send(_ message: CoordinatorMessage) throws {
    lastSpoken = MonotonicClock.now()
    _ = socket.send(Wire.encode(message) { _ in "" }, to: try #require(peer))
  }

  func order(_ fill: (inout WorkerOrders) -> Void = { _ in }) throws {
    ordersSent += 1
    var orders = WorkerOrders(
      conversation: try #require(conversation), number: ordersSent,
      acknowledged: acknowledges ? reportTaken : 0)
    fill(&orders)
    try send(.orders(orders))
  }

  // MARK: - What is often said

  static func template(
    at position: UInt32 = 0, firstIndex: UInt32 = 0, name: String = "op", isArray: Bool = false,
    work: Work, payload: [UInt8], cpus: Int64 = 1, qos: QualityOfService = .default
  ) -> TemplateAnnouncement {
    TemplateAnnouncement(
      graph: graph, graphName: "test", template: position, firstIndex: firstIndex, name: name,
      isArray: isArray, indexRuns: [], work: work, payload: payload,
      demand: Resources(cpus: ResourceAmount(cpus)), qos: qos)
  }

  static func command(
    at position: UInt32 = 0, firstIndex: UInt32 = 0, name: String = "op", isArray: Bool = false,
    qos: QualityOfService = .default, _ specification: CommandSpecification
  ) -> TemplateAnnouncement {
    template(
      at: position, firstIndex: firstIndex, name: name, isArray: isArray, work: .command,
      payload: Wire.encode(command: specification), qos: qos)
  }

  static func shell(
    _ text: String, _ change: (inout CommandSpecification) -> Void = { _ in }
  ) -> CommandSpecification {
    var specification = CommandSpecification(
      form: .shell(interpreter: ["/bin/sh", "-c"], text: CommandText(text)))
    change(&specification)
    return specification
  }

  /// Runs the first operation of a template and returns its end.
  func run(
    _ template: TemplateAnnouncement, argument: [UInt8] = [], inputs: [DependencyInput] = [],
    location: SourceLocation = #_sourceLocation
  ) throws -> AttemptResult {
    let attempt = Self.attempt(template.firstIndex)
    try until("a welcome", location: location) { conversation != nil }
    try order {
      $0.templates = [template]
      $0.dispatches = [
        Dispatch(
          attempt: attempt, template: template.template, argument: argument, inputs: inputs)
      ]
    }
    try until("the end of \(template.name)", location: location) { result(attempt) != nil }
    return try #require(result(attempt))
  }

  func result(_ attempt: AttemptID) -> AttemptResult? {
    for case .finished(attempt, let result) in entries { return result }
    return nil
  }

  func hasStarted(_ attempt: AttemptID) -> Bool { entries.contains(.started(attempt)) }

  /// One piece of a log.
  func log(
    _ attempt: AttemptID, _ stream: LogStream, offset: Int64 = 0,
    location: SourceLocation = #_sourceLocation
  ) throws -> LogChunk {
    let number = UInt64(chunks.count + 1)
    try send(
      .logRequest(
        LogRequest(
          number: number, attempt: attempt, stream: stream, offset: offset, maximumBytes: 1 << 16))
    )
    try until("a piece of a log", location: location) { chunks.count >= Int(number) }
    return try #require(chunks.last)
  }
}

/// A worker on its own thread, with a folder of its own.
final class TestWorker {
  let folder: String
  let worker: Worker
  private let thread: ThreadHandle
  private let ending: Mailbox<WorkerExit>

  init(
    _ endpoint: Endpoint, types: OperationRegistry = OperationRegistry(),
    _ change: (inout WorkerConfiguration) -> Void = { _ in }
  ) throws {
    folder = try Self.freshFolder()
    var configuration = WorkerConfiguration(
      coordinator: endpoint, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    configuration.name =
      "test-\(getpid())-\(folder.utf8.count)-\(UInt32.random(in: 0...UInt32.max))"
    configuration.isNameGiven = true
    configuration.scratch = folder
    configuration.capacity = Resources(cpus: ResourceAmount(4), memoryBytes: 1 << 30)
    configuration.handlesSignals = false
    change(&configuration)
    let worker = try Worker(configuration, types: types)
    let ending = try Mailbox<WorkerExit>(capacity: 1)
    self.worker = worker
    self.ending = ending
    thread = try startThread(name: "test worker") {
      do throws(WorkerError) {
        _ = ending.post(try worker.run())
      } catch {
        Issue.record("worker: \(error)")
      }
    }
  }

  /// Asks it to stop, lets the coordinator turn meanwhile, and says how it ended.
  func end(_ coordinator: FakeCoordinator? = nil) throws -> WorkerExit? {
    worker.stop()
    try coordinator?.until("goodbye") { coordinator!.saidGoodbye }
    thread.join()
    var exits: [WorkerExit] = []
    ending.takeAll(into: &exits)
    return exits.first
  }

  deinit {
    worker.stopNow()
    thread.join()
    Folders.removeTree(folder)
  }

  static func freshFolder() throws -> String {
    let base = OwnProcess.variable("TMPDIR") ?? "/tmp"
    let path = "\(base)/opworker-test-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
    try Folders.make(path)
    return path
  }
}

/// Makes an empty file.
func touch(_ path: String) {
  let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
  if file >= 0 { close(file) }
}

/// Living processes whose arguments contain the text.
func processes(with mark: String) -> [Int32] {
  Folders.names(in: "/proc").compactMap { name in
    guard let number = Int32(name), number != getpid(),
      let arguments = Folders.text(of: "/proc/\(name)/cmdline"), arguments.contains(mark)
    else { return nil }
    return number
  }
}
