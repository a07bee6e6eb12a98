// A coordinator in a machine that has less than it would take, or a thread that does not run: it
// says so and goes on (G23, G29). Control groups of the first version do both; as root, and only
// where there are such.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

/// A control group of a test.
private final class TestGroup {
  private static let root = "/sys/fs/cgroup"
  let folder: String

  static func exists(_ controller: String, _ file: String) -> Bool {
    geteuid() == 0 && FileManager.default.fileExists(atPath: "\(root)/\(controller)/\(file)")
  }

  init(_ controller: String) throws {
    let name = "oct-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    folder = "\(Self.root)/\(controller)/\(name)"
    guard unsafe mkdir(folder, 0o755) == 0 else { throw Trouble("no group: errno \(errno)") }
  }

  deinit { _ = unsafe rmdir(folder) }

  /// The kernel wants each value in one piece, and no file in the place of its own.
  func set(_ file: String, _ value: String) throws {
    let descriptor = unsafe open("\(folder)/\(file)", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Trouble("no \(file): errno \(errno)") }
    defer { close(descriptor) }
    let bytes = Array(value.utf8)
    guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw Trouble("\(file) is not \(value): errno \(errno)")
    }
  }
}

@Suite struct MachineLimitTests {
  private static let hasMemory = TestGroup.exists("memory", "memory.limit_in_bytes")
  private static let hasFreezer = TestGroup.exists("freezer", "tasks")

  private func folder() throws -> String {
    let folder = "/tmp/oct-m\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    guard unsafe mkdir(folder, 0o700) == 0 else { throw Trouble("no folder: errno \(errno)") }
    return folder
  }

  private func environment(_ folder: String) -> [String] {
    ["PATH=/usr/bin:/bin", "HOME=\(folder)", "LANG=C.UTF-8"]
  }

  // MARK: - Memory

  /// 192 MiB: submissions are refused before the kernel kills, and it lives on.
  @Test(.enabled(if: hasMemory, "control groups that bound memory"), .timeLimit(.minutes(30)))
  func aSmallMemoryIsNotOverdrawn() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let group = try TestGroup("memory")
    try group.set("memory.limit_in_bytes", "\(192 << 20)")
    let address = "ipc://\(folder)/c"
    let coordinator = try ChildProgram(
      "opcoord", "/bin/sh",
      [
        "-c", "echo $$ > '\(group.folder)/cgroup.procs' && exec \"$0\" \"$@\"",
        try Cluster.executable("opcoord"), "serve", "--until-stdin-closes", "--allow-root",
        "--client", address, "--worker", "ipc://\(folder)/w", "--state", "\(folder)/state",
      ], environment: environment(folder), folder: folder)
    let connection = try await eventually("it serves", details: { coordinator.error }) {
      try? await ClusterConnection.connect(to: address)
    }
    #expect(coordinator.error.contains("192 MiB"), "\(coordinator.error)")
    var accepted = 0
    var isRefused = false
    var reason = ""
    var losses = 0
    while accepted < 400_000, !isRefused {
      var graph = GraphSubmission(name: "g")
      for number in 0..<5_000 {
        graph.templates.append(
          OperationTemplate(name: "o\(number)", work: .call(OperationType(name: "noop"))))
      }
      do {
        // Asked again and again while there is no room, until the time is up.
        _ = try await connection.request(.submit(graph), timeout: .seconds(240))
        accepted += 5_000
      } catch where error.kind == .connectionLost && losses < 10 {
        // Its program is read into this little memory as well: it may be silent for long.
        losses += 1
      } catch {
        isRefused = true
        reason = "\(error)"
      }
    }
    #expect(
      isRefused && accepted >= 20_000,
      "\(accepted) were accepted, then: \(reason) \(coordinator.error.suffix(2_000))")
    #expect(coordinator.end == nil, "the kernel killed it at \(accepted) operations")
    guard case .pong = try await connection.request(.ping) else { throw Trouble("no pong") }
    await connection.close()
    coordinator.signal(SIGTERM)
    #expect(try await coordinator.ended() == 0)
  }

  // MARK: - Threads

  /// The gate's thread is held: the log names it, and says when it is back.
  @Test(
    .enabled(if: hasFreezer, "control groups that hold single threads"), .timeLimit(.minutes(30)))
  func aThreadThatHangsIsNamed() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let coordinator = try ChildProgram(
      "opcoord", try Cluster.executable("opcoord"),
      [
        "serve", "--until-stdin-closes", "--allow-root", "--client", "tcp://127.0.0.1:0",
        "--worker", "tcp://127.0.0.1:0", "--state", "\(folder)/state", "--keys",
        "\(folder)/keys",
      ], environment: environment(folder), folder: folder)
    try await eventually("it serves", details: { coordinator.error }) {
      coordinator.output.contains("opcoord ready")
    }
    let tasks = "/proc/\(coordinator.process)/task"
    let gate = try FileManager.default.contentsOfDirectory(atPath: tasks).first {
      text(of: "\(tasks)/\($0)/comm").hasPrefix("opcluster-gate")
    }
    let group = try TestGroup("freezer")
    try group.set("tasks", try #require(gate))
    try group.set("freezer.state", "FROZEN")
    // What is frozen cannot be killed either.
    defer { try? group.set("freezer.state", "THAWED") }
    try await eventually("the thread is named", details: { coordinator.error }) {
      coordinator.error.contains("a thread hangs: the thread 'opcluster-gate'")
    }
    try group.set("freezer.state", "THAWED")
    try await eventually("it is back", details: { coordinator.error }) {
      coordinator.error.contains("a thread is back: the thread 'opcluster-gate'")
    }
    coordinator.signal(SIGTERM)
    #expect(try await coordinator.ended() == 0)
  }
}
