// Hosts of a cluster on one machine: network namespaces, each joined to the coordinator's by a
// cable of its own (veth) that can be pulled out. Everything vanishes with the mount namespace of
// the command. Any task.

import Glibc
import OpClusterModel
import RealCluster

/// The coordinator on one host, each worker on another.
struct Hosts: Sendable {
  private let name = "of\(String(UInt16.random(in: 0 ... .max), radix: 36))"
  private static let port = 7_421
  var workers = 2

  /// Workers over TCP, with keys, which reach each other through the coordinator's host, where
  /// `opbatch` runs as well; clients reach the coordinator by its socket file.
  func shape(of trial: Trial) throws -> Cluster.Shape {
    var shape = trial.shape(workers: workers)
    shape.workerAddress = "tcp://*:\(Self.port)"
    for program in ["opcoord", "opbatch"] {
      shape.launches[program] = Cluster.Launch(through: entering("c"))
    }
    for number in 1...workers {
      shape.routes["w\(number)"] = "tcp://10.231.\(number).1:\(Self.port)"
      shape.launches["w\(number)"] = Cluster.Launch(through: entering("w\(number)"))
    }
    shape.prepare = { try make(in: $0) }
    shape.cleanUp = { remove(in: $0) }
    return shape
  }

  /// Pulls the cable of a worker out, at its end, or puts it back.
  func connect(_ worker: String, _ isUp: Bool) async throws {
    try await Surroundings.run(
      "ip", "-n", "\(name)\(worker)", "link", "set", "cable", isUp ? "up" : "down", in: "/tmp")
  }

  /// Nobody can connect to a port of a worker any more; it still connects to others.
  ///
  /// - Parameter isSilent: The packets are dropped; else they are refused.
  func close(port: UInt16, of worker: String, isSilent: Bool) async throws {
    try await Surroundings.run(
      "ip", "-n", "\(name)c", "rule", "add", "to", "10.231.\(worker.dropFirst()).2", "ipproto",
      "tcp", "dport", "\(port)", isSilent ? "blackhole" : "prohibit", in: "/tmp")
  }

  /// Without another view of the mounts: the worker needs its cgroups.
  private func entering(_ host: String) -> [String] {
    [Surroundings.program("nsenter") ?? "nsenter", "--net=/run/netns/\(name)\(host)"]
  }

  private func make(in folder: String) throws {
    do {
      // Names of namespaces are files: of this mount namespace only.
      try Surroundings.runNow("mkdir", "-p", "/run/netns", in: folder)
      try Surroundings.runNow("mount", "-t", "tmpfs", "none", "/run/netns", in: folder)
      try ip("netns", "add", "\(name)c", folder)
      // The coordinator proves its gate to itself there.
      try ip("-n", "\(name)c", "link", "set", "lo", "up", folder)
      try Surroundings.runNow(
        ["nsenter"] + entering("c").dropFirst()
          + ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"], in: folder)
      for number in 1...workers {
        let (host, net) = ("\(name)w\(number)", "10.231.\(number)")
        try ip("netns", "add", host, folder)
        try ip(
          "link", "add", "cable", "netns", host, "type", "veth", "peer", "name", "to\(number)",
          "netns", "\(name)c", folder)
        try ip("-n", host, "addr", "add", "\(net).2/24", "dev", "cable", folder)
        try ip("-n", host, "link", "set", "cable", "up", folder)
        try ip("-n", host, "link", "set", "lo", "up", folder)
        try ip("-n", "\(name)c", "addr", "add", "\(net).1/24", "dev", "to\(number)", folder)
        try ip("-n", "\(name)c", "link", "set", "to\(number)", "up", folder)
        try ip("-n", host, "route", "add", "default", "via", "\(net).1", folder)
      }
    } catch let trouble as Trouble {
      throw NotRun(reason: "no network namespaces with veth here: \(trouble)")
    }
  }

  private func ip(_ words: String...) throws {
    try Surroundings.runNow(["ip"] + words.dropLast(), in: words[words.count - 1])
  }

  private func remove(in folder: String) {
    for host in (1...workers).map({ "w\($0)" }) + ["c"] {
      try? ip("netns", "del", "\(name)\(host)", folder)
    }
    _ = unsafe umount2("/run/netns", Int32(MNT_DETACH))
  }
}
