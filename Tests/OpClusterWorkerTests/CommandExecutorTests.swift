// The command executor: work of attempts in a program that is no worker.

import Glibc
import Logging
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization
import Testing

@testable import OpClusterAttempts
@testable import OpClusterProcesses
@testable import OpClusterWorker

/// Collects what an executor tells.
private final class ExecutorEnds: Sendable {
  private let ends = Mutex<[AttemptID: [AttemptResult]]>([:])

  func add(_ attempt: AttemptID, _ result: AttemptResult) {
    ends.withLock { $0[attempt, default: []].append(result) }
  }

  func all(_ attempt: AttemptID) -> [AttemptResult] { ends.withLock { $0[attempt] ?? [] } }

  func wait(_ attempt: AttemptID) throws -> AttemptResult {
    try poll("the end of \(attempt)") { !all(attempt).isEmpty }
    return try #require(all(attempt).first)
  }
}

/// Waits for a condition that another thread or process brings about.
private func poll(_ what: String, _ condition: () -> Bool) throws {
  let deadline = MonotonicClock.now() + 240_000_000_000
  while !condition() {
    try #require(MonotonicClock.now() < deadline, "never: \(what)")
    usleep(2_000)
  }
}

extension WorkerTests {
  // A program that just ends cannot remove its folder: the next one does, and touches nothing else.
  @Test func executorFoldersAreLeftToTheNext() throws {
    let base = "/tmp/worker-test-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
    #expect(unsafe mkdir(base, 0o700) == 0)
    defer { _ = Folders.removeTree(base) }
    /// As an executor of long ago has left it.
    func folder(_ name: String, isOld: Bool = true, files: [String] = ["lock"]) -> String {
      let path = "\(base)/\(name)"
      #expect(unsafe mkdir(path, 0o700) == 0)
      for file in files { Folders.append("x", to: "\(path)/\(file)") }
      let then = timespec(tv_sec: time(nil) - (isOld ? 25 * 3_600 : 3_600), tv_nsec: 0)
      #expect(unsafe utimensat(AT_FDCWD, path, [then, then], 0) == 0)
      return path
    }
    let left = [folder("opcluster-17-abc"), folder("opcluster-99999999-0")]
    let held = folder("opcluster-18-abc")
    let lock = unsafe open("\(held)/lock", O_RDWR | O_CLOEXEC)
    #expect(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    defer { close(lock) }
    let others = [
      held, folder("opcluster-20-abc", isOld: false), folder("opcluster-21-abc", files: []),
      folder("opcluster-abc"), folder("opcluster-x-abc"), folder("opcluster-22-abc-d"),
      folder("22-abc"),
    ]
    let link = "\(base)/opcluster-23-abc"
    #expect(unsafe symlink(others[6], link) == 0)
    #expect(ExecutorFolder.abandoned(beside: "\(base)/opcluster-1-own").sorted() == left.sorted())
    #expect(ExecutorFolder.abandoned(beside: left[0]) == [left[1]])
    let scratch = try Scratch("\(base)/opcluster-1-own", logger: Logger(label: "test"))
    for path in left { scratch.removeLater(path) }
    try poll("what was left is gone") { left.allSatisfy { Folders.owner(of: $0) == nil } }
    for path in others + [link] { #expect(Folders.owner(of: path) != nil, "\(path) is gone") }
  }

  // A command with its values and outputs, and a block operation.
  @Test func executorEndToEnd() throws {
    let ends = ExecutorEnds()
    let executor = try CommandExecutor(onEnd: ends.add)
    let attempt = FakeCoordinator.attempt(0)
    let command = FakeCoordinator.shell("echo \"$OP_NAME $OP_ATTEMPT\"; echo k=v > $OP_OUTPUT")
    executor.start(attempt, FakeCoordinator.command(name: "local", command), run: 3)
    let result = try ends.wait(attempt)
    #expect(result.isSuccess)
    #expect(try Wire.decodeOutputs(result.output).map(\.value) == ["v"])
    let log = executor.log(attempt, .standardOutput)
    #expect(Folders.text(of: log) == "local 3\n")
    let second = FakeCoordinator.attempt(1)
    executor.start(
      second,
      FakeCoordinator.blocks([
        .call(OperationType(name: "sleep"), argument: Array("0.01".utf8)),
        .command(FakeCoordinator.shell("exit 1")),
      ]))
    let blocks = try Wire.decodeBlockResults(try ends.wait(second).output)
    #expect(blocks.first == .succeeded([]) && blocks.count == 2)
    executor.end()
    #expect(Folders.size(of: log) == nil)
    let late = FakeCoordinator.attempt(2)
    executor.start(late, FakeCoordinator.command(command))
    #expect(ends.all(late).map(\.cause) == [.workerStopped])
    #expect(ends.all(attempt).count == 1 && ends.all(second).count == 1)
  }

  // Stop by signal, kill of a whole tree, and the end of the executor.
  @Test func executorStopsAndKills() throws {
    let ends = ExecutorEnds()
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let executor = try CommandExecutor(onEnd: ends.add)
    let attempts = (0..<3).map { FakeCoordinator.attempt($0) }
    for (attempt, trap) in zip(attempts, ["exit 5", "", ""]) {
      let text = """
        trap '\(trap)' TERM
        sh -c \
          'trap "" TERM; while :; do sleep 0.05; done' \(folder)/child.\(attempt.operation.index) &
        touch \(folder)/\(attempt.operation.index); wait; wait
        """
      executor.start(
        attempt,
        FakeCoordinator.command(firstIndex: attempt.operation.index, FakeCoordinator.shell(text)))
    }
    try poll("all beginnings") {
      (0..<3).allSatisfy { Folders.size(of: "\(folder)/\($0)") != nil }
    }
    executor.stop(attempts[0])
    #expect(try ends.wait(attempts[0]).exitStatus == 5)
    try poll("no rest of the first") { processes(with: "\(folder)/child.0").isEmpty }
    executor.kill(attempts[1])
    #expect(try ends.wait(attempts[1]).signal == SIGKILL)
    try poll("no rest of the second") { processes(with: "\(folder)/child.1").isEmpty }
    executor.end()
    #expect(ends.all(attempts[2]).map(\.cause) == [.workerStopped])
    try poll("nothing") { processes(with: folder).isEmpty }
  }

  // The program's other children stay its own: the executor neither reaps nor adopts nor kills
  // them.
  @Test func executorLeavesOtherChildrenAlone() throws {
    let ends = ExecutorEnds()
    let executor = try CommandExecutor(onEnd: ends.add)
    var child: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = unsafe [
      strdup("/bin/sh"), strdup("-c"), strdup("exit 7"), nil,
    ]
    defer { unsafe words.forEach { unsafe free($0) } }
    // The workers of other tests in this process do reap what they do not know.
    child = ChildClaims.startForeign {
      unsafe posix_spawn(&child, "/bin/sh", nil, nil, &words, environ) == 0 ? child : 0
    }
    #expect(child > 0)
    for index in UInt32(0)..<20 {
      executor.start(
        FakeCoordinator.attempt(index),
        FakeCoordinator.command(FakeCoordinator.shell("true & sleep 0.01 & exit 0")))
    }
    for index in UInt32(0)..<20 { #expect(try ends.wait(FakeCoordinator.attempt(index)).isSuccess) }
    var status: Int32 = 0
    #expect(unsafe waitpid(child, &status, 0) == child)
    ChildClaims.release(child)
    #expect(status >> 8 & 0xff == 7)
    executor.end()
  }

  // What the local backend needs to keep the times.
  @Test func executorLimits() {
    var template = FakeCoordinator.command(
      FakeCoordinator.shell("true") {
        $0.timeout = .seconds(3)
        $0.grace = .seconds(4)
      })
    #expect(CommandExecutor.limits(of: template) == (.seconds(3), .seconds(4)))
    template.timeout = .seconds(1)
    #expect(CommandExecutor.limits(of: template) == (.seconds(1), .seconds(4)))
  }
}
