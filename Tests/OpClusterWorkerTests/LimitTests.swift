// Times and numbers that a template and a dispatch bring for every kind of work.

import Citations
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

extension WorkerTests {
  // A store takes a quarter of a small disk, and not more than a store usually needs.
  @Test func theUsualStoreIsAShareOfTheDisk() {
    #expect(WorkerStore.usualBytes(ofDisk: 4_000) == 1_000)
    #expect(WorkerStore.usualBytes(ofDisk: Limits.storeBytes * 4 + 4) == Limits.storeBytes)
  }

  // What the template says wins over what the command says.
  @Test(.checks("G21")) func theTemplatesTimeWins() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    var template = FakeCoordinator.command(
      FakeCoordinator.shell("trap '' TERM; while :; do sleep 0.05; done") {
        $0.timeout = .seconds(3_600)
        $0.grace = .seconds(3_600)
      })
    template.timeout = .milliseconds(100)
    template.grace = .milliseconds(100)
    let result = try coordinator.run(template)
    #expect(result.cause == .timeout && result.wasForced)
    let prepared = PreparedTemplate(
      FakeCoordinator.command(FakeCoordinator.shell("true") { $0.timeout = .seconds(7) }))
    #expect(prepared.timeout == .seconds(7) && prepared.grace == nil)
    withExtendedLifetime(worker) {}
  }

  // A call that runs out of time is asked to stop, keeps its slot until it returns, and
  // ends as a timeout.
  @Test(.checks("S10", "G21")) func aCallRunsOutOfTime() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) {
      $0.capacity = Resources(cpus: ResourceAmount(1), memoryBytes: 1 << 30)
    }
    var template = FakeCoordinator.template(
      work: .call(OperationType(name: "sleep")), payload: Array("3600".utf8))
    template.timeout = .milliseconds(100)
    let result = try coordinator.run(template)
    #expect(result.cause == .timeout && !result.wasForced)
    let next = try coordinator.run(
      FakeCoordinator.template(
        at: 1, firstIndex: 1, work: .call(OperationType(name: "sleep")), payload: Array("0".utf8)))
    #expect(next.isSuccess)
    withExtendedLifetime(worker) {}
  }

  // `Dispatch.run` is what a command is told; the attempt's own number stays in files and fences.
  @Test(.checks("G15")) func runsAreCountedAsPeopleDo() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    let attempt = FakeCoordinator.attempt(0, 9)
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(FakeCoordinator.shell("echo $OP_ATTEMPT ${OP_FENCE#*-}"))
      ]
      var dispatch = Dispatch(attempt: attempt, template: 0)
      dispatch.run = 2
      $0.dispatches = [dispatch]
    }
    try coordinator.until("the end") { coordinator.result(attempt) != nil }
    let chunk = try coordinator.log(attempt, .standardOutput)
    #expect(String(decoding: chunk.bytes, as: UTF8.self) == "2 12.0.9\n")
    #expect(Folders.names(in: "\(worker.folder)/12") == ["0.9.out"])
  }
}
