// The daemons as services: whom they tell, whom they refuse, in which folders, and how a worker
// leaves (G39, G40, S148).

import Citations
import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized) struct ServiceTests {
  /// A folder of its own, whose name is short enough for sockets.
  private static func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = "/tmp/ocs-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    try #require(unsafe mkdir(folder, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  private static func start(
    _ program: String, _ arguments: [String], in folder: String, variables: [String] = []
  ) throws -> ChildProgram {
    try ChildProgram(
      "\(program)-\(UInt32.random(in: 0 ... .max))", try Cluster.executable(program), arguments,
      environment: ["HOME=\(folder)", "PATH=/usr/bin:/bin"] + variables, folder: folder)
  }

  private static func serving(_ folder: String, sockets: String? = nil) -> [String] {
    let sockets = sockets ?? folder
    return [
      "serve", "--until-stdin-closes", "--allow-root", "--client", "ipc://\(sockets)/c",
      "--worker", "ipc://\(sockets)/w", "--state", "\(folder)/state",
    ]
  }

  /// Nobody serves as root by accident. The refusal says what to do, and nothing was made.
  @Test(.checks("G40"), .enabled(if: geteuid() == 0)) func rootIsRefused() async throws {
    try await Self.withFolder { folder in
      let coordinator = try Self.start(
        "opcoord", Self.serving(folder).filter { $0 != "--allow-root" }, in: folder)
      #expect(try await coordinator.ended() == 78)
      #expect(coordinator.error.contains("--allow-root"), "\(coordinator.error)")
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/state"))
      let worker = try Self.start(
        "opworker", ["--coordinator", "ipc://\(folder)/w", "--scratch", "\(folder)/s"], in: folder)
      #expect(try await worker.ended() == 78)
      #expect(worker.error.contains("--allow-root"), "\(worker.error)")
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/s"))
    }
  }

  /// Folders that others can write to are refused by name, and left as they are.
  @Test(.checks("G39", "F59")) func unsafeFoldersAreRefused() async throws {
    try await Self.withFolder { folder in
      func refused(_ arguments: [String], naming path: String) async throws {
        let coordinator = try Self.start("opcoord", arguments, in: folder)
        #expect(try await coordinator.ended() == 77)
        #expect(coordinator.error.contains(path), "\(coordinator.error)")
        #expect(coordinator.error.contains("chmod 0700"), "\(coordinator.error)")
        let left = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(left == [], "\(left)")
      }
      for name in ["state", "open"] {
        try #require(unsafe mkdir("\(folder)/\(name)", 0o777) == 0)
        _ = unsafe chmod("\(folder)/\(name)", 0o777)
      }
      try await refused(Self.serving(folder), naming: "\(folder)/state")
      _ = unsafe chmod("\(folder)/state", 0o700)
      try await refused(
        Self.serving(folder, sockets: "\(folder)/open"), naming: "\(folder)/open")
      // A worker's folder of that kind, too: what lies in it could be somebody else's.
      let worker = try Self.start(
        "opworker",
        ["--allow-root", "--coordinator", "ipc://\(folder)/w", "--scratch", "\(folder)/open"],
        in: folder)
      #expect(try await worker.ended() == 77)
      #expect(worker.error.contains("\(folder)/open"), "\(worker.error)")
    }
  }

  /// The loops themselves feed the watchdog, so that one that stands still is noticed.
  @Test(.checks("G23")) func theServiceManagerIsTold() async throws {
    try await Self.withFolder { folder in
      let manager = try ServiceManager("\(folder)/notify")
      let variables = ["NOTIFY_SOCKET=\(folder)/notify", "WATCHDOG_USEC=200000"]
      let coordinator = try Self.start(
        "opcoord", Self.serving(folder), in: folder, variables: variables)
      try await manager.hears("READY=1\nSTATUS=serving as epoch 1")
      for _ in 0..<3 { try await manager.hears("WATCHDOG=1") }
      coordinator.signal(SIGSTOP)
      try await eventually("it stands still") { state(of: coordinator.process) == "T" }
      manager.forget()
      // Ten times what the manager would wait. That nothing comes is what is to be seen.
      try await Task.sleep(for: .milliseconds(500))
      #expect(manager.all.isEmpty)
      coordinator.signal(SIGCONT)
      try await manager.hears("WATCHDOG=1")
      coordinator.signal(SIGTERM)
      try await manager.hears("STOPPING=1")
      #expect(try await coordinator.ended() == 0)
    }
  }

  @Test func theServiceManagerIsToldByAWorker() async throws {
    try await Self.withFolder { folder in
      let manager = try ServiceManager("\(folder)/notify")
      let variables = ["NOTIFY_SOCKET=\(folder)/notify", "WATCHDOG_USEC=200000"]
      let worker = try Self.start(
        "opworker",
        ["--allow-root", "--coordinator", "ipc://\(folder)/w", "--scratch", "\(folder)/s"],
        in: folder, variables: variables)
      try await manager.hears("READY=1\nSTATUS=looking for ipc://\(folder)/w")
      for _ in 0..<3 { try await manager.hears("WATCHDOG=1") }
      let coordinator = try Self.start("opcoord", Self.serving(folder), in: folder)
      try await manager.hears("STATUS=serving ipc://\(folder)/w")
      for _ in 0..<3 { try await manager.hears("WATCHDOG=1") }
      worker.signal(SIGTERM)
      try await manager.hears("STOPPING=1")
      #expect(try await worker.ended() == 0)
      coordinator.signal(SIGTERM)
      #expect(try await coordinator.ended() == 0)
    }
  }

  /// A worker that is stopped as a service finishes what runs, and what it has not started
  /// goes elsewhere at once.
  @Test(.checks("S148")) func aStoppedServiceDrains() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1, slots: 1, workerFlags: [["--drain", "600"]])) {
      cluster in
      let scene = try await Scene("drain", on: cluster)
      let members = try await scene.submit { plan in
        try plan.add("runs", .gate)
        try plan.add("waits", .mark)
      }
      try await scene.traced("runs+")
      let worker = try #require(cluster.daemon("w1"))
      worker.signal(SIGTERM)
      try await eventually("it drains") {
        try await scene.connection.workers().contains { $0.name == "w1" && $0.state == .draining }
      }
      try cluster.startWorker("w2")
      try await scene.finished(members["waits"])
      #expect(worker.end == nil)
      try scene.open("runs")
      try await scene.ended(members)
      #expect(try await worker.ended() == 0)
      let row = try await scene.row(members["runs"])
      #expect(row.outcome == .succeeded)
      #expect(row.attempt == 1)
      #expect(scene.trace == ["runs+", "waits", "runs-"])
    }
  }

  /// A second signal ends the patience: what runs is asked to stop, and runs again elsewhere.
  @Test func aDrainBecomesAStop() async throws {
    try await Cluster.with(Cluster.Shape(workers: 1, slots: 1, workerFlags: [["--drain", "600"]])) {
      cluster in
      let scene = try await Scene("stop", on: cluster)
      let members = try await scene.submit { try $0.add("runs", .gate) }
      try await scene.traced("runs+")
      let worker = try #require(cluster.daemon("w1"))
      worker.signal(SIGTERM)
      try await eventually("it drains") {
        try await scene.connection.workers().contains { $0.state == .draining }
      }
      worker.signal(SIGTERM)
      #expect(try await worker.ended() == 0)
      #expect(try await !scene.row(members["runs"]).isFinished)
    }
  }

  private func state(of process: pid_t) -> Character? {
    let words = text(of: "/proc/\(process)/stat").split(separator: ")").last
    return words?.split(separator: " ").first?.first
  }
}

/// What a service manager hears: a real datagram socket at a path.
private final class ServiceManager: Sendable {
  private let descriptor: Int32
  private let path: String

  init(_ path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(descriptor, generic, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0)
  }

  deinit { close(descriptor) }

  /// Everything that waits, taken.
  var all: [String] {
    var messages: [String] = []
    while let message = next() { messages.append(message) }
    return messages
  }

  func forget() { _ = all }

  /// Waits for a message that begins so; others before it are dropped.
  func hears(_ beginning: String) async throws {
    try await eventually("the service manager hears \(beginning)") {
      while let message = self.next() {
        if message.hasPrefix(beginning) { return true }
      }
      return false
    }
  }

  private func next() -> String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}
