// Nothing of an operation outlives it: cancels, normal ends and orphans, found through a cgroup
// and through the process table alike (G20, G25, F16, F17, F20).

import Glibc
import Testing

@testable import OpClusterProcesses

/// Children that leave the group, the session, the parent and the environment with its marks:
/// started in the background by setsid, as an orphan of an orphan, and deaf to SIGHUP.
private func escapees(_ seconds: String) -> String {
  "env -i setsid sleep \(seconds) & "
    + "(env -i setsid sh -c '(sleep \(seconds) &) ; sleep \(seconds)' &) ; "
    + "nohup sleep \(seconds) >/dev/null 2>&1 & "
}

extension ProcessTests {
  @Suite struct TreeTests {
    @Test("G20: TERM reaches a process that handles it", arguments: Way.available)
    func graceful(way: Way) throws {
      let bench = try Bench(way)
      let reference = try bench.start(
        bench.shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"))
      try bench.waitForOutput("up")
      #expect(bench.host.signalTree(reference, SIGTERM) >= 1)
      #expect(try bench.end(of: reference).status == .exited(7))
      #expect(bench.host.signalTree(reference, SIGTERM) == 0)
    }

    @Test("F17: what ignores TERM is killed", arguments: Way.available)
    func deaf(way: Way) throws {
      let bench = try Bench(way)
      let reference = try bench.start(
        bench.shell("trap '' TERM; echo up; while :; do sleep 1000; done"))
      try bench.waitForOutput("up")
      bench.host.signalTree(reference, SIGTERM)
      #expect(bench.host.collectEnded().isEmpty)
      #expect(kill(reference.process, 0) == 0)
      bench.host.killTree(reference)
      #expect(try bench.end(of: reference).status == .signalled(SIGKILL))
    }

    @Test("TERM wakes what is stopped", arguments: Way.available)
    func stopped(way: Way) throws {
      let bench = try Bench(way)
      let reference = try bench.start(bench.shell("echo up; kill -STOP $$"))
      try bench.waitForOutput("up")
      bench.host.signalTree(reference, SIGTERM)
      #expect(try bench.end(of: reference).status == .signalled(SIGTERM))
    }

    @Test("F16: a cancel takes setsid, double-forked and nohup children", arguments: Way.available)
    func cancel(way: Way) throws {
      let bench = try Bench(way)
      let seconds = uniqueSleep()
      let reference = try bench.start(bench.shell(escapees(seconds) + "sleep \(seconds)"))
      // Five sleeps and the two shells whose text names them.
      try #require(eventually { living(seconds) == 7 }, "\(living(seconds))")
      bench.host.killTree(reference)
      let ended = try bench.end(of: reference)
      #expect(ended.status == .signalled(SIGKILL) && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0)
      #expect(
        eventually {
          _ = bench.host.collectEnded()
          return zombies() == 0
        })
    }

    @Test("G20: TERM goes to the whole tree", arguments: Way.available)
    func signalAll(way: Way) throws {
      let bench = try Bench(way)
      let seconds = uniqueSleep()
      let reference = try bench.start(bench.shell(escapees(seconds) + "sleep \(seconds)"))
      // The subshells between have gone when seven are left.
      try #require(
        eventually { living(seconds) == 7 && bench.host.signalTree(reference, SIGCONT) == 7 })
      #expect(bench.host.signalTree(reference, SIGTERM) == 7)
      #expect(try bench.end(of: reference).status == .signalled(SIGTERM))
      #expect(living(seconds) == 0)
    }

    @Test("A normal end takes what the operation left", arguments: Way.available)
    func normalEnd(way: Way) throws {
      let bench = try Bench(way)
      let seconds = uniqueSleep()
      let reference = try bench.start(
        bench.shell(escapees(seconds) + "echo up; read line; exit 4"))
      let ended = try bench.end(of: reference)
      #expect(ended.status == .exited(4) && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0)
    }

    @Test(
      "An orphan that sheds mark, session and group ends with its tree, whatever else runs",
      arguments: Way.available)
    func shed(way: Way) throws {
      let bench = try Bench(way)
      let (seconds, others) = (uniqueSleep(), uniqueSleep())
      let other = try bench.start(
        bench.shell("(env -i setsid sleep \(others) &) ; sleep \(others)"))
      try #require(eventually { living(others) == 3 })
      let ended = try bench.run(bench.shell("(env -i setsid sleep \(seconds) &) ; sleep 0.2"))
      #expect(ended.status == .exited(0) && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0 && living(others) == 3)
      bench.host.killTree(other)
      #expect(try bench.end(of: other).status == .signalled(SIGKILL))
      #expect(living(others) == 0)
    }

    @Test("What kills its reaper ends with it, also what has shed every mark")
    func reaperKilled() throws {
      let bench = try Bench(.walk)
      let (seconds, others) = (uniqueSleep(), uniqueSleep())
      let other = try bench.start(bench.shell("sleep \(others)"))
      let ended = try bench.run(
        bench.shell(
          "(env -i setsid sleep \(seconds) &) ; sleep 0.2; kill -9 $PPID; sleep \(seconds)"))
      #expect(ended.status == .signalled(SIGKILL) && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0 && living(others) == 2)
      // One that is only stopped is woken to do its work.
      let stopped = try bench.start(bench.shell("kill -STOP $PPID; echo up; sleep \(seconds)"))
      try bench.waitForOutput("up")
      bench.host.killTree(stopped)
      #expect(try bench.end(of: stopped).status == .signalled(SIGKILL))
      bench.host.killTree(other)
      _ = try bench.end(of: other)
    }

    @Test(
      "Chains of processes that each start the next and end are caught", arguments: Way.available)
    func chains(way: Way) throws {
      let bench = try Bench(way)
      let path = bench.folder + "/chain-\(uniqueSleep())"
      // As many as there are stay: each starts one and ends.
      try makeExecutable(path, Array("#!/bin/sh\nenv -i setsid \"$0\" &\n".utf8))
      let many = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do \(path); done"
      let reference = try bench.start(bench.shell("\(many); echo up; sleep 0.3; exit 3"))
      let ended = try bench.end(of: reference)
      #expect(ended.status == .exited(3) && !ended.leftSomethingBehind)
      #expect(living(path) == 0)
    }

    @Test("The end of one tree leaves another's orphans alone", arguments: Way.available)
    func neighbours(way: Way) throws {
      let bench = try Bench(way)
      let (first, second) = (uniqueSleep(), uniqueSleep())
      let one = try bench.start(bench.shell("(setsid sleep \(first) &) ; sleep \(first)"))
      let two = try bench.start(bench.shell("(setsid sleep \(second) &) ; sleep \(second)"))
      try #require(eventually { living(first) == 3 && living(second) == 3 })
      bench.host.killTree(one)
      _ = try bench.end(of: one)
      #expect(living(first) == 0 && living(second) == 3)
      bench.host.killTree(two)
      _ = try bench.end(of: two)
      #expect(living(second) == 0)
    }

    @Test("Processes that fork while they are killed are all killed", arguments: Way.available)
    func racingForks(way: Way) throws {
      let bench = try Bench(way)
      let mark = "race-\(uniqueSleep())"
      // Each lives long enough that there are many, also where forking gets little of a processor.
      let text = "f() { while :; do (setsid sh -c 'sleep 0.1' \(mark) &) ; done; }; f & f & wait"
      let reference = try bench.start(bench.shell("echo up; " + text))
      try #require(eventually { living(mark) > 10 })
      bench.host.killTree(reference)
      #expect(try bench.end(of: reference).status == .signalled(SIGKILL))
      #expect(living(mark) == 0)
    }

    @Test("F20: 2,000 orphans that end at random leave no zombie", arguments: Way.available)
    func orphanStorm(way: Way) throws {
      let bench = try Bench(way)
      let ended = try bench.run(
        bench.shell("i=0; while [ $i -lt 2000 ]; do (setsid true &) ; i=$((i+1)); done"))
      #expect(ended.status == .exited(0))
      #expect(
        eventually {
          _ = bench.host.collectEnded()
          return zombies() == 0
        })
      // Numbers were used up; a later operation is still itself.
      #expect(try bench.run(bench.shell("exit 9")).status == .exited(9))
    }

    @Test("Many at once, each with its own end", arguments: Way.available)
    func many(way: Way) throws {
      let bench = try Bench(way)
      var waiting: [UInt64: Int32] = [:]
      for number in 0..<100 {
        var specification = bench.shell("exit \(number)")
        specification.output = .discard
        let reference = try bench.start(specification)
        waiting[reference.token] = Int32(number)
      }
      eventually {
        for ended in bench.host.collectEnded() {
          let code = waiting.removeValue(forKey: ended.reference.token)
          #expect(code.map { ended.status == .exited($0) } == true)
        }
        return waiting.isEmpty
      }
      #expect(waiting.isEmpty && bench.host.count == 0)
    }

    @Test("The host's own end ends everything and removes its groups", arguments: Way.available)
    func hostEnd(way: Way) throws {
      let seconds = uniqueSleep()
      var path: String?
      do {
        let bench = try Bench(way)
        path = bench.host.groups?.path
        _ = try bench.start(bench.shell(escapees(seconds) + "sleep \(seconds)"))
        try #require(eventually { living(seconds) == 7 })
      }
      #expect(living(seconds) == 0)
      if let path { #expect(unsafe access(path, F_OK) != 0) }
    }

    @Test("G26: memory and processor time are those of the operation", arguments: Way.available)
    func usage(way: Way) throws {
      let bench = try Bench(way)
      var specification = bench.command(
        ["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=250M", "count=1", "status=none"])
      let large = try bench.run(specification)
      let expected = UInt64(250 << 20)
      let peak = large.peakMemory.measured ?? 0
      #expect(large.peakMemory == .exactly(peak))
      #expect((expected..<expected + 20 << 20).contains(peak))
      specification.command = .arguments(["/bin/true"])
      // Less than the worker's own peak cannot be told, and is not claimed.
      for _ in 0..<20 {
        let small = try bench.run(specification).peakMemory
        #expect(small.measured ?? 0 < 8 << 20, "\(small)")
      }
      // Where a cgroup bounds memory, it counts it as well, for each user of the group anew.
      specification.memoryLimit = 600 << 20
      if bench.host.limitsMemory {
        let together = try bench.run(specification).peakMemory
        guard case .together(let bytes) = together else {
          Issue.record("nobody counted: \(together)")
          return
        }
        #expect((1..<8 << 20).contains(bytes))
      }
      specification.memoryLimit = nil
      specification.command = .arguments(
        ["/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])
      let busy = try bench.run(specification)
      #expect(busy.userTime + busy.systemTime > .milliseconds(20))
      #expect(busy.userTime + busy.systemTime < .seconds(20))
    }
  }
}
