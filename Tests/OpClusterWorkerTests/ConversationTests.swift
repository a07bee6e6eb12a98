// The body's conversation with its coordinator: silence, return, stop, refusal; registered types.

import Citations
import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// Tells its progress, looks at its inputs, and waits until it is told to stop.
struct PatientOperation: RegisteredOperation {
  static let typeName = "test.patient"
  static let version: UInt32 = 3
  let text: String
  func main(_ context: OperationContext) async throws -> String {
    let folder = try context.scratchFolder()
    context.reportProgress(0.5, text)
    while !context.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
    return "\(context.name) \(context.isCancelled) \(folder)"
  }
}

extension WorkerTests {
  static let noop = FakeCoordinator.template(
    isArray: true, work: .call(OperationType(name: "noop")), payload: [])

  // The hello says what the worker is; the types it has come along.
  @Test(.checks("S128")) func hello() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) {
      $0.labels = [Label(key: "disk", value: "fast")]
    }
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    let hello = try #require(coordinator.hellos.first)
    #expect(hello.capacity == worker.worker.configuration.capacity)
    #expect(hello.types == [OperationType(name: "noop"), OperationType(name: "sleep")])
    #expect(hello.labels.map(\.key) == ["host", "arch", "os", "disk"])
  }

  // Between threads of one process: the same conversation, and a goodbye at its end.
  @Test func insideOneProcess() throws {
    let name = "inproc://worker-\(UInt64.random(in: 0 ... .max))"
    let coordinator = try FakeCoordinator(at: name)
    let worker = try TestWorker(coordinator.endpoint)
    let result = try coordinator.run(
      FakeCoordinator.template(work: .call(OperationType(name: "noop")), payload: []))
    #expect(result.isSuccess)
    #expect(try worker.end(coordinator) == .stopped)
  }

  // A chain of a thousand no-ops, locally unblocked, in order.
  @Test func chainOfNoOperations() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [Self.noop]
      $0.dispatches = (0..<1000).map { index in
        Dispatch(
          attempt: FakeCoordinator.attempt(index), template: 0,
          awaits: index == 0
            ? []
            : [
              LocalDependency(
                operation: FakeCoordinator.attempt(index - 1).operation, policy: .succeeded)
            ])
      }
    }
    try coordinator.until("all ends") { coordinator.entries.count == 1000 }
    #expect(
      coordinator.entries == (0..<1000).map { .finished(FakeCoordinator.attempt($0), .success) })
    withExtendedLifetime(worker) {}
  }

  // Types and arguments that do not fit; S87: a cancel is a flag.
  @Test(.checks("S87", "S128", "S129")) func registeredTypes() throws {
    let coordinator = try FakeCoordinator()
    var types = OperationRegistry()
    types.add(PatientOperation.self)
    let worker = try TestWorker(coordinator.endpoint, types: types)
    func run(_ index: UInt32, _ type: OperationType, _ argument: String) throws -> AttemptResult {
      try coordinator.run(
        FakeCoordinator.template(
          at: index, firstIndex: index, work: .call(type), payload: Array(argument.utf8)))
    }
    let patient = OperationType(name: "test.patient", version: 3)
    #expect(try run(0, OperationType(name: "nobody"), "").cause == .unknownType)
    #expect(
      try run(1, OperationType(name: "test.patient", version: 2), "x").cause == .unknownType)
    let bad = try run(2, patient, "")
    #expect(bad.cause == .badArgument && bad.diagnostic.contains("text"))
    #expect(try run(3, OperationType(name: "sleep"), "{\"seconds\": -1}").cause == .badArgument)
    #expect(try run(4, OperationType(name: "sleep"), "{\"seconds\": 0.01}").isSuccess)
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.template(
          at: 5, firstIndex: 5, name: "wait", work: .call(patient),
          payload: Array("{\"text\":\"half\"}".utf8))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(5), template: 5)]
    }
    let attempt = FakeCoordinator.attempt(5)
    try coordinator.until("progress") {
      coordinator.entries.contains(.progress(attempt, fraction: 0.5, text: "half"))
    }
    try coordinator.order { $0.cancels = [CancelOrder(attempt: attempt)] }
    try coordinator.until("its end") { coordinator.result(attempt) != nil }
    let output = try OutputValue.decode(
      String.self, from: try #require(coordinator.result(attempt)).output)
    #expect(output == "wait true \(worker.folder)/tasks/12.5.1")
    #expect(Folders.age(of: "\(worker.folder)/tasks/12.5.1") == nil)
  }

  // The coordinator falls silent; work goes on; a new conversation, and the end is told.
  @Test(.checks("G24", "G34")) func silenceKeepsWorkAndTellsItsEnd() throws {
    let coordinator = try FakeCoordinator()
    coordinator.timing.suspect = .milliseconds(400)
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    let go = "\(worker.folder)/go"
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          FakeCoordinator.shell("while ! test -e \(go); do sleep 0.02; done; echo $$"))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("a start") { coordinator.hasStarted(FakeCoordinator.attempt(0)) }
    // Silent for longer than the worker's patience: it says hello on another socket.
    coordinator.isSilent = true
    let end = MonotonicClock.now() + 1_000_000_000
    while MonotonicClock.now() < end { try coordinator.turn() }
    coordinator.conversation = nil
    coordinator.isSilent = false
    try coordinator.until("another hello") {
      coordinator.hellos.count > 1 && coordinator.conversation != nil
    }
    #expect(coordinator.hellos.last?.executing == [FakeCoordinator.attempt(0)])
    #expect(coordinator.hellos.last?.session == coordinator.hellos.first?.session)
    touch(go)
    try coordinator.until("its end") { coordinator.result(FakeCoordinator.attempt(0)) != nil }
    #expect(coordinator.result(FakeCoordinator.attempt(0))?.isSuccess == true)
  }

  // Stale in the welcome is killed, and nobody hears of it.
  @Test(.checks("S17")) func staleIsKilled() throws {
    let coordinator = try FakeCoordinator()
    coordinator.timing.suspect = .milliseconds(400)
    let worker = try TestWorker(coordinator.endpoint)
    let mark = "86400.\(UInt32.random(in: 0...UInt32.max))"
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          CommandSpecification(form: .arguments([CommandText("sleep"), CommandText(mark)])))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("a start") { coordinator.hasStarted(FakeCoordinator.attempt(0)) }
    try coordinator.order { $0.stale = [FakeCoordinator.attempt(0)] }
    try coordinator.until("its end") { processes(with: mark).isEmpty }
    #expect(coordinator.result(FakeCoordinator.attempt(0)) == nil)
    withExtendedLifetime(worker) {}
  }

  // An orderly stop: what runs is stopped and reported, then goodbye.
  @Test func orderlyStop() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let mark = "86400.\(UInt32.random(in: 0...UInt32.max))"
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          CommandSpecification(form: .arguments([CommandText("sleep"), CommandText(mark)])))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("a start") { coordinator.hasStarted(FakeCoordinator.attempt(0)) }
    #expect(try worker.end(coordinator) == .stopped)
    #expect(coordinator.result(FakeCoordinator.attempt(0))?.cause == .workerStopped)
    #expect(processes(with: mark) == [])
  }

  @Test func drain() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order { $0.drain = true }
    try coordinator.until("goodbye") { coordinator.saidGoodbye }
    #expect(try worker.end() == .drained)
  }

  @Test func refused() throws {
    let coordinator = try FakeCoordinator()
    let refusal = Refusal(.versionMismatch, "speaks 2 to 3")
    coordinator.refusal = refusal
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a hello") { !coordinator.hellos.isEmpty }
    #expect(try worker.end() == .refused(refusal))
    #expect(WorkerExit.refused(refusal).status == 76)
  }

  // The folder has one owner.
  @Test func folderInUse() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    var configuration = worker.worker.configuration
    configuration.name = "another"
    let second = try Worker(configuration)
    let error = #expect(throws: WorkerError.self) { try second.run() }
    #expect(error?.status == 73)
  }

  // What it has to run holds it; then it leaves, and takes nothing new meanwhile.
  @Test func anIdleWorkerLeaves() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) { $0.idleTime = .milliseconds(300) }
    let result = try coordinator.run(FakeCoordinator.command(FakeCoordinator.shell("sleep 1")))
    #expect(result.isSuccess)
    try coordinator.until("its wish to leave") { coordinator.wantsToLeave }
    #expect(coordinator.conversation != nil)
    try coordinator.order { $0.drain = true }
    try coordinator.until("goodbye") { coordinator.saidGoodbye }
    #expect(try worker.end(coordinator) == .drained)
  }

  // All that are asked at once are answered: none waits for a client's patience to end.
  @Test func everyQuestionForALogIsAnswered() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let result = try coordinator.run(
      FakeCoordinator.command(FakeCoordinator.shell("echo it ran")))
    #expect(result.isSuccess)
    let numbers = 1...UInt64(LogPieces.questionsPerTurn * 8)
    for number in numbers {
      // The socket of the test has a bound of its own.
      if number % 64 == 0 { try coordinator.turn() }
      try coordinator.send(
        .logRequest(
          LogRequest(
            number: number, attempt: FakeCoordinator.attempt(0), stream: .standardOutput,
            offset: 0, maximumBytes: 1 << 16)))
    }
    try coordinator.until("all answers") { coordinator.chunks.count == numbers.count }
    #expect(Set(coordinator.chunks.map(\.number)) == Set(numbers))
    #expect(coordinator.chunks.allSatisfy { $0.bytes == Array("it ran\n".utf8) && $0.isComplete })
    withExtendedLifetime(worker) {}
  }

  // A relay has no say in how much its machines send at once.
  @Test func piecesBeyondTheBoundSaySo() throws {
    var logs = LogPieces()
    let piece = LogChunk(
      number: 1, offset: 0, bytes: [UInt8](repeating: 1, count: Limits.logChunkBytes), size: 9,
      isComplete: true)
    let fitting = Limits.logBytesOnTheWay / Limits.logChunkBytes
    for _ in 0..<fitting + 1 { logs.add(piece) }
    for _ in 0..<fitting { #expect(logs.next()?.problem == "") }
    let beyond = logs.next()
    let last = try #require(beyond)
    #expect(last.bytes.isEmpty && last.problem.contains("ask again"))
    #expect(logs.next() == nil)
    for number in 0..<UInt64(Limits.logQuestions + 5) {
      logs.note(
        LogRequest(
          number: number, attempt: FakeCoordinator.attempt(0), stream: .standardOutput, offset: 0,
          maximumBytes: 1))
    }
    var taken = 0
    while logs.hasQuestions { taken += logs.takeQuestions().count }
    #expect(taken == Limits.logQuestions)
  }
}
