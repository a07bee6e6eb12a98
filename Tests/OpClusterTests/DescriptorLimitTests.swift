// A coordinator with few descriptors and many connections: it does not turn in circles, says why it
// turns people away, serves those who were there, and takes new ones when others have left
// (A7, G30).

import Citations
import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.checks("G30", "A7")) struct DescriptorLimitTests {
  /// Processor time of a process so far, in seconds.
  private func processorTime(of process: pid_t) -> Double {
    let fields = text(of: "/proc/\(process)/stat").split(separator: ")").last?.split(
      separator: " ")
    guard let fields, fields.count > 12, let user = Double(fields[11]),
      let system = Double(fields[12])
    else { return .infinity }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// A worker takes as many as it may have, for what others read from its store. Its commands have
  /// those that it began with, and may take more themselves.
  @Test func commandsHaveWhatTheWorkerBeganWith() async throws {
    var shape = Cluster.Shape(workers: 1)
    shape.launches["w1"] = Cluster.Launch(through: [
      "/bin/sh", "-c", "ulimit -Sn 300 && exec \"$0\" \"$@\"",
    ])
    try await Cluster.with(shape) { cluster in
      let words = "ulimit -Sn; ulimit -Hn; grep 'open files' /proc/$PPID/limits"
      let said = try await cluster.opbatch("run", "--", "/bin/sh", "-c", words)
      #expect(said.status == 0, "\(said.error)")
      let lines = said.output.split(separator: "\n").map(String.init)
      let own = try #require(lines.last?.split(separator: " ").map(String.init))
      #expect(lines.first == "300", "\(said.output)")
      // The worker's own: as many as it may have, which the command may have as well.
      try #require(lines.count == 3 && own.count > 4, "\(said.output)")
      #expect(own[3] == lines[1] && own[4] == lines[1] && own[3] != "300", "\(said.output)")
    }
  }

  /// The limit falls while it serves, below the numbers of what it has open: who is there is
  /// served, who comes is cut, nothing spins, and when others have left there is room again.
  @Test(.timeLimit(.minutes(30))) func theLimitFalls() async throws {
    let folder = "/tmp/oct-d\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    #expect(unsafe mkdir(folder, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let address = "ipc://\(folder)/c"
    let coordinator = try ChildProgram(
      "opcoord", try Cluster.executable("opcoord"),
      [
        "serve", "--until-stdin-closes", "--allow-root", "--client", address, "--worker",
        "ipc://\(folder)/w", "--state", "\(folder)/state",
      ],
      environment: ["PATH=/usr/bin:/bin", "HOME=\(folder)", "LANG=C.UTF-8"], folder: folder)
    defer { coordinator.signal(SIGKILL) }
    let good = try await eventually("it serves") {
      try? await ClusterConnection.connect(to: address)
    }
    let before =
      Int(
        text(of: "/proc/\(coordinator.process)/limits").split(separator: "\n")
          .first { $0.hasPrefix("Max open files") }?.split(separator: " ")[3] ?? "") ?? 4_096
    let hasFallen = try await Self.setLimit(64, of: coordinator, folder)
    #expect(hasFallen)
    try await eventually("it says so", details: { coordinator.error }) {
      coordinator.error.contains("the limit of descriptors has fallen")
    }
    var crowd: [RawPeer] = []
    for number in 0..<60 {
      guard let peer = try? RawPeer(address) else { continue }
      peer.say(RawPeer.greeting + RawPeer.ready)
      crowd.append(peer)
      if number % 10 == 9 { try await Task.sleep(for: .milliseconds(100)) }
    }
    try await eventually("it cuts them", details: { coordinator.error }) {
      coordinator.error.contains("connections are cut")
    }
    let used = processorTime(of: coordinator.process)
    try await Task.sleep(for: .seconds(2))
    let more = processorTime(of: coordinator.process) - used
    #expect(more < 0.5, "\(more) s of processor in 2 s below a limit that fell")
    guard case .pong = try await good.request(.ping) else { throw Trouble("no pong") }
    crowd.removeAll()
    // Raising it takes a capability that root may lack.
    if try await Self.setLimit(before, of: coordinator, folder) {
      try await eventually("it sees the limit raised", details: { coordinator.error }) {
        coordinator.error.contains("the limit of descriptors has been raised")
      }
    }
    let late = try await eventually("a place for another one") {
      try? await ClusterConnection.connect(to: address)
    }
    guard case .pong = try await late.request(.ping) else { throw Trouble("no pong") }
    await late.close()
    await good.close()
  }

  /// Sets both limits: the soft one alone would be raised again. False where that is not allowed.
  private static func setLimit(
    _ limit: Int, of program: ChildProgram, _ folder: String
  ) async throws -> Bool {
    let change = try ChildProgram(
      "prlimit-\(limit)", "/usr/bin/prlimit",
      ["--pid", "\(program.process)", "--nofile=\(limit):\(limit)"],
      environment: ["PATH=/usr/bin:/bin"], folder: folder)
    return try await change.ended() == 0
  }

  @Test(.timeLimit(.minutes(30))) func manyConnectionsAtTheLimit() async throws {
    let folder = "/tmp/oct-d\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    #expect(unsafe mkdir(folder, 0o700) == 0)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let address = "ipc://\(folder)/c"
    let coordinator = try ChildProgram(
      "opcoord", "/bin/sh",
      [
        "-c", "ulimit -n 2600; exec \"$0\" \"$@\"", try Cluster.executable("opcoord"), "serve",
        "--until-stdin-closes", "--allow-root", "--client", address, "--worker",
        "ipc://\(folder)/w", "--state", "\(folder)/state",
      ],
      environment: ["PATH=/usr/bin:/bin", "HOME=\(folder)", "LANG=C.UTF-8"], folder: folder)
    defer { coordinator.signal(SIGKILL) }
    let good = try await eventually("it serves") {
      try? await ClusterConnection.connect(to: address)
    }
    var crowd: [RawPeer] = []
    for _ in 0..<700 {
      guard let peer = try? RawPeer(address) else { continue }
      peer.say(RawPeer.greeting + RawPeer.ready)
      crowd.append(peer)
    }
    try await eventually("it says that it turns people away", details: { coordinator.error }) {
      coordinator.error.contains("connections are cut")
    }
    // Nothing goes on: neither does the processor.
    let before = processorTime(of: coordinator.process)
    try await Task.sleep(for: .seconds(2))
    let used = processorTime(of: coordinator.process) - before
    #expect(used < 0.5, "\(used) s of processor in 2 s at the limit of descriptors")
    guard case .pong = try await good.request(.ping) else { throw Trouble("no pong") }
    crowd.removeAll()
    let late = try await eventually("a place for another one") {
      try? await ClusterConnection.connect(to: address)
    }
    guard case .pong = try await late.request(.ping) else { throw Trouble("no pong") }
    await late.close()
    await good.close()
  }
}
