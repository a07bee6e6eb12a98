// What a daemon holds in memory, its keys among it, is neither dumped nor shown to what runs under
// the same user (G39): real daemons, run as an unprivileged user where the tests are root's, since
// nothing can be hidden from root.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite struct SecrecyTests {
  private static let user: uid_t = geteuid() == 0 ? 65_534 : geteuid()

  private static var shape: Cluster.Shape {
    var shape = Cluster.Shape(workers: 1)
    shape.server = user
    let step =
      geteuid() == 0
      ? "exec setpriv --reuid \(user) --regid \(user) --clear-groups" : "exec"
    let launch = Cluster.Launch(
      through: ["/bin/sh", "-c", "ulimit -c unlimited; cd \"$ROOM\"; \(step) \"$0\" \"$@\""],
      variables: ["ROOM={folder}"])
    shape.launches = ["opcoord": launch, "w1": launch]
    shape.prepare = { folder in
      guard unsafe chown(folder, user, user) == 0 else { throw Trouble("chown \(folder)") }
    }
    return shape
  }

  /// Who owns what the kernel shows of a process: root, where it is hidden from its own user.
  private static func owner(_ process: pid_t) -> uid_t? {
    var status = stat()
    return unsafe stat("/proc/\(process)/mem", &status) == 0 ? status.st_uid : nil
  }

  private static func cores(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("core") }
  }

  @Test("G39: no core of a daemon, and no look into it from its operations")
  func hidden() async throws {
    try await Cluster.with(Self.shape) { cluster in
      let scene = try await Scene("hidden", on: cluster)
      for path in [scene.folder, "\(scene.folder)/gates"] {
        #expect(unsafe chown(path, Self.user, Self.user) == 0)
      }
      let members = try await scene.submit { plan in
        try plan.add(
          "look",
          .shell("if cat /proc/$PPID/environ >/dev/null 2>&1; then mark seen; else mark not; fi"))
        try plan.add("stays", .shell("note stays; exec sleep 1000"))
      }
      try await scene.finished(members["look"])
      try await scene.traced("stays", "not")
      let operation = try #require(scene.lines.first { $0.what == "stays" })
      #expect(Self.owner(operation.process) == Self.user, "what is not hidden is its user's")
      for name in ["opcoord", "w1"] {
        let daemon = try #require(cluster.daemon(name))
        #expect(Self.owner(daemon.process) == 0, "\(name)")
      }
      await scene.connection.close()
      for name in ["w1", "opcoord"] {
        cluster.daemon(name)?.signal(SIGSEGV)
        let end = try await cluster.daemon(name)?.ended()
        #expect(end == 128 + SIGSEGV)
        #expect(cluster.daemon(name)?.error.contains("Backtrac") == false)
      }
      #expect(try Self.cores(in: cluster.folder) == [])
      try await Self.showThatCoresAreMade(cluster)
    }
  }

  /// The same room and the same signal, for who does not hide: else the test could not fail.
  private static func showThatCoresAreMade(_ cluster: Cluster) async throws {
    guard
      let pattern = try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8),
      pattern.hasPrefix("core")
    else { return }
    let open = try ChildProgram(
      "open", "/bin/sh",
      ["-c", "ulimit -c unlimited && cd '\(cluster.folder)' && kill -SEGV $$"],
      environment: ["PATH=/usr/bin:/bin"], folder: cluster.folder)
    if try await open.ended() == 128 + SIGSEGV {
      #expect(try cores(in: cluster.folder) != [])
    }
  }
}
