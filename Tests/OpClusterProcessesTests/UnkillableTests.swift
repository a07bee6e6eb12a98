// What KILL does not end. A frozen cgroup of version 1 is as good as a disk that does not answer:
// the kernel says D of its processes, and KILL waits until they are thawed.

import Glibc
import Testing

@testable import OpClusterProcesses

/// A cgroup in which processes stop for good, until they are let go.
final class Freezer {
  private static let home = "/sys/fs/cgroup/freezer"
  private let path: String

  static let isAvailable = geteuid() == 0 && Descriptor.open(home + "/tasks", O_WRONLY) != nil

  init() throws {
    path = Self.home + "/opcluster-test-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    try #require(unsafe mkdir(path, 0o700) == 0)
  }

  deinit {
    thaw()
    eventually { unsafe rmdir(path) == 0 }
  }

  /// Takes processes in and stops them.
  func freeze(_ processes: [Int32]) throws {
    for process in processes { try write("\(process)", to: "cgroup.procs") }
    try write("FROZEN", to: "freezer.state")
    try #require(
      eventually {
        let file = Descriptor.open(path + "/freezer.state", O_RDONLY)
        return file?.read(upTo: 16) == Array("FROZEN\n".utf8)
      })
  }

  func thaw() { try? write("THAWED", to: "freezer.state") }

  private func write(_ text: String, to name: String) throws {
    let file = Descriptor.open(path + "/" + name, O_WRONLY)
    try #require(file?.write(Array(text.utf8)) == true, "\(name)")
  }
}

extension ProcessTests {
  @Suite(.enabled(if: Freezer.isAvailable, "takes root and a freezer of cgroup version 1"))
  struct UnkillableTests {
    private static let ways = Way.available.filter { $0 != .legacy }

    /// Collects until the host tells of a tree's survival; ends that come meanwhile are kept.
    private func next(
      of bench: Bench, _ ended: inout [EndedProcess]
    ) throws -> Survival {
      var found: [Survival] = []
      eventually(within: 60) {
        ended += bench.host.collectEnded()
        found += bench.host.takeSurvivals()
        return !found.isEmpty
      }
      return try #require(found.first)
    }

    @Test(
      "A main process that KILL does not end is told as such, and its end when it comes",
      arguments: ways)
    func mainProcess(way: Way) throws {
      let bench = try Bench(way)
      bench.host.patience = .milliseconds(100)
      let freezer = try Freezer()
      let tree = try bench.start(bench.shell("echo up; exec sleep \(uniqueSleep())"))
      try bench.waitForOutput("up")
      try freezer.freeze([tree.process])
      bench.host.killTree(tree)
      var ended: [EndedProcess] = []
      let first = try next(of: bench, &ended)
      #expect(first == .found(tree))
      #expect(ended == [] && bench.host.count == 1)
      freezer.thaw()
      let second = try next(of: bench, &ended)
      #expect(second == .gone(tree))
      #expect(ended.map(\.status) == [.signalled(SIGKILL)])
      #expect(ended.map(\.leftSomethingBehind) == [false] && bench.host.count == 0)
    }

    @Test("What a main process left and KILL does not end is told with its end", arguments: ways)
    func leftBehind(way: Way) throws {
      let bench = try Bench(way)
      bench.host.patience = .milliseconds(100)
      let freezer = try Freezer()
      let tree = try bench.start(
        bench.shell("sleep \(uniqueSleep()) & echo $! up; while ! test -e go; do sleep 0.01; done"))
      try bench.waitForOutput("up")
      let child = try #require(Int32(try bench.output().split(separator: " ")[0]))
      try freezer.freeze([child])
      try makeExecutable(bench.folder + "/go", [])
      var ended: [EndedProcess] = []
      let first = try next(of: bench, &ended)
      #expect(first == .found(tree))
      #expect(ended.map(\.status) == [.exited(0)])
      #expect(ended.map(\.leftSomethingBehind) == [true])
      // Its number is not given to another meanwhile.
      #expect(bench.host.count == 1)
      #expect(throws: SpawnError.tokenInUse(tree.token)) {
        try bench.host.start(bench.shell("true"), token: tree.token)
      }
      freezer.thaw()
      let second = try next(of: bench, &ended)
      #expect(second == .gone(tree))
      #expect(ended.count == 1 && bench.host.count == 0)
    }
  }
}
