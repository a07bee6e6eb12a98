// A coordinator with few descriptors and many connections: it does not turn in circles, says why it
// turns people away, serves those who were there, and takes new ones when others have left
// (A7, G30).

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite struct DescriptorLimitTests {
  /// Processor time of a process so far, in seconds.
  private func processorTime(of process: pid_t) -> Double {
    let fields = text(of: "/proc/\(process)/stat").split(separator: ")").last?.split(
      separator: " ")
    guard let fields, fields.count > 12, let user = Double(fields[11]),
      let system = Double(fields[12])
    else { return .infinity }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  @Test(.timeLimit(.minutes(2))) func manyConnectionsAtTheLimit() async throws {
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
