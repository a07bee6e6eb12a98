// Types that run in child processes of the worker, and worker programs as users write them: the
// stand-in serves a coordinator of the test.

import Citations
import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// A running `WorkerStandIn`.
private final class StandIn {
  let process: OpworkerProcess
  let coordinator: FakeCoordinator
  private var templates: UInt32 = 0

  init(_ flags: [String] = []) throws {
    let coordinator = try FakeCoordinator()
    self.coordinator = coordinator
    coordinator.clientEndpoint = "tcp://127.0.0.1:7420"
    process = try OpworkerProcess(program: "WorkerStandIn") { folder in
      [
        "--allow-root", "--coordinator", "\(coordinator.endpoint)", "--name",
        "stand-in-\(getpid())",
        "--scratch", "\(folder)/scratch", "--cpus", "4",
      ] + flags
    }
    try coordinator.until("a welcome") { coordinator.conversation != nil }
  }

  var folder: String { process.folder }

  func template(_ type: String, _ argument: String) -> TemplateAnnouncement {
    defer { templates += 1 }
    return FakeCoordinator.template(
      at: templates, firstIndex: templates, name: type,
      work: .call(OperationType(name: "stand-in.\(type)")), payload: Array(argument.utf8))
  }

  func run(_ type: String, _ argument: String = "{}") throws -> AttemptResult {
    try coordinator.run(template(type, argument))
  }

  /// Starts one that makes a file when it runs, and waits for that.
  func start(_ type: String) throws -> AttemptID {
    let file = "\(folder)/\(type)"
    let template = template(type, "{\"file\":\"\(file)\"}")
    let attempt = FakeCoordinator.attempt(template.firstIndex)
    try coordinator.order {
      $0.templates = [template]
      $0.dispatches = [Dispatch(attempt: attempt, template: template.template)]
    }
    try coordinator.until("its beginning") { Folders.size(of: file) != nil }
    return attempt
  }

  /// The words of a `Describe`.
  func describe(_ word: String) throws -> [String] {
    let result = try run("describe", "{\"word\":\"\(word)\"}")
    try #require(result.isSuccess, "\(result)")
    return try OutputValue.decode([String].self, from: result.output)
  }
}

extension WorkerTests {
  // What an isolated type is told and says; its process is used again.
  @Test(.checks("S146")) func isolatedTypes() throws {
    let standIn = try StandIn()
    let first = try standIn.describe("one")
    let attempt = FakeCoordinator.attempt(0)
    #expect(first[..<4] == ["one", "describe", "1", "tcp://127.0.0.1:7420"])
    #expect(Folders.size(of: first[4]) == nil, "its folder is gone")
    #expect(first[5] != "\(standIn.process.process)" && first[6] == "-1")
    let output = try standIn.coordinator.log(attempt, .standardOutput)
    #expect(String(decoding: output.bytes, as: UTF8.self) == "printed one\n")
    #expect(standIn.process.error.contains("logged one graph=12 operation=describe run=1"))
    let own = try standIn.coordinator.log(attempt, .standardError)
    #expect(String(decoding: own.bytes, as: UTF8.self).hasSuffix("Z notice logged one\n"))
    let second = try standIn.describe("two")
    #expect(second[5] == first[5], "the same process")
    #expect(second[7] == "", "the name of its template's queue")
    #expect(second[8] == "-", "nobody traces it")
    // S146: one that was moved is told its own queue.
    var template = standIn.template("describe", "{\"word\":\"moved\"}")
    let parent = try #require(
      TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    template.traceParent = parent
    let moved = FakeCoordinator.attempt(template.firstIndex)
    try standIn.coordinator.order {
      var dispatch = Dispatch(attempt: moved, template: template.template)
      dispatch.queueName = "other"
      $0.templates = [template]
      $0.dispatches = [dispatch]
    }
    try standIn.coordinator.until("its end") { standIn.coordinator.result(moved) != nil }
    let told = try #require(standIn.coordinator.result(moved))
    let words = try OutputValue.decode([String].self, from: told.output)
    #expect(words[7] == "other")
    let span = GraphSpans(moved.operation.graph, below: parent)
      .attempt(1, of: moved.operation.index)
    #expect(words[8] == "\(parent.with(span: span))")
    let failed = try standIn.run("fail")
    #expect(failed.cause == .badArgument && failed.diagnostic.contains("not today"))
    #expect(try standIn.describe("three")[5] == first[5])
    // The child goes with its worker.
    kill(standIn.process.process, SIGTERM)
    try standIn.coordinator.until("goodbye") { standIn.coordinator.saidGoodbye }
    #expect(try standIn.process.wait() == 0)
    let child = try #require(Int32(first[5]))
    #expect(kill(child, 0) != 0)
  }

  // What one attempt wrote is its own, while it runs and later; its process is used again, and its
  // files where nothing was written.
  @Test(.checks("S146")) func outputOfIsolatedTypes() throws {
    let standIn = try StandIn()
    let folder = standIn.folder
    func log(_ index: UInt32) throws -> String {
      let attempt = FakeCoordinator.attempt(index)
      let output = try standIn.coordinator.log(attempt, .standardOutput)
      return String(decoding: output.bytes, as: UTF8.self)
    }
    func process(_ result: AttemptResult) throws -> Int {
      try #require(result.isSuccess, "\(result)")
      return try OutputValue.decode(Int.self, from: result.output)
    }
    var processes: Set<Int> = []
    // 0: while it runs.
    let template = standIn.template(
      "speak", #"{"word":"first","file":"\#(folder)/spoken","awaits":"\#(folder)/heard"}"#)
    let first = FakeCoordinator.attempt(template.firstIndex)
    try standIn.coordinator.order {
      $0.templates = [template]
      $0.dispatches = [Dispatch(attempt: first, template: template.template)]
    }
    try standIn.coordinator.until("its word") { Folders.size(of: "\(folder)/spoken") != nil }
    #expect(try log(0) == "first\n")
    try Folders.makeFile("\(folder)/heard", with: [])
    try standIn.coordinator.until("its end") { standIn.coordinator.result(first) != nil }
    processes.insert(try process(#require(standIn.coordinator.result(first))))
    #expect(try log(0) == "first\n")
    // 1 and 2 say nothing, 3 does.
    processes.insert(try process(standIn.run("speak", "{}")))
    processes.insert(try process(standIn.run("speak", "{}")))
    let children = "\(folder)/scratch/children"
    #expect(Folders.names(in: children).sorted() == ["1.err", "1.out"])
    processes.insert(try process(standIn.run("speak", #"{"word":"fourth"}"#)))
    #expect(try (0..<4).map(log) == ["first\n", "", "", "fourth\n"])
    #expect(Folders.names(in: "\(folder)/scratch/12").count == 2, "no empty files stay")
    // 4 leaves somebody behind who speaks while 5 runs: nobody hears that.
    processes.insert(
      try process(
        standIn.run("haunt", #"{"awaits":"\#(folder)/now","file":"\#(folder)/said"}"#)))
    processes.insert(
      try process(
        standIn.run(
          "speak", #"{"word":"sixth","file":"\#(folder)/now","awaits":"\#(folder)/said"}"#)))
    #expect(try (4..<6).map(log) == ["", "sixth\n"])
    #expect(processes.count == 1, "the same process")
    // The files of a process go with it.
    kill(try #require(processes.first.map(Int32.init)), SIGKILL)
    try standIn.coordinator.until("its files gone") { Folders.names(in: children).isEmpty }
  }

  // A child has the gpus of its attempt, and serves no other attempt with others.
  @Test func gpusOfIsolatedTypes() throws {
    let standIn = try StandIn(["--gpus", "4,7,9"])
    func see(_ gpus: Int64) throws -> [String] {
      var template = standIn.template("gpus", "{}")
      template.demand.gpus = ResourceAmount(gpus)
      let result = try standIn.coordinator.run(template)
      try #require(result.isSuccess, "\(result)")
      return try OutputValue.decode([String].self, from: result.output)
    }
    let two = try see(2)
    #expect(two[..<2] == ["4,7", "4,7"])
    let none = try see(0)
    #expect(none[..<2] == ["", ""] && none[2] != two[2])
    #expect(try see(2) == two, "the same process")
  }

  // A crash is the attempt's own; the cause tells crash, kill and exit apart.
  @Test(.checks("S16")) func aCrashInAChild() throws {
    let standIn = try StandIn()
    let pid = try standIn.describe("before")[5]
    let crash = try standIn.run("trap")
    #expect(crash.cause == .signal && [SIGILL, SIGTRAP].contains(crash.signal))
    #expect(crash.diagnostic.hasPrefix("it crashed (SIG"), "\(crash.diagnostic)")
    #expect(crash.diagnostic.contains("trapped on purpose"), "\(crash.diagnostic)")
    let left = try standIn.run("leave")
    #expect(left.cause == .failed && left.exitStatus == 9)
    let other = try standIn.describe("after")[5]
    #expect(other != pid)
    let attempt = try standIn.start("heed")
    kill(try #require(Int32(other)), SIGKILL)
    try standIn.coordinator.until("its end") { standIn.coordinator.result(attempt) != nil }
    let killed = try #require(standIn.coordinator.result(attempt))
    #expect(killed.cause == .signal && killed.signal == SIGKILL)
    #expect(killed.diagnostic.hasPrefix("its process was killed by signal 9"))
    #expect(standIn.process.ended() == nil)
  }

  // One that heeds nothing is killed after its grace, with all that it has started.
  @Test(.checks("S92")) func aDeafChildIsKilled() throws {
    let standIn = try StandIn()
    let attempt = try standIn.start("deaf")
    #expect(!processes(with: "\(standIn.folder)/deaf").isEmpty)
    try standIn.coordinator.order {
      $0.cancels = [CancelOrder(attempt: attempt, grace: .milliseconds(200))]
    }
    try standIn.coordinator.until("its end") { standIn.coordinator.result(attempt) != nil }
    let result = try #require(standIn.coordinator.result(attempt))
    #expect(result.wasStopped && result.wasForced && result.cause == .none)
    #expect(processes(with: "\(standIn.folder)/deaf").isEmpty)
    #expect(try standIn.describe("next")[0] == "next")
  }

  // One that looks at its flag ends by itself, and its process lives.
  @Test(.checks("S87")) func aChildHeedsItsFlag() throws {
    let standIn = try StandIn()
    let pid = try standIn.describe("before")[5]
    let attempt = try standIn.start("heed")
    try standIn.coordinator.order {
      $0.cancels = [CancelOrder(attempt: attempt, grace: .seconds(600))]
    }
    try standIn.coordinator.until("its end") { standIn.coordinator.result(attempt) != nil }
    let result = try #require(standIn.coordinator.result(attempt))
    #expect(result.wasStopped && !result.wasForced)
    #expect(try standIn.describe("after")[5] == pid)
  }

  // S118 with S92: blocks of isolated types have a process each, while they run side by side.
  @Test(.checks("S16", "S118", "S123")) func isolatedBlocks() throws {
    let standIn = try StandIn()
    let block = OperationBlock.call(
      OperationType(name: "stand-in.describe"), argument: Array("{\"word\":\"w\"}".utf8))
    let crash = OperationBlock.call(
      OperationType(name: "stand-in.trap"), argument: Array("{}".utf8))
    let result = try standIn.coordinator.run(
      FakeCoordinator.blocks(at: 70, firstIndex: 70, [block, crash, block]))
    #expect(result.cause == .failed)
    let results = try Wire.decodeBlockResults(result.output)
    guard case .succeeded(let first) = results[0], case .failed(let second) = results[1],
      case .succeeded = results[2]
    else {
      Issue.record("\(results)")
      return
    }
    #expect(try OutputValue.decode([String].self, from: first)[0] == "w")
    #expect(second.contains("it crashed"))
  }

  // Children do not outlive a worker that is killed.
  @Test(.checks("G25")) func childrenDoNotOutliveTheWorker() throws {
    let standIn = try StandIn()
    _ = try standIn.start("deaf")
    let mark = "\(standIn.folder)/"
    #expect(!processes(with: mark).isEmpty)
    kill(standIn.process.process, SIGKILL)
    _ = try standIn.process.wait()
    let deadline = MonotonicClock.now() + 240_000_000_000
    while !processes(with: mark).isEmpty {
      try #require(MonotonicClock.now() < deadline, "something outlives the worker")
      usleep(5_000)
    }
  }

  // A child that has had nothing to run for its idle time ends; a later attempt gets another.
  @Test func idleChildrenEnd() throws {
    let coordinator = try FakeCoordinator()
    let program = try #require(OpworkerProcess.path("WorkerStandIn"))
    var types = OperationRegistry()
    types.add(Isolated.self)
    let worker = try TestWorker(coordinator.endpoint, types: types) {
      $0.childCommand = [program, ChildProgram.argument]
      $0.childIdleTime = .milliseconds(200)
    }
    func run(_ number: UInt32) throws -> String {
      let result = try coordinator.run(
        FakeCoordinator.template(
          at: number, firstIndex: number, work: .call(OperationType(name: Isolated.typeName)),
          payload: Array(#"{"word":"idle"}"#.utf8)))
      try #require(result.isSuccess, "\(result)")
      return try OutputValue.decode([String].self, from: result.output)[5]
    }
    let first = try run(0)
    let child = try #require(Int32(first))
    try coordinator.until("the end of the idle child") { kill(child, 0) != 0 }
    #expect(try run(1) != first)
    withExtendedLifetime(worker) {}
  }

  // A user's program has the flags and the commands of `opworker`, under its own name.
  @Test func aProgramOfOnesOwn() throws {
    let resources = try OpworkerProcess(program: "WorkerStandIn") { _ in
      ["resources", "--cpus", "3"]
    }
    #expect(try resources.wait() == 0)
    #expect(resources.output.hasPrefix("cpus=3 memory="))
    let wrong = try OpworkerProcess(program: "WorkerStandIn") { _ in
      ["--allow-root", "--coordinator", "nowhere"]
    }
    #expect(try wrong.wait() == 78)
    #expect(wrong.error.hasPrefix("WorkerStandIn: --coordinator"))
    let child = try OpworkerProcess(program: "WorkerStandIn") { _ in
      [ChildProgram.argument, "/nowhere"]
    }
    #expect(try child.wait() == 64)
  }
}

/// What the stand-in's children run; here only its name and where it runs are of use.
private struct Isolated: RegisteredOperation {
  static let typeName = "stand-in.describe"
  static let isolation = OperationIsolation.child
  var word: String

  func main(_ context: OperationContext) async throws -> [String] { [] }
}
