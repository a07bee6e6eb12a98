// Operations that run as another account than their worker, which is root's: what they may do, what
// they are given, and what the worker does not do for them. Real workers, and accounts of a list
// that only these see.

import Glibc
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// Accounts of the worker: two people and a part of the system. `alice` has a group beside her own.
private let alice: uid_t = 2_001
private let bob: uid_t = 2_002

/// A worker of root's that runs operations as others.
private final class Service {
  let coordinator: FakeCoordinator
  let process: OpworkerProcess
  private var number: UInt32 = 0

  init(
    _ runAs: String, program: String = "opworker", hidesGroups: Bool = false,
    _ more: [String] = []
  ) throws {
    let coordinator = try FakeCoordinator()
    self.coordinator = coordinator
    process = try OpworkerProcess(
      program: program, after: { try Self.accounts(in: $0, hidesGroups) }
    ) { folder in
      [
        "--run-as", runAs, "--coordinator", "\(coordinator.endpoint)", "--name", "as-\(getpid())",
        "--scratch", "\(folder)/scratch", "--cpus", "4",
      ] + more
    }
  }

  private static func accounts(in folder: String, _ hidesGroups: Bool) throws -> String {
    let people = """
      root:x:0:0:root:/root:/bin/sh
      alice:x:\(alice):\(alice)::/home/alice:/bin/sh
      bob:x:\(bob):\(bob)::/home/bob:/bin/sh
      postgres:x:101:101::/nonexistent:/bin/sh
      toor:x:0:0::/root:/bin/sh
      last:x:\(Limits.lowestSubmitterUser - 1):100::/:/bin/sh
      first:x:\(Limits.lowestSubmitterUser):100::/:/bin/sh

      """
    let groups = "root:x:0:\nalice:x:\(alice):\nbob:x:\(bob):\nprinters:x:2100:alice\n"
    for (name, text) in [("passwd", people), ("group", groups)] {
      let file = unsafe open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
      let bytes = Array(text.utf8)
      try #require(file >= 0)
      try #require(unsafe write(file, bytes, bytes.count) == bytes.count)
      close(file)
    }
    let hide = hidesGroups ? " && mount -t tmpfs none /sys/fs/cgroup" : ""
    return "mount --bind \(folder)/passwd /etc/passwd"
      + " && mount --bind \(folder)/group /etc/group" + hide
  }

  var folder: String { process.folder }

  func template(_ command: CommandSpecification, by submitter: String = "") -> TemplateAnnouncement
  {
    defer { number += 1 }
    var template = FakeCoordinator.command(at: number, firstIndex: number, command)
    template.submitter = submitter
    return template
  }

  /// What a shell says, and how it ended.
  func shell(
    _ text: String, by submitter: String = "",
    _ change: (inout CommandSpecification) -> Void = { _ in }
  ) throws -> (output: String, result: AttemptResult) {
    let template = template(FakeCoordinator.shell(text, change), by: submitter)
    let result = try coordinator.run(template)
    let log = try coordinator.log(FakeCoordinator.attempt(template.firstIndex), .standardOutput)
    return (String(decoding: log.bytes, as: UTF8.self), result)
  }

  /// A file of root's that nobody else can read.
  func secret(_ name: String = "secret") throws -> String {
    let path = "\(folder)/\(name)"
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    try #require(unsafe write(file, "sesame\n", 7) == 7)
    close(file)
    return path
  }

  /// A folder of an account's.
  func home(_ name: String, of user: uid_t) throws -> String {
    let path = "\(folder)/\(name)"
    let isMade = unsafe mkdir(path, 0o700) == 0 && chown(path, user, user) == 0
    try #require(isMade)
    return path
  }
}

@Suite(.enabled(if: geteuid() == 0, "workers that change accounts are root's"))
struct RunAsTests {
  @Test("G39: an operation has the rights of its account and none of its worker's")
  func rights() throws {
    let service = try Service("alice")
    let secret = try service.secret()
    let (output, result) = try service.shell(
      """
      id -u; id -ru; id -g; id -G; echo "$HOME $USER"
      sed -n 's/^Cap\\(Prm\\|Eff\\|Inh\\|Amb\\):[[:space:]]*//p' /proc/self/status
      cat \(secret) || echo unreadable
      ls '\(service.folder)/scratch' || echo unlisted
      touch '\(service.folder)/scratch/slots/mine' || echo unwritable
      kill -STOP $PPID || echo untouchable
      kill -KILL \(service.process.process) || echo unkillable
      echo seen >> /proc/self/fd/1
      """)
    #expect(result.cause == .none, "\(result.diagnostic)")
    let none = String(repeating: "0", count: 16)
    #expect(
      output == """
        \(alice)
        \(alice)
        \(alice)
        \(alice) 2100
        /home/alice alice
        \(none)
        \(none)
        \(none)
        \(none)
        unreadable
        unlisted
        unwritable
        untouchable
        unkillable
        seen

        """, "\(service.process.error)")
  }

  @Test("G39: its folder, outputs, streams and flags are its own, again and again")
  func files() throws {
    let service = try Service("alice")
    for round in 1...3 {
      // Each finds its folder empty, whatever the last one left, and did to it.
      let (output, result) = try service.shell(
        """
        ls -A; pwd | grep -c "^$OP_SCRATCH$"; stat -c %u .; touch left; mkdir -p deep/er
        chmod 0 deep; echo "value=\(round)" >> "$OP_OUTPUT"; chmod 500 .
        """)
      #expect(result.cause == .none && output == "1\n\(alice)\n", "\(round): \(output)")
      #expect(try Wire.decodeOutput(result.output).pairs.map(\.value) == ["\(round)"])
    }
    // Asked to stop, it sees the flag.
    let waiting = service.template(
      FakeCoordinator.shell(
        "trap '' TERM; echo up > up; until [ -e \"$OP_CANCELLED\" ]; do sleep 0.01; done; echo saw"
      ))
    let attempt = FakeCoordinator.attempt(waiting.firstIndex)
    try service.coordinator.order {
      $0.templates = [waiting]
      $0.dispatches = [Dispatch(attempt: attempt, template: waiting.template)]
    }
    try service.coordinator.until("it runs") {
      Folders.names(in: "\(service.folder)/scratch/slots").contains { name in
        Folders.size(of: "\(service.folder)/scratch/slots/\(name)/up") != nil
      }
    }
    try service.coordinator.order { $0.cancels = [CancelOrder(attempt: attempt)] }
    try service.coordinator.until("its end") { service.coordinator.result(attempt) != nil }
    let log = try service.coordinator.log(attempt, .standardOutput)
    #expect(String(decoding: log.bytes, as: UTF8.self) == "saw\n")
  }

  @Test("G39: files that a submitter names are opened with the account's rights")
  func namedFiles() throws {
    let service = try Service("alice")
    let secret = try service.secret()
    let home = try service.home("home", of: alice)
    let refused = [
      try service.shell("cat") { $0.standardInput = .file(CommandText(secret)) },
      try service.shell("echo x") { $0.standardOutput = CommandText(secret) },
      try service.shell("echo x") { $0.standardError = CommandText("\(service.folder)/new") },
      try service.shell("echo x") { $0.workingDirectory = "/root" },
    ]
    for (output, result) in refused {
      #expect(result.cause == .cannotStart && output.isEmpty, "\(result)")
      #expect(result.diagnostic.contains("Permission denied"), "\(result.diagnostic)")
    }
    #expect(Folders.text(of: secret) == "sesame\n")
    #expect(Folders.size(of: "\(service.folder)/new") == nil)
    // Where it may, it is its own file.
    let own = try service.shell("echo mine; echo no >&2; exit 3") {
      $0.standardOutput = CommandText("\(home)/out")
      $0.standardError = CommandText("\(home)/err")
    }
    #expect(own.output == "mine\n" && Folders.owner(of: "\(home)/out") == alice)
    #expect(own.result.cause == .failed && own.result.diagnostic == "no\n")
  }

  @Test("G39: logs that an account has exchanged for others' files are not read for it")
  func exchangedLogs() throws {
    let service = try Service("alice")
    let secret = try service.secret("out")
    let home = try service.home("home", of: alice)
    // Links in the place of the file, of its folder, and a second name of the file.
    for exchange in [
      "rm d/out; ln -s '\(secret)' d/out", "rm -r d; ln -s '\(service.folder)' d",
      "ln -f '\(secret)' d/out 2>/dev/null || true",
    ] {
      let (output, result) = try service.shell(
        "cd '\(home)'; rm -rf d; mkdir d; echo mine > d/out; \(exchange); exit 7"
      ) {
        $0.standardOutput = CommandText("\(home)/first")
        $0.standardError = CommandText("\(home)/err")
      }
      #expect(result.exitStatus == 7 && !output.contains("sesame"))
      // The command's own stream, exchanged while it runs and after.
      let running = service.template(
        FakeCoordinator.shell("mkdir -p d; echo early; \(exchange); sleep 0.2; exit 7") {
          $0.workingDirectory = home
          $0.standardOutput = CommandText("\(home)/d/out")
          $0.standardError = CommandText("\(home)/d/out")
        })
      _ = unsafe mkdir("\(home)/d", 0o700)
      _ = unsafe chown("\(home)/d", alice, alice)
      let end = try service.coordinator.run(running)
      let attempt = FakeCoordinator.attempt(running.firstIndex)
      let log = try service.coordinator.log(attempt, .standardOutput)
      let words = String(decoding: log.bytes, as: UTF8.self) + end.diagnostic + log.problem
      #expect(!words.contains("sesame"), "\(exchange): \(words)")
    }
  }

  @Test(
    "G20, G25: what runs as another account ends with its operation, and with a killed worker",
    arguments: [false, true])
  func ends(hidesGroups: Bool) throws {
    let service = try Service("alice", hidesGroups: hidesGroups)
    let first = uniqueSleep()
    let (_, result) = try service.shell("setsid sleep \(first) & sleep 0.05; exit 0")
    #expect(result.cause == .none)
    #expect(processes(with: first).isEmpty, "left after its end")
    let second = uniqueSleep()
    let template = service.template(
      FakeCoordinator.shell("env -i setsid sleep \(second) & sleep \(second)"))
    try service.coordinator.order {
      $0.templates = [template]
      $0.dispatches = [
        Dispatch(
          attempt: FakeCoordinator.attempt(template.firstIndex), template: template.template)
      ]
    }
    try service.coordinator.until("both run") { processes(with: second).count >= 2 }
    kill(service.process.process, SIGKILL)
    try service.coordinator.until("nothing is left") { processes(with: second).isEmpty }
  }

  @Test("blocks write their logs, and children of the worker's program are the account's")
  func blocksAndChildren() throws {
    let service = try Service("alice", program: "WorkerStandIn")
    service.coordinator.clientEndpoint = "tcp://127.0.0.1:7420"
    let blocks: [OperationBlock] = [
      .command(FakeCoordinator.shell("id -u")), .command(FakeCoordinator.shell("id -u >&2")),
    ]
    let template = FakeCoordinator.template(
      at: 100, firstIndex: 100, work: .blocks([]), payload: Wire.encode(blocks: blocks))
    #expect(try service.coordinator.run(template).cause == .none)
    for stream in [LogStream.standardOutput, .standardError] {
      let log = try service.coordinator.log(FakeCoordinator.attempt(100), stream)
      #expect(String(decoding: log.bytes, as: UTF8.self) == "\(alice)\n", "\(stream)")
    }
    let type = OperationType(name: "stand-in.describe")
    let call = FakeCoordinator.template(
      at: 101, firstIndex: 101, work: .call(type), payload: Array(#"{"word":"w"}"#.utf8))
    let result = try service.coordinator.run(call)
    #expect(result.cause == .none, "\(result.diagnostic)")
    let log = try service.coordinator.log(FakeCoordinator.attempt(101), .standardOutput)
    #expect(String(decoding: log.bytes, as: UTF8.self) == "printed w\n")
    let folder = "\(service.folder)/scratch/tasks/\(alice)"
    #expect(Folders.owner(of: folder) == alice)
    #expect(String(decoding: result.output, as: UTF8.self).contains("\(folder)/12.101.1"))
  }

  @Test("each operation runs as its submitter's account, in folders that nobody else has had")
  func submitters() throws {
    let service = try Service("@submitter")
    #expect(try service.shell("id -u; pwd; touch hers", by: "alice").output.hasPrefix("\(alice)\n"))
    let hers = try service.shell("pwd; echo $HOME", by: "alice").output
    let his = try service.shell("pwd; echo $HOME", by: "bob").output
    #expect(hers.hasSuffix("\n/home/alice\n") && his.hasSuffix("\n/home/bob\n"))
    #expect(hers.prefix { $0 != "\n" } != his.prefix { $0 != "\n" })
    let slots = Folders.names(in: "\(service.folder)/scratch/slots")
    let owners = slots.map { Folders.owner(of: "\(service.folder)/scratch/slots/\($0)") }
    #expect(Set(owners) == [alice, bob], "\(slots)")
    let intruding = "cat \(service.folder)/scratch/*/0.1.out \(service.folder)/scratch/slots/0/*"
    #expect(try service.shell(intruding, by: "bob").output.isEmpty)
    for (name, what) in [
      ("", "without a key"), ("carol", "no such account"), ("root", "may do everything"),
      ("toor", "may do everything"), ("postgres", "an account of the system"),
      ("../alice", "no such account"), ("last", "an account of the system"),
    ] {
      let (output, result) = try service.shell("id -u", by: name)
      #expect(result.cause == .cannotStart && output.isEmpty, "'\(name)' ran")
      #expect(result.diagnostic.contains(what), "'\(name)': \(result.diagnostic)")
    }
    let first = "\(Limits.lowestSubmitterUser)\n"
    #expect(try service.shell("id -u", by: "first").output == first)
  }

  @Test func namesAreRememberedUpToABound() {
    let accounts = OperationAccounts(.submitter)
    var announcement = FakeCoordinator.command(FakeCoordinator.shell("true"))
    for number in 1...(Limits.accountsRemembered + 1) {
      announcement.submitter = "nobody-\(number)"
      #expect(throws: AttemptProblem.self) { try accounts.account(of: announcement) }
      #expect(accounts.remembered == (number <= Limits.accountsRemembered ? number : 1))
    }
  }

  @Test("what --run-as cannot do is said at the start")
  func refusals() throws {
    func end(_ service: Service, _ status: Int32, _ words: String...) throws {
      #expect(try service.process.wait() == status)
      for word in words {
        #expect(service.process.error.contains(word), "\(service.process.error)")
      }
    }
    try end(Service("carol"), 78, "--run-as 'carol'", "no such account")
    try end(Service("root"), 78, "may do everything")
    try end(Service("toor"), 78, "may do everything")
    // In the folder of the worker's output, which is closed to others but for that.
    for runAs in ["alice", "@submitter"] {
      let closed = try Service(runAs, ["--scratch", "/root/.opcluster-run-as-\(getpid())/scratch"])
      try end(closed, 78, "cannot pass /root", "--scratch", "chmod o+x /root")
    }
    Folders.removeTree("/root/.opcluster-run-as-\(getpid())")
    // Types that would run in the worker itself.
    try end(Service("alice", program: "opexampleworker"), 78, "isolation .child")
    let alone = try OpworkerProcess(program: "opworker", after: { _ in "true" }) { folder in
      ["--coordinator", "ipc://\(folder)/none", "--scratch", "\(folder)/scratch"]
    }
    #expect(try alone.wait() == 78)
    #expect(alone.error.contains("--run-as"), "\(alone.error)")
  }
}
