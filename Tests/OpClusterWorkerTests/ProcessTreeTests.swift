// Process trees at the worker: leases of exclusive operations, limits, kills in time, and what each
// failure to start is called (G16, G20, G21, G26, G40; F8, F15, F17).

import Citations
import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// A number of seconds to sleep that nobody else on the machine uses.
func uniqueSleep() -> String {
  "\(Int.random(in: 10_000...90_000)).\(UInt32.random(in: 100_000_000...UInt32.max))"
}

extension FakeCoordinator {
  /// Hands over one attempt of each of the commands, at positions 0, 1, …
  fileprivate func dispatch(_ templates: [TemplateAnnouncement]) throws {
    try until("a welcome") { conversation != nil }
    try order {
      $0.templates = templates
      $0.dispatches = templates.map {
        Dispatch(attempt: Self.attempt($0.firstIndex), template: $0.template)
      }
    }
  }

  fileprivate static func sleeper(
    _ position: UInt32, _ seconds: String, isExclusive: Bool
  ) -> TemplateAnnouncement {
    var template = command(
      at: position, firstIndex: position, name: "op\(position)",
      shell("(env -i setsid sleep \(seconds) &) ; sleep \(seconds)"))
    template.isExclusive = isExclusive
    return template
  }
}

private let canFreeze =
  unsafe geteuid() == 0 && access("/sys/fs/cgroup/freezer/tasks", W_OK) == 0

private func put(_ text: String, in path: String) {
  let file = unsafe open(path, O_WRONLY | O_CLOEXEC)
  _ = unsafe write(file, text, text.utf8.count)
  close(file)
}

/// Whether cgroups of this machine bound memory and processes.
private let canBound: Bool = {
  guard let fence = ProcessFence(worker: "probe"),
    let host = try? ProcessHost(fence: fence, diesWithThread: false)
  else { return false }
  return host.limitsMemory && host.limitsProcesses
}()

extension WorkerTests {
  // Cut off, the worker ends what is exclusive at the fence, says so when it is back, and
  // counts it against nobody; what is not exclusive runs on.
  @Test(.checks("G16", "G24", "F35")) func exclusiveEndsAtTheFence() throws {
    let coordinator = try FakeCoordinator()
    coordinator.timing.fence = .seconds(1)
    let worker = try TestWorker(coordinator.endpoint)
    let (fenced, free) = (uniqueSleep(), uniqueSleep())
    try coordinator.dispatch([
      FakeCoordinator.sleeper(0, fenced, isExclusive: true),
      FakeCoordinator.sleeper(1, free, isExclusive: false),
    ])
    try coordinator.until("both run") {
      processes(with: fenced).count >= 2 && processes(with: free).count >= 2
    }
    let cut = MonotonicClock.now()
    coordinator.isSilent = true
    try coordinator.until("the exclusive one is gone") { processes(with: fenced).isEmpty }
    #expect(MonotonicClock.now() - cut < 3_000_000_000)
    #expect(processes(with: free).count >= 2)
    coordinator.isSilent = false
    try coordinator.until("its report") {
      coordinator.result(FakeCoordinator.attempt(0)) != nil
    }
    let result = try #require(coordinator.result(FakeCoordinator.attempt(0)))
    #expect(result.cause == .workerStopped && result.diagnostic.contains("exclusive"))
    #expect(coordinator.result(FakeCoordinator.attempt(1)) == nil)
    withExtendedLifetime(worker) {}
  }

  // A worker that is stopped does not keep its guard from it, with cgroups and without.
  @Test(.checks("G16", "F8"), arguments: geteuid() == 0 ? [true, false] : [true])
  func exclusiveEndsThoughItsWorkerIsStopped(hasGroups: Bool) throws {
    let coordinator = try FakeCoordinator()
    coordinator.timing.fence = .seconds(1)
    func arguments(_ folder: String) -> [String] {
      [
        "--allow-root", "--coordinator", "\(coordinator.endpoint)", "--name", "stopped-\(getpid())",
        "--scratch", "\(folder)/scratch", "--cpus", "4",
      ]
    }
    let process =
      hasGroups
      ? try OpworkerProcess(program: "opworker", arguments)
      : try OpworkerProcess(withoutGroups: arguments)
    let (fenced, free) = (uniqueSleep(), uniqueSleep())
    try coordinator.dispatch([
      FakeCoordinator.sleeper(0, fenced, isExclusive: true),
      FakeCoordinator.sleeper(1, free, isExclusive: false),
    ])
    try coordinator.until("both run") {
      processes(with: fenced).count >= 2 && processes(with: free).count >= 2
    }
    let stopped = MonotonicClock.now()
    kill(process.process, SIGSTOP)
    try coordinator.until("the exclusive one is gone") { processes(with: fenced).isEmpty }
    #expect(MonotonicClock.now() - stopped < 3_000_000_000)
    #expect(processes(with: free).count >= 2)
    kill(process.process, SIGCONT)
    try coordinator.until("its report") {
      coordinator.result(FakeCoordinator.attempt(0)) != nil
    }
    #expect(coordinator.result(FakeCoordinator.attempt(0))?.cause == .workerStopped)
    // G25, F7: and a killed worker leaves nothing at all.
    kill(process.process, SIGKILL)
    let killed = MonotonicClock.now()
    while !processes(with: free).isEmpty {
      try #require(MonotonicClock.now() - killed < 2_000_000_000, "left after two seconds")
      usleep(5_000)
    }
    _ = try process.wait()
    #expect(hasGroups || process.error.contains("no cgroup here"))
  }

  // Where neither a cgroup nor a reaper ends a tree surely, nothing exclusive is begun.
  @Test(.checks("G16"), .enabled(if: geteuid() == 0, "hides folders, which takes root"))
  func exclusiveIsRefusedWhereNothingEndsIt() throws {
    let coordinator = try FakeCoordinator()
    let process = try OpworkerProcess(
      withoutGroups: { folder in
        [
          "--allow-root", "--coordinator", "\(coordinator.endpoint)", "--name",
          "blind-\(getpid())", "--scratch", "\(folder)/scratch", "--cpus", "4",
        ]
      }, seesProcesses: false)
    var exclusive = FakeCoordinator.command(FakeCoordinator.shell("true"))
    exclusive.isExclusive = true
    let refused = try coordinator.run(exclusive)
    #expect(refused.cause == .cannotStart, "\(refused)")
    #expect(refused.diagnostic.contains("could not surely end one"), "\(refused)")
    let other = try coordinator.run(
      FakeCoordinator.command(at: 1, firstIndex: 1, FakeCoordinator.shell("true")))
    #expect(other.isSuccess, "\(other)")
    withExtendedLifetime(process) {}
  }

  // An operation that KILL does not end is told as such; a frozen cgroup stands for what hangs in
  // the kernel. Nothing begins in its place before it has ended.
  @Test(.enabled(if: canFreeze, "takes root and a freezer of cgroup version 1"))
  func whatKillDoesNotEnd() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) {
      $0.capacity = Resources(cpus: ResourceAmount(1), memoryBytes: 1 << 30)
    }
    let freezer = "/sys/fs/cgroup/freezer/opcluster-test-\(getpid())"
    try Folders.make(freezer)
    defer {
      put("THAWED", in: "\(freezer)/freezer.state")
      for _ in 0..<1_000 where unsafe rmdir(freezer) != 0 { usleep(5_000) }
    }
    let seconds = uniqueSleep()
    try coordinator.dispatch([
      FakeCoordinator.command(FakeCoordinator.shell("exec sleep \(seconds)")),
      FakeCoordinator.command(at: 1, firstIndex: 1, FakeCoordinator.shell("true")),
    ])
    try coordinator.until("it runs") { !processes(with: seconds).isEmpty }
    for process in processes(with: seconds) { put("\(process)", in: "\(freezer)/cgroup.procs") }
    put("FROZEN", in: "\(freezer)/freezer.state")
    try coordinator.until("it is frozen") {
      Folders.text(of: "\(freezer)/freezer.state") == "FROZEN\n"
    }
    let attempt = FakeCoordinator.attempt(0)
    try coordinator.order { $0.cancels = [CancelOrder(attempt: attempt, grace: .zero)] }
    try coordinator.until("it is told") { coordinator.unkillable == [attempt] }
    #expect(coordinator.result(attempt) == nil)
    #expect(!coordinator.hasStarted(FakeCoordinator.attempt(1)))
    put("THAWED", in: "\(freezer)/freezer.state")
    try coordinator.until("both have ended") {
      coordinator.result(attempt) != nil && coordinator.result(FakeCoordinator.attempt(1)) != nil
    }
    try coordinator.until("it is told no more") { coordinator.unkillable.isEmpty }
    withExtendedLifetime(worker) {}
  }

  // A registered operation that is exclusive runs in a process of its own whatever its type
  // says, and nothing of it is left when its end is told.
  @Test(.checks("G16")) func exclusiveCallsRunInChildren() throws {
    let coordinator = try FakeCoordinator()
    let process = try OpworkerProcess(program: "WorkerStandIn") { folder in
      [
        "--allow-root", "--coordinator", "\(coordinator.endpoint)", "--name",
        "exclusive-\(getpid())",
        "--scratch", "\(folder)/scratch", "--cpus", "4",
      ]
    }
    var children: [String] = []
    for position in 0..<2 as Range<UInt32> {
      var template = FakeCoordinator.template(
        at: position, firstIndex: position, work: .call(OperationType(name: "stand-in.describe")),
        payload: Array("{\"word\":\"w\"}".utf8))
      template.isExclusive = true
      let result = try coordinator.run(template)
      try #require(result.isSuccess, "\(result)")
      let words = try OutputValue.decode([String].self, from: result.output)
      children.append(words[5])
      #expect(Int32(words[5]).map { kill($0, 0) } == -1)
    }
    #expect(Set(children).count == 2 && !children.contains("\(process.process)"))
    // A worker without children cannot keep the promise, and says so.
    let plain = try FakeCoordinator()
    let worker = try TestWorker(plain.endpoint)
    var template = FakeCoordinator.template(
      work: .call(OperationType(name: "sleep")), payload: Array("0".utf8))
    template.isExclusive = true
    let refused = try plain.run(template)
    #expect(refused.cause == .cannotStart && refused.diagnostic.contains("exclusive"))
    withExtendedLifetime(worker) {}
  }

  // The bomb fails with its limit named, and its neighbour does not notice.
  @Test(
    .checks("F15"),
    .disabled(if: !canBound, "no cgroup hierarchy with memory and pids can be written"))
  func forkBomb() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint) { $0.limits.processes = 50 }
    let seconds = uniqueSleep()
    try coordinator.dispatch([
      FakeCoordinator.sleeper(0, seconds, isExclusive: false),
      FakeCoordinator.command(
        at: 1, firstIndex: 1, name: "bomb",
        FakeCoordinator.shell("bomb() { bomb | bomb & }; bomb; sleep 1; exit 0")),
    ])
    let bomb = FakeCoordinator.attempt(1)
    try coordinator.until("the end of the bomb") { coordinator.result(bomb) != nil }
    let result = try #require(coordinator.result(bomb))
    #expect(result.cause == .failed && result.diagnostic.contains("50 at once"))
    #expect(processes(with: seconds).count >= 2)
    withExtendedLifetime(worker) {}
  }

  // Retry policies speak of `oom`: it is told from a kill by somebody else, and from a failure.
  @Test(.disabled(if: !canBound, "no cgroup hierarchy with memory and pids can be written"))
  func outOfMemory() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    func run(_ position: UInt32, _ text: String, memory: Int64) throws -> AttemptResult {
      var template = FakeCoordinator.command(
        at: position, firstIndex: position, FakeCoordinator.shell(text))
      template.demand.memoryBytes = memory
      return try coordinator.run(template)
    }
    let hog = "exec dd if=/dev/zero of=/dev/null bs=200M count=1 status=none"
    let killed = try run(0, hog, memory: 64 << 20)
    #expect(killed.cause == .outOfMemory && killed.signal == SIGKILL)
    #expect(killed.diagnostic.contains("67108864 bytes"))
    #expect(try run(1, hog, memory: 400 << 20).isSuccess)
    #expect(try run(2, hog, memory: 0).isSuccess)
    #expect(try run(3, "kill -KILL $$", memory: 64 << 20).cause == .signal)
    #expect(try run(4, "exit 137", memory: 64 << 20).cause == .failed)
    let other = try FakeCoordinator()
    let lenient = try TestWorker(other.endpoint) { $0.limits.enforcesMemory = false }
    var template = FakeCoordinator.command(FakeCoordinator.shell(hog))
    template.demand.memoryBytes = 64 << 20
    #expect(try other.run(template).isSuccess)
    withExtendedLifetime((worker, lenient)) {}
  }

  // KILL comes at this grace, not before, and not at the usual one of ten seconds. How soon after
  // it the end is seen is the machine's business.
  @Test(.checks("F17")) func killAtTheGrace() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let seconds = uniqueSleep()
    try coordinator.dispatch([
      FakeCoordinator.command(
        FakeCoordinator.shell("trap '' TERM; (setsid sleep \(seconds) &) ; sleep \(seconds)"))
    ])
    try coordinator.until("it runs") { processes(with: seconds).count >= 2 }
    let asked = MonotonicClock.now()
    try coordinator.order {
      $0.cancels = [CancelOrder(attempt: FakeCoordinator.attempt(0), grace: .seconds(1))]
    }
    try coordinator.until("its end") { coordinator.result(FakeCoordinator.attempt(0)) != nil }
    let took = MonotonicClock.now() - asked
    #expect(took > 500_000_000, "\(took)")
    #expect(processes(with: seconds).isEmpty)
    withExtendedLifetime(worker) {}
  }

  // What cannot be started says why, each in its own words, with the status of a shell.
  @Test func startsThatFail() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    var position: UInt32 = 0
    func run(_ words: [String], folder: String = "") throws -> AttemptResult {
      var command = CommandSpecification(form: .arguments(words.map { CommandText($0) }))
      command.workingDirectory = folder
      position += 1
      return try coordinator.run(
        FakeCoordinator.command(at: position, firstIndex: position, command))
    }
    let plain = "\(worker.folder)/plain"
    touch(plain)
    let copy = "\(worker.folder)/busy"
    #expect(try run(["/bin/cp", "/bin/sleep", copy]).isSuccess)
    let writer = unsafe open(copy, O_WRONLY | O_CLOEXEC)
    defer { close(writer) }
    let cases: [([String], String, Int32, String)] = [
      (["no-such-program"], "", 127, "no executable"),
      (["/no/such/program"], "", 127, "no executable"),
      ([plain], "", 126, "Permission denied"),
      (["/"], "", 126, "cannot be executed"),
      ([copy, "0"], "", 126, "Text file busy"),
      (["/bin/true"], "/no/such/folder", 0, "working directory"),
      (["/bin/true", String(repeating: "x", count: 200_000)], "", 0, "too long"),
    ]
    for (words, folder, status, text) in cases {
      let result = try run(words, folder: folder)
      #expect(result.cause == .cannotStart, "\(words[0])")
      #expect(result.exitStatus == status, "\(words[0]): \(result)")
      #expect(result.diagnostic.contains(text), "\(result.diagnostic)")
    }
  }
}
