// The built command itself: exit codes, the line when it serves, what is left after kill -9.

import Citations
import Glibc
import Logging
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterProcesses
@testable import OpClusterWorker

/// A running `opworker`, its output in files of a folder of its own.
final class OpworkerProcess {
  let folder: String
  let process: pid_t
  private var status: Int32?

  /// nil where the command is not built beside the tests.
  static func path(_ program: String) -> String? {
    var folder = CommandLine.arguments[0]
    // The bundle of tests is in the folder of the products, or in a folder in it.
    while let slash = folder.lastIndex(of: "/") {
      folder = String(folder[..<slash])
      if Folders.size(of: "\(folder)/\(program)") != nil { return "\(folder)/\(program)" }
    }
    return nil
  }

  convenience init(_ arguments: [String]) throws {
    try self.init(program: "opworker") { _ in arguments }
  }

  /// Any program with the flags of `opworker`; they may name its folder.
  init(program: String, _ arguments: (String) -> [String]) throws {
    let path = try #require(Self.path(program), "\(program) is not built")
    folder = try TestWorker.freshFolder()
    process = try Self.spawn(path, arguments(folder), output: folder)
  }

  /// `opworker` where no cgroup can be seen, and perhaps none of its own processes, as with the
  /// /proc of another namespace; which takes root to arrange.
  init(withoutGroups arguments: (String) -> [String], seesProcesses: Bool = true) throws {
    let path = try #require(Self.path("opworker"), "opworker is not built")
    folder = try TestWorker.freshFolder()
    let namespaces = seesProcesses ? ["-m"] : ["-m", "--pid", "--fork", "--kill-child"]
    let hide = "mount -t tmpfs none /sys/fs/cgroup && exec \"$0\" \"$@\""
    process = try Self.spawn(
      "/usr/bin/unshare", namespaces + ["/bin/sh", "-c", hide, path] + arguments(folder),
      output: folder)
  }

  /// Any such program in a mount namespace of its own, after a command of the shell that may change
  /// what it sees; both get the folder, which everybody may pass.
  init(
    program: String, after prepare: (String) throws -> String, _ arguments: (String) -> [String]
  ) throws {
    let path = try #require(Self.path(program), "\(program) is not built")
    folder = try TestWorker.freshFolder()
    _ = unsafe chmod(folder, 0o711)
    let script = try "\(prepare(folder)) && exec \"$0\" \"$@\""
    process = try Self.spawn(
      "/usr/bin/unshare", ["-m", "/bin/sh", "-c", script, path] + arguments(folder),
      output: folder)
  }

  /// Its streams go to the files `output` and `error` of a folder.
  private static func spawn(
    _ path: String, _ arguments: [String], output folder: String
  ) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, name) in [(Int32(1), "output"), (Int32(2), "error")] {
      unsafe posix_spawn_file_actions_addopen(
        &actions, number, "\(folder)/\(name)", O_WRONLY | O_CREAT, 0o600)
    }
    var words: [UnsafeMutablePointer<CChar>?] = unsafe ([path] + arguments).map {
      unsafe strdup($0)
    }
    unsafe words.append(nil)
    defer { unsafe words.forEach { unsafe free($0) } }
    // Hosts of other tests in this process take what they do not know for orphans, and reap it.
    return try ChildClaims.startForeign {
      var number: pid_t = 0
      let code = unsafe posix_spawn(&number, path, &actions, nil, words, environ)
      try #require(code == 0)
      return number
    }
  }

  var output: String { Folders.text(of: "\(folder)/output") ?? "" }
  var error: String { Folders.text(of: "\(folder)/error") ?? "" }

  /// Its exit status, once it has ended; 128+n for a signal.
  func ended() -> Int32? {
    if let status { return status }
    var raw: Int32 = 0
    guard unsafe waitpid(process, &raw, WNOHANG) == process else { return nil }
    ChildClaims.release(process)
    status = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
    return status
  }

  func wait() throws -> Int32 {
    let deadline = MonotonicClock.now() + 240_000_000_000
    while ended() == nil {
      try #require(MonotonicClock.now() < deadline, "it does not end")
      usleep(5_000)
    }
    return ended()!
  }

  deinit {
    if ended() == nil {
      kill(process, SIGKILL)
      ChildClaims.release(process)
      waitpid(process, nil, 0)
    }
    Folders.removeTree(folder)
  }
}

extension WorkerTests {
  @Test func showsResources() throws {
    let command = try OpworkerProcess([
      "resources", "--cpus", "3", "--memory", "2GiB", "--gpus", "1", "--resource", "licence=0.5",
    ])
    #expect(try command.wait() == 0)
    #expect(command.output.hasPrefix("cpus=3 memory=2147483648 gpus=1 licence=0.5\n"))
    #expect(command.output.contains("label os=linux"))
    let named = try OpworkerProcess(["resources", "--gpus", "0,2,3"])
    #expect(try named.wait() == 0)
    #expect(named.output.contains("gpus=3\n") && named.output.contains("\ngpu 0\ngpu 2\ngpu 3\n"))
    let wrong = try OpworkerProcess(["resources", "--gpus", "0.5"])
    #expect(try wrong.wait() == 64)
    #expect(wrong.error.contains("--gpus: '0.5' is not a number up to 1024, indices such as 0,2,3"))
  }

  // 78 for what is configured wrongly, 64 for usage, 69 for nobody there if that is asked for.
  @Test func exitCodes() throws {
    let keyless = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", "tcp://192.0.2.1:7421", "--keys", "/nowhere/at/all",
    ])
    #expect(try keyless.wait() == 78)
    #expect(keyless.error.contains("there is no key in /nowhere/at/all"))
    let foreign = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", "udp://127.0.0.1:7421",
    ])
    #expect(try foreign.wait() == 78)
    // A name is looked at before a folder is named after it.
    let named = try OpworkerProcess([
      "serve", "--allow-root", "--name", "../../x", "--coordinator", "ipc:///nowhere/at/all",
    ])
    #expect(try named.wait() == 78 && named.error.contains("is not 1 to 128"), "\(named.error)")
    let usage = try OpworkerProcess(["serve", "--allow-root", "--memory", "much"])
    #expect(try usage.wait() == 64)
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let alone = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", "ipc://\(folder)/nobody", "--scratch",
      "\(folder)/state",
      "--exit-when-unreachable", "1",
    ])
    #expect(try alone.wait() == 69)
  }

  // One line when it serves; SIGTERM is an orderly stop.
  @Test func servesUntilTerminated() throws {
    let coordinator = try FakeCoordinator()
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let command = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", coordinator.endpoint.address, "--name", "w1",
      "--scratch", folder,
      "--cpus", "2", "--memory", "1G", "--log-format", "json", "--log-level", "debug",
    ])
    try coordinator.until("a line") { !command.output.isEmpty }
    #expect(
      command.output
        == "opworker w1 serving \(coordinator.endpoint) cpus=2 memory=1000000000 gpus=0\n")
    kill(command.process, SIGTERM)
    try coordinator.until("goodbye") { coordinator.saidGoodbye }
    #expect(try command.wait() == 0)
    let lines = command.error.split(separator: "\n")
    #expect(lines.allSatisfy { $0.hasPrefix("{\"time\":\"") && $0.hasSuffix("}") })
  }

  // As where it was given the clients' address: it says so, once, and goes on trying.
  @Test func saysThatNobodyAnswers() throws {
    let coordinator = try FakeCoordinator()
    coordinator.isSilent = true
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let command = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", coordinator.endpoint.address, "--name", "w4",
      "--scratch", folder,
    ])
    try coordinator.until("a warning") { command.error.contains("does not answer") }
    #expect(command.error.contains("its address for workers"))
    coordinator.isSilent = false
    try coordinator.until("a line") { !command.output.isEmpty }
    #expect(command.error.split(separator: "\n").count { $0.contains("does not answer") } == 1)
  }

  // The second worker of a name waits, and says for whom, once.
  @Test func saysWhyItIsNotTaken() throws {
    let coordinator = try FakeCoordinator()
    coordinator.refusal = Refusal(
      .busy, "a worker named w5 is connected", hint: "give each worker a name of its own")
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let command = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", coordinator.endpoint.address, "--name", "w5",
      "--scratch", folder,
    ])
    try coordinator.until("a second try") { coordinator.hellos.count > 1 }
    let words =
      "the coordinator does not take this worker yet: a worker named w5 is connected; "
      + "give each worker a name of its own"
    #expect(command.error.contains(words))
    coordinator.refusal = nil
    try coordinator.until("a line") { !command.output.isEmpty }
    #expect(command.error.split(separator: "\n").count { $0.contains(words) } == 1)
  }

  // Killed, it leaves nothing behind, neither children nor those that left their session.
  @Test(.checks("G25")) func nothingOutlivesAKilledWorker() throws {
    let coordinator = try FakeCoordinator()
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let command = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", coordinator.endpoint.address, "--name", "w2",
      "--scratch", folder,
    ])
    let mark = "86400.\(UInt32.random(in: 0...UInt32.max))"
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          FakeCoordinator.shell(
            "setsid sleep \(mark) & (setsid sh -c 'sleep \(mark) &') ; exec sleep \(mark)"))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("three of them") { processes(with: mark).count >= 3 }
    kill(command.process, SIGKILL)
    #expect(try command.wait() == 137)
    try coordinator.until("their end") { processes(with: mark).isEmpty }
  }

  // The second signal does not wait for what ignores the first.
  @Test func secondSignalKills() throws {
    let coordinator = try FakeCoordinator()
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let command = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", coordinator.endpoint.address, "--name", "w3",
      "--scratch", folder,
    ])
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.command(
          FakeCoordinator.shell(
            "trap 'touch \(folder)/asked' TERM; touch \(folder)/ready; while :; do sleep 0.02; done"
          ))
      ]
      $0.dispatches = [Dispatch(attempt: FakeCoordinator.attempt(0), template: 0)]
    }
    try coordinator.until("it runs") { Folders.text(of: "\(folder)/ready") != nil }
    kill(command.process, SIGTERM)
    try coordinator.until("it was asked") { Folders.text(of: "\(folder)/asked") != nil }
    #expect(command.ended() == nil)
    kill(command.process, SIGTERM)
    try coordinator.until("its end") { command.ended() != nil }
    #expect(command.ended() == 1)
  }

  // A worker that is started again without a name has the one it had, and the logs of before; two
  // at once have different ones.
  @Test(.enabled(if: geteuid() == 0, "starts workers with a folder for their state"))
  func namesAreTheSameAgain() throws {
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    func start(_ coordinator: FakeCoordinator) throws -> OpworkerProcess {
      try started(coordinator.endpoint.description, folder)
    }
    let host = MachineResources.machineName
    let coordinator = try FakeCoordinator()
    let first = try start(coordinator)
    let end = try coordinator.run(FakeCoordinator.command(FakeCoordinator.shell("echo kept")))
    #expect(end.cause == .none && coordinator.hellos.last?.name == host)
    let other = try FakeCoordinator()
    let second = try start(other)
    try other.until("a hello") { !other.hellos.isEmpty }
    #expect(other.hellos.last?.name == "\(host)-2")
    kill(first.process, SIGTERM)
    try coordinator.until("goodbye") { coordinator.saidGoodbye }
    #expect(try first.wait() == 0)
    let next = try FakeCoordinator()
    let again = try start(next)
    try next.until("a hello") { next.conversation != nil }
    #expect(next.hellos.last?.name == host)
    let log = try next.log(FakeCoordinator.attempt(0), .standardOutput)
    #expect(String(decoding: log.bytes, as: UTF8.self) == "kept\n")
    withExtendedLifetime((second, again)) {}
  }

  /// `Limits.workersPerMachine` have a name; the one after them says that there is none left.
  @Test(.enabled(if: geteuid() == 0, "starts workers with a folder for their state"))
  func namesEnd() throws {
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    try Folders.make("\(folder)/opcluster")
    let host = MachineResources.machineName
    var held: [Scratch] = []
    for number in 1...Limits.workersPerMachine {
      if number == Limits.workersPerMachine {
        let coordinator = try FakeCoordinator()
        let last = try started(coordinator.endpoint.description, folder)
        try coordinator.until("a hello") { !coordinator.hellos.isEmpty }
        #expect(coordinator.hellos.last?.name == "\(host)-\(number)")
        withExtendedLifetime(last) {}
      }
      let name = number == 1 ? host : "\(host)-\(number)"
      let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
      // What the worker leaves behind, its guard for one, may hold the folder a moment longer.
      let path = "\(folder)/opcluster/worker-\(name)"
      let patience = ContinuousClock.now + .seconds(240)
      while true {
        do {
          held.append(try Scratch(path, logger: logger))
          break
        } catch {
          guard ContinuousClock.now < patience else { throw error }
          usleep(10_000)
        }
      }
    }
    let none = try started("ipc://\(folder)/none", folder)
    #expect(try none.wait() == 73)
    #expect(none.error.contains("--name"), "\(none.error)")
    withExtendedLifetime(held) {}
  }

  private func started(_ coordinator: String, _ state: String) throws -> OpworkerProcess {
    try OpworkerProcess(
      program: "opworker", after: { _ in "export XDG_STATE_HOME='\(state)'" }
    ) { _ in ["--allow-root", "--cpus", "1", "--coordinator", coordinator] }
  }
}
