// Functions of Python at a worker: which process gets them, what it is told, and what becomes of
// them. A stand-in speaks for the interpreter; `deploy/python` runs real ones.

import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// A worker with stand-ins for interpreters.
private final class PythonWorker {
  let coordinator: FakeCoordinator
  let worker: TestWorker
  let interpreter: String
  private var attempts: UInt32 = 0

  init() throws {
    coordinator = try FakeCoordinator()
    interpreter = try #require(OpworkerProcess.path("InterpreterStandIn"))
    try #require(interpreter.hasPrefix("/"), "run the tests by their absolute path")
    let program = try #require(OpworkerProcess.path("WorkerStandIn"))
    worker = try TestWorker(coordinator.endpoint) {
      $0.childCommand = [program, ChildProgram.argument]
    }
    try coordinator.until("a welcome") { [coordinator] in coordinator.conversation != nil }
  }

  func object(_ function: String = "m:f", interpreter: String? = nil) -> String {
    #"{"function":"\#(function)","interpreter":"\#(interpreter ?? self.interpreter)"}"#
  }

  func object(pool: Int) -> String {
    #"{"function":"m:f","interpreter":"\#(interpreter)","pool":"p\#(pool)"}"#
  }

  /// What an operation of a template sees; templates have one graph, so they differ by number.
  func call(
    template: UInt32 = 0, _ payload: String? = nil, argument: String = ""
  ) throws -> AttemptResult {
    attempts += 1
    let attempt = FakeCoordinator.attempt(0, attempts)
    let announcement = FakeCoordinator.template(
      at: template, firstIndex: 0, work: .call(.python),
      payload: Array((payload ?? object()).utf8))
    try coordinator.order {
      $0.templates = [announcement]
      $0.dispatches = [
        Dispatch(attempt: attempt, template: template, argument: Array(argument.utf8))
      ]
    }
    try coordinator.until("the end") { coordinator.result(attempt) != nil }
    return try #require(coordinator.result(attempt))
  }

  func words(
    template: UInt32 = 0, _ payload: String? = nil, argument: String = ""
  ) throws -> [String] {
    let result = try call(template: template, payload, argument: argument)
    try #require(result.isSuccess, "\(result)")
    return try OutputValue.decode([String].self, from: result.output)
  }
}

@Suite struct PythonTests {
  /// Every worker that starts processes has the type.
  @Test func theTypeIsOffered() throws {
    let python = try PythonWorker()
    #expect(python.coordinator.hellos.first?.types.contains(.python) == true)
    let plain = try FakeCoordinator()
    let worker = try TestWorker(plain.endpoint)
    try plain.until("a hello") { !plain.hellos.isEmpty }
    #expect(plain.hellos.first?.types.contains(.python) == false)
    withExtendedLifetime(worker) {}
  }

  /// One process runs one call after the other, and is told each template once.
  @Test func theProcessIsKeptAndToldOnce() throws {
    let python = try PythonWorker()
    let first = try python.words()
    #expect(first[1...3] == ["1", python.object(), ""])
    #expect(first[4].hasPrefix(python.worker.folder))
    let second = try python.words(argument: "\u{1}pickled")
    #expect(second[0] == first[0] && second[1] == "1")
    #expect(second[2...3] == [python.object(), "\u{1}pickled"])
    let other = try python.words(template: 1, python.object("m:g"))
    #expect(other[0] == first[0])
    #expect(other[1...2] == ["2", python.object("m:g")])
  }

  /// Functions of one pool share a process. However many pools there are, few processes wait for
  /// further functions: those that ran one last.
  @Test func poolsHaveProcessesOfTheirOwn() throws {
    let python = try PythonWorker()
    func process(_ pool: Int) throws -> String {
      try python.words(template: UInt32(pool), python.object(pool: pool))[0]
    }
    let kept = ChildPool.idleOfOtherKinds
    let processes = try (0..<kept + 3).map(process)
    #expect(Set(processes).count == processes.count)
    for pool in 3..<kept + 3 { #expect(try process(pool) == processes[pool]) }
    for ended in try processes.prefix(3).map({ try #require(Int32($0)) }) {
      try python.coordinator.until("its end") { kill(ended, 0) != 0 }
    }
    #expect(try process(0) != processes[0])
  }

  /// An element's own object names the interpreter, and takes nothing from those that have none.
  @Test func anObjectReplacesTheTemplates() throws {
    let python = try PythonWorker()
    let own = python.object("m:own")
    #expect(try python.words(argument: own)[2...3] == [python.object(), own])
    #expect(try python.words()[2...3] == [python.object(), ""])
    let result = try python.call(argument: python.object(interpreter: "a/b"))
    #expect(result.cause == .badArgument)
  }

  /// More templates than a process remembers: it is told again, and never meets an unknown one.
  @Test func templatesBeyondItsMemoryAreToldAgain() throws {
    let python = try PythonWorker()
    let count = UInt32(Limits.templatesPerInterpreter)
    for template in 0...count {
      #expect(try python.words(template: template)[2] == python.object())
    }
    let again = try python.words(template: 0)
    #expect(again[1...2] == ["\(count + 2)", python.object()])
  }

  /// The worker's own variables are not for functions that others submit.
  @Test func itsEnvironmentIsClean() throws {
    unsafe setenv("SECRET", "of the worker", 1)
    defer { unsafe unsetenv("SECRET") }
    #expect(try PythonWorker().words()[5...6] == ["-", "-"])
  }

  @Test func itsEndIsTold() throws {
    let python = try PythonWorker()
    let died = try python.call(argument: "die")
    #expect(died.cause == .failed && died.exitStatus == 3)
    let absent = try python.call(template: 1, python.object(interpreter: "/nowhere/python"))
    #expect(absent.cause == .cannotStart)
    #expect(absent.diagnostic.contains("/nowhere/python"), "\(absent.diagnostic)")
    let without = try python.call(template: 2, python.object(interpreter: "/bin/false"))
    #expect(without.cause == .failed && without.exitStatus == 1)
    // It still serves.
    #expect(try python.words(template: 3)[2] == python.object())
  }

  /// What it said before it could begin is told, with what to do about it.
  @Test func aMissingPackageIsNamed() throws {
    let python = try PythonWorker()
    let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let script = "/\(folder)/Interpreters/without-package"
    let result = try python.call(python.object(interpreter: script))
    #expect(result.diagnostic.contains("No module named 'opcluster'"), "\(result.diagnostic)")
    #expect(result.diagnostic.contains("install the package 'opcluster' for \(script)"))
  }

  @Test func aCancelReachesIt() throws {
    let python = try PythonWorker()
    let attempt = FakeCoordinator.attempt(0, 1)
    try python.coordinator.order {
      $0.templates = [
        FakeCoordinator.template(
          work: .call(.python), payload: Array(python.object().utf8))
      ]
      $0.dispatches = [Dispatch(attempt: attempt, template: 0, argument: Array("wait".utf8))]
    }
    try python.coordinator.until("its beginning") { python.coordinator.hasStarted(attempt) }
    try python.coordinator.order { $0.cancels = [CancelOrder(attempt: attempt)] }
    try python.coordinator.until("its end") { python.coordinator.result(attempt) != nil }
    #expect(python.coordinator.result(attempt)?.wasStopped == true)
  }
}
