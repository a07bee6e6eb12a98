// Nothing outlives the worker either, however the worker ends (G25, F7). The workers here are
// stand-ins: real processes with a host, a guard and one operation.

import CProcess
import Glibc
import Testing

@testable import OpClusterProcesses

/// A running stand-in; a child of the test that no host of the test knows.
struct StandIn {
  let process: Int32
  let operation: Int32
  let watcher: Int32
  let session: String

  /// The program, which is built beside the tests.
  static func path() throws -> String {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let length = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(
      decoding: buffer.prefix(max(length, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    return String(own.prefix(upTo: try #require(own.lastIndex(of: "/")))) + "/ProcessStandIn"
  }

  init(_ way: Way, _ text: String, mode: String = "work") throws {
    var pipes: [Int32] = [0, 0]
    try #require(unsafe pipe(&pipes) == 0)
    for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let output = Descriptor(pipes[0])
    var arguments = CStringList()
    let words = [try Self.path(), mode, way.rawValue, text]
    for word in words { _ = arguments.append(word) }
    var child: pid_t = 0
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, pipes[1], 1)
    let error = unsafe arguments.withPointers { arguments in
      unsafe posix_spawn(&child, words[0], &actions, nil, arguments, environ)
    }
    unsafe posix_spawn_file_actions_destroy(&actions)
    close(pipes[1])
    try #require(error == 0, "\(words[0]): error \(error)")
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(output.number, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
      line.append(byte)
    }
    let text = String(decoding: line, as: UTF8.self)
    let values = text.split(separator: " ")
    try #require(values.count == 4 && values[0] == "ready", "\(text)")
    process = child
    operation = try #require(Int32(values[1]))
    watcher = try #require(Int32(values[2]))
    session = String(values[3])
  }

  func end(_ signal: Int32) {
    kill(process, signal)
    waitpid(process, nil, 0)
  }
}

/// A tree of five sleeps with the given duration and two shells, most of it far from its parent and
/// without the marks of its environment.
private func tree(_ seconds: String) -> String {
  "env -i setsid sleep \(seconds) & "
    + "(env -i setsid sh -c '(sleep \(seconds) &) ; sleep \(seconds)' &) ; "
    + "nohup sleep \(seconds) >/dev/null 2>&1 & sleep \(seconds)"
}

extension ProcessTests {
  @Suite struct GuardTests {
    @Test(
      "F7: a killed worker leaves nothing", arguments: Way.available,
      [SIGKILL, SIGTERM, SIGHUP])
    func killedWorker(way: Way, signal: Int32) throws {
      let seconds = uniqueSleep()
      // The stand-in's own command line holds the text, too.
      let worker = try StandIn(way, tree(seconds))
      try #require(eventually { living(seconds) == 8 }, "\(living(seconds))")
      worker.end(signal)
      #expect(eventually(within: 60) { living(seconds) == 0 })
      #expect(eventually(within: 10) { ProcessEntry(worker.watcher)?.isZombie ?? true })
      let folder = ProcessFence.groupPrefix("stand-in") + worker.session
      for hierarchy in CgroupHierarchy.legacy() {
        #expect(!namesOfFolder(hierarchy.home).contains(folder))
      }
      let home = CgroupHierarchy.unified()?.home ?? "/"
      #expect(!namesOfFolder(home).contains(folder))
    }

    /// Filters that look at flags hide clone3 from services: operations start by the older call, in
    /// their own groups, and nothing of them is left either.
    @Test(
      "G40: the same where clone3 is hidden", arguments: Way.available, ["hidden", "forbidden"])
    func withoutClone3(way: Way, mode: String) throws {
      let seconds = uniqueSleep()
      let worker = try StandIn(way, tree(seconds), mode: mode)
      try #require(eventually { living(seconds) == 8 }, "\(living(seconds))")
      if way != .walk {
        let file = Descriptor.open("/proc/\(worker.operation)/cgroup", O_RDONLY)
        let groups = String(decoding: file?.read(upTo: 4_096) ?? [], as: UTF8.self)
        #expect(groups.contains(ProcessFence.groupPrefix("stand-in") + worker.session), "\(groups)")
      }
      worker.end(SIGKILL)
      #expect(eventually(within: 10) { living(seconds) == 0 })
    }

    @Test(
      "A worker and its guard both killed: the next run finds the rest", arguments: Way.available)
    func leftovers(way: Way) throws {
      let seconds = uniqueSleep()
      let worker = try StandIn(way, tree(seconds))
      try #require(eventually { living(seconds) == 8 })
      kill(worker.watcher, SIGKILL)
      #expect(eventually { ProcessEntry(worker.watcher)?.isZombie ?? true })
      worker.end(SIGKILL)
      // The kernel itself ends the main process with its parent's thread.
      #expect(eventually { ProcessEntry(worker.operation)?.isZombie ?? true })
      // The rest it leaves to the group, or to the reaper, which needs nobody.
      if way != .walk { #expect(living(seconds) > 0) }
      #expect(
        eventually(within: 10) {
          ProcessHost.removeLeftovers(worker: "stand-in")
          return living(seconds) == 0
        })
    }

    // What a container's end leaves, where nobody of the worker's name comes back.
    @Test(
      "A worker and its guard both killed: any other worker sweeps up",
      arguments: Way.available.filter { $0 != .walk })
    func abandonedGroups(way: Way) throws {
      let (gone, lives) = (uniqueSleep(), uniqueSleep())
      let worker = try StandIn(way, "setsid sleep \(gone) & sleep \(gone)")
      let neighbour = try StandIn(way, "sleep \(lives)")
      defer { neighbour.end(SIGKILL) }
      // A sleep, its shell, and the stand-in, whose own command line holds the text as well.
      try #require(eventually { living(gone) >= 2 && living(lives) == 3 })
      let (before, alive) = (folders(of: worker), living(lives))
      #expect(!before.isEmpty && before.contains { $0.hasSuffix("/exclusive") })
      kill(worker.watcher, SIGKILL)
      #expect(eventually { ProcessEntry(worker.watcher)?.isZombie ?? true })
      ProcessHost.removeAbandonedGroups()
      #expect(folders(of: worker) == before, "its worker lives")
      worker.end(SIGKILL)
      #expect(
        eventually(within: 10) {
          ProcessHost.removeAbandonedGroups()
          return folders(of: worker).isEmpty && living(gone) == 0
        })
      #expect(!folders(of: neighbour).isEmpty)
      #expect(living(lives) == alive)
    }

    private func folders(of worker: StandIn) -> [String] {
      let name = ProcessFence.groupPrefix("stand-in") + worker.session
      let homes = CgroupHierarchy.legacy().map(\.home) + [CgroupHierarchy.unified()?.home ?? "/"]
      return homes.filter { namesOfFolder($0).contains(name) }.flatMap { home in
        ["\(home)/\(name)"]
          + namesOfFolder("\(home)/\(name)").filter { $0 == "exclusive" }.map {
            "\(home)/\(name)/\($0)"
          }
      }
    }

    @Test("The worker sees its guard die and can start another", arguments: Way.available)
    func guardDies(way: Way) throws {
      let bench = try Bench(way)
      let first = try ProcessGuard.start(for: bench.host)
      #expect(first.isAlive)
      // The guard is no orphan: the end of an operation does not take it along.
      #expect(try bench.run(bench.shell("exit 0")).status == .exited(0))
      #expect(first.isAlive)
      // It sheds the worker's name and descriptors, so that it neither dies nor listens for it.
      #expect(eventually { commandLine(first.process).hasPrefix("opcluster-guard") })
      #expect(
        eventually {
          Set(namesOfFolder("/proc/\(first.process)/fd")) == ["0", "1", "2", "3", "4", "5"]
        })
      kill(first.process, SIGTERM)
      #expect(first.isAlive)
      kill(first.process, SIGKILL)
      var request = pollfd(fd: first.descriptor, events: Int16(POLLIN), revents: 0)
      #expect(unsafe poll(&request, 1, 10_000) == 1)
      #expect(!first.isAlive)
      #expect(try bench.run(bench.shell("exit 0")).status == .exited(0))
      #expect(
        eventually {
          _ = bench.host.collectEnded()
          return zombies() == 0
        })
      let second = try ProcessGuard.start(for: bench.host)
      #expect(second.isAlive)
      kill(second.process, SIGKILL)
      request = pollfd(fd: second.descriptor, events: Int16(POLLIN), revents: 0)
      #expect(unsafe poll(&request, 1, 10_000) == 1)
      _ = bench.host.collectEnded()
    }
  }
}
