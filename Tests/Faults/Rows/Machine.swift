// A machine of its own on this one: its files under a layer that is thrown away, systemd as the
// first process, OpCluster installed by `deploy/install`. Any task.

import FoundationEssentials
import Glibc
import RealCluster

final class Machine: Sendable {
  private let launch: ChildProgram
  private let first: pid_t
  private let folder: String

  /// The repository that this program was built from.
  private static let source = String(#filePath.dropLast("/Tests/Faults/Rows/Machine.swift".count))

  /// Boots it and waits until its services could be started.
  init() async throws {
    // Two systemds in one tree of cgroups take each other's folders away.
    guard !FileManager.default.fileExists(atPath: "/run/systemd/system") else {
      throw NotRun(reason: "this machine's own systemd has the cgroups")
    }
    guard FileManager.default.isExecutableFile(atPath: "/lib/systemd/systemd"),
      let unshare = Surroundings.program("unshare")
    else { throw NotRun(reason: "there is no systemd here") }
    let folder = "/tmp/oct-machine-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let programs = String(try Cluster.executable("opcoord").dropLast("/opcoord".count))
    let launch = try ChildProgram(
      "machine", unshare,
      [
        "--mount", "--pid", "--uts", "--ipc", "--net", "--fork", "--kill-child", "--propagation",
        "private",
        "/bin/sh", "\(Self.source)/Tests/Faults/Units/boot.sh", Self.source, programs,
      ], environment: Self.environment, folder: folder, input: "/dev/null")
    self.folder = folder
    self.launch = launch
    first = try await eventually("there is a first process", details: { launch.error }) {
      if let end = launch.end { throw Trouble("the machine ended with \(end): \(launch.error)") }
      let children = "/proc/\(launch.process)/task/\(launch.process)/children"
      return text(of: children).split(separator: " ").first.flatMap { pid_t($0) }
    }
    try await eventually("it has booted", details: { launch.error }) {
      let state = try? await say("systemctl is-system-running || true")
      return state == "running" || state == "degraded"
    }
  }

  private static let environment = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
    "LANG=C.UTF-8",
  ]

  /// Runs a text of the shell in it; answers what it wrote to its standard output, without the last
  /// line breaks. Throws when it fails, with what it wrote to both streams.
  @discardableResult
  func say(_ text: String, within limit: Duration = .seconds(120)) async throws -> String {
    guard let enter = Surroundings.program("nsenter") else {
      throw NotRun(reason: "there is no nsenter")
    }
    let words = ["-t", "\(first)", "-m", "-p", "-u", "-i", "-n", "-r", "-w", "/bin/sh", "-c", text]
    let command = try ChildProgram(
      "said-\(UInt32.random(in: 0 ... .max))", enter, words, environment: Self.environment,
      folder: folder, input: "/dev/null")
    let status = try await command.ended(within: limit)
    let output = command.output
    guard status == 0 else {
      throw Trouble("'\(text)' ended with \(status): \(output)\(command.error)")
    }
    return String(output.trimmingPrefix { $0 == "\n" }.reversed().trimmingPrefix("\n").reversed())
  }

  /// A property of a unit, such as `ActiveState`.
  func property(_ name: String, of unit: String) async throws -> String {
    try await say("systemctl show \(unit) -p \(name) --value")
  }

  /// Ends it with everything in it, and removes the folders that it left among the cgroups.
  func end() async {
    kill(first, SIGKILL)
    _ = try? await launch.ended()
    for tree in (try? FileManager.default.contentsOfDirectory(atPath: "/sys/fs/cgroup")) ?? [] {
      for name in ["init.scope", "system.slice", "user.slice"] {
        let path = "/sys/fs/cgroup/\(tree)/\(name)"
        guard FileManager.default.fileExists(atPath: path) else { continue }
        try? await Surroundings.run(
          "find", path, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";", in: folder)
      }
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}
