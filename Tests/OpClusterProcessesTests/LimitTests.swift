// What a tree may use: memory and processes, bounded by the kernel and told apart from other ends
// (G40, F15).

import Glibc
import Testing

@testable import OpClusterProcesses

/// Starts copies of itself without end; none of them does anything else.
private let bomb = "bomb() { bomb | bomb & }; bomb; sleep 2; exit 0"

extension ProcessTests {
  @Suite(
    .disabled(
      if: Way.bounded.isEmpty,
      "this machine has no cgroup hierarchy with memory and pids that can be written"))
  struct LimitTests {
    @Test("F15: a fork bomb meets its limit, its neighbours do not", arguments: Way.bounded)
    func forkBomb(way: Way) throws {
      let bench = try Bench(way)
      let seconds = uniqueSleep()
      let neighbour = try bench.start(bench.shell("sleep \(seconds) & sleep \(seconds)"))
      try #require(eventually { living(seconds) >= 2 })
      var specification = bench.shell(bomb)
      specification.processLimit = 40
      specification.error = .discard
      let started = ContinuousClock.now
      let reference = try bench.start(specification)
      let ended = try bench.end(of: reference)
      #expect(ended.refusedProcesses > 0 && ended.memoryKills == 0)
      #expect(!ended.leftSomethingBehind)
      #expect(ContinuousClock.now - started < .seconds(20))
      #expect(kill(neighbour.process, 0) == 0 && living(seconds) >= 2)
      // The group is used again, and remembers nothing.
      specification.command = .arguments(["/bin/true"])
      let next = try bench.run(specification)
      #expect(next.status == .exited(0) && next.refusedProcesses == 0)
      bench.host.killTree(neighbour)
      _ = try bench.end(of: neighbour)
    }

    @Test("Too much memory is told from other deaths", arguments: Way.bounded)
    func outOfMemory(way: Way) throws {
      let bench = try Bench(way)
      var specification = bench.command([
        "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1", "status=none",
      ])
      specification.memoryLimit = 64 << 20
      let killed = try bench.run(specification)
      #expect(killed.status == .signalled(SIGKILL) && killed.memoryKills == 1)
      // A child of the main process that is killed counts as well.
      specification.command = .arguments([
        "/bin/sh", "-c", "dd if=/dev/zero of=/dev/null bs=200M count=1 status=none; exit 3",
      ])
      #expect(try bench.run(specification).memoryKills >= 1)
      specification.command = .arguments(["/bin/sh", "-c", "kill -KILL $$"])
      let other = try bench.run(specification)
      #expect(other.status == .signalled(SIGKILL) && other.memoryKills == 0)
      // The next one in the group has the limit that it asks for: none.
      specification.memoryLimit = nil
      specification.command = .arguments([
        "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1", "status=none",
      ])
      #expect(try bench.run(specification).status == .exited(0))
    }

    @Test("Limits reach what leaves its session and its parent", arguments: Way.bounded)
    func escapees(way: Way) throws {
      let bench = try Bench(way)
      var specification = bench.shell(
        "(setsid sh -c 'dd if=/dev/zero of=/dev/null bs=200M count=1 status=none' &) ; sleep 2")
      specification.memoryLimit = 64 << 20
      #expect(try bench.run(specification).memoryKills >= 1)
    }
  }
}
