// Exclusive operations live by a lease (G16): the guard kills them when it runs out, whatever the
// worker is doing then, and none begins without it.

import CProcess
import Glibc
import Testing

@testable import OpClusterProcesses

extension Bench {
  fileprivate func exclusive(_ text: String) -> ProcessSpecification {
    var specification = shell(text)
    specification.isExclusive = true
    return specification
  }
}

extension ExclusiveLease {
  fileprivate func set(remaining: Duration) {
    set(until: Self.clock + Int64(remaining / .nanoseconds(1)))
  }
}

/// What tears itself away in every way, its marks left behind.
private func tree(_ seconds: String) -> String {
  "env -i setsid sleep \(seconds) & "
    + "(env -i setsid sh -c '(sleep \(seconds) &) ; sleep \(seconds)' &) ; sleep \(seconds)"
}

extension ProcessTests {
  @Suite struct LeaseTests {
    @Test(
      "G16: the guard kills exclusive trees at the end of the lease, and no others",
      arguments: Way.available)
    func expiry(way: Way) throws {
      let bench = try Bench(way)
      let guardian = try ProcessGuard.start(for: bench.host)
      let lease = try #require(bench.host.lease)
      let (fenced, free) = (uniqueSleep(), uniqueSleep())
      lease.set(remaining: .seconds(60))
      let first = try bench.start(bench.exclusive(tree(fenced)))
      let other = try bench.start(bench.shell(tree(free)))
      try #require(eventually { living(fenced) == 6 && living(free) == 6 })
      #expect(guardian.isAlive)
      let set = ContinuousClock.now
      lease.set(remaining: .milliseconds(300))
      // Nobody turns the host's loop: as if this process were stopped.
      #expect(eventually(within: 60) { living(fenced) == 0 })
      #expect(ContinuousClock.now - set >= .milliseconds(300))
      #expect(living(free) == 6)
      let ended = try bench.end(of: first)
      #expect(ended.status == .signalled(SIGKILL) && ended.wasFenced)
      bench.host.killTree(other)
      #expect(try !bench.end(of: other).wasFenced)
      #expect(guardian.isAlive)
      kill(guardian.process, SIGKILL)
    }

    // The first guard dies under a running lease: the second one takes it over, also where the
    // lease runs out before anybody speaks to it.
    @Test("G16: another guard takes a running lease over", arguments: Way.available)
    func takenOver(way: Way) throws {
      let bench = try Bench(way)
      let first = try ProcessGuard.start(for: bench.host)
      let lease = try #require(bench.host.lease)
      let seconds = uniqueSleep()
      lease.set(remaining: .seconds(60))
      let tree = try bench.start(bench.exclusive(tree(seconds)))
      try #require(eventually { living(seconds) == 6 })
      kill(first.process, SIGKILL)
      #expect(eventually { !first.isAlive })
      // Nobody watches while it is shortened, but reapers where there are some.
      lease.set(remaining: .milliseconds(100))
      usleep(200_000)
      if way != .walk { #expect(living(seconds) == 6) }
      let second = try ProcessGuard.start(for: bench.host)
      #expect(eventually(within: 10) { living(seconds) == 0 })
      #expect(try bench.end(of: tree).wasFenced)
      // And it holds the next lease like the first.
      lease.set(remaining: .seconds(60))
      #expect(try bench.run(bench.exclusive("exit 4")).status == .exited(4))
      #expect(second.isAlive)
      kill(second.process, SIGKILL)
    }

    @Test("G16: none begins without the lease; the next one does with it", arguments: Way.available)
    func starts(way: Way) throws {
      let bench = try Bench(way)
      let guardian = try ProcessGuard.start(for: bench.host)
      let lease = try #require(bench.host.lease)
      #expect(throws: SpawnError.leaseOver) { try bench.start(bench.exclusive("echo begun")) }
      lease.set(remaining: .seconds(60))
      let seconds = uniqueSleep()
      let first = try bench.start(bench.exclusive("sleep \(seconds)"))
      lease.set(remaining: .zero)
      #expect(try bench.end(of: first).wasFenced)
      #expect(throws: SpawnError.leaseOver) { try bench.start(bench.exclusive("echo begun")) }
      // What the guard killed as a whole is not used again: it would kill at birth.
      lease.set(remaining: .seconds(60))
      for _ in 0..<3 {
        let next = try bench.run(bench.exclusive("echo begun"))
        #expect(next.status == .exited(0) && !next.wasFenced)
      }
      #expect(try bench.output() == "begun\n")
      kill(guardian.process, SIGKILL)
    }

    // The guard goes on for several rounds after the last process died, so that many of these find
    // it in the middle of one.
    @Test(
      "G16: a round of killing spares what begins when the lease is back",
      arguments: Way.available)
    func comesBack(way: Way) throws {
      let bench = try Bench(way)
      let guardian = try ProcessGuard.start(for: bench.host)
      let lease = try #require(bench.host.lease)
      for _ in 0..<20 {
        lease.set(remaining: .seconds(60))
        let fenced = try bench.start(bench.exclusive("sleep 60"))
        lease.end()
        #expect(try bench.end(of: fenced).wasFenced)
        lease.set(remaining: .seconds(60))
        let next = try bench.run(bench.exclusive("exit 4"))
        #expect(next.status == .exited(4) && !next.wasFenced, "\(next)")
      }
      kill(guardian.process, SIGKILL)
    }

    // A group that was killed as a whole kills at birth, and the guard need not have seen that the
    // lease was back in between.
    @Test("G16: a lease that came back unseen and ran out again", arguments: Way.available)
    func runsOutUnseen(way: Way) throws {
      let bench = try Bench(way)
      let guardian = try ProcessGuard.start(for: bench.host)
      let lease = try #require(bench.host.lease)
      var second: ProcessReference?
      try #require(
        try eventually {
          lease.set(remaining: .seconds(60))
          let first = try bench.start(bench.exclusive("sleep 60"))
          lease.end()
          // Before it sees that nothing is left; in the middle of a round it lets nothing begin.
          eventually { ProcessEntry(first.process)?.isZombie ?? true }
          kill(guardian.process, SIGSTOP)
          eventually { isStopped(guardian.process) }
          #expect(try bench.end(of: first).wasFenced)
          lease.set(remaining: .seconds(60))
          if (try? bench.run(bench.exclusive("exit 4")))?.status == .exited(4) {
            second = try? bench.start(bench.exclusive("sleep 60"))
          }
          lease.end()
          kill(guardian.process, SIGCONT)
          return second != nil
        })
      #expect(try bench.end(of: #require(second)).wasFenced)
      lease.set(remaining: .seconds(60))
      let next = try bench.run(bench.exclusive("exit 4"))
      #expect(next.status == .exited(4) && !next.wasFenced, "\(next)")
      kill(guardian.process, SIGKILL)
    }

    @Test("G16: a lease that is prolonged in time kills nobody", arguments: Way.available)
    func prolonged(way: Way) throws {
      let bench = try Bench(way)
      let guardian = try ProcessGuard.start(for: bench.host)
      let lease = try #require(bench.host.lease)
      lease.set(remaining: .milliseconds(800))
      let reference = try bench.start(bench.exclusive("sleep 2; exit 5"))
      var ended: EndedProcess?
      eventually {
        lease.set(remaining: .milliseconds(800))
        ended = bench.host.collectEnded().first { $0.reference == reference } ?? ended
        return ended != nil
      }
      #expect(ended?.status == .exited(5) && ended?.wasFenced == false)
      kill(guardian.process, SIGKILL)
    }

    @Test(
      "G16: the guard of a stopped worker kills at the end of the lease", arguments: Way.available)
    func stoppedWorker(way: Way) throws {
      let seconds = uniqueSleep()
      let worker = try StandIn(way, tree(seconds), mode: "lease")
      try #require(eventually { living(seconds) == 7 }, "\(living(seconds))")
      kill(worker.process, SIGSTOP)
      // Six of the tree; the stand-in's own command line holds the text as well.
      #expect(eventually(within: 10) { living(seconds) == 1 })
      kill(worker.process, SIGCONT)
      worker.end(SIGKILL)
      #expect(eventually(within: 10) { ProcessEntry(worker.watcher)?.isZombie ?? true })
    }
  }
}
