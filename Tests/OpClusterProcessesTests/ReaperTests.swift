// What an operation does to the reaper above it holds up neither its start nor its end, nor the
// worker (G20, G25): it may signal the reaper as it may signal whatever runs as its account.

import CProcess
import Glibc
import Testing

@testable import OpClusterProcesses

/// A program of a few system calls without a loader, so that its first act comes as soon as the
/// kernel allows: sends the signal to its parent and exits with 7.
private func attackOnParent(_ signal: Int32) -> [UInt8] {
  #if arch(x86_64)
    let machine: UInt16 = 62
    // getppid; kill(it, signal); exit_group(7)
    let code: [UInt8] = [
      0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0x89, 0xc7, 0xbe, UInt8(signal), 0, 0, 0, 0xb8, 62, 0, 0, 0,
      0x0f, 0x05, 0xbf, 7, 0, 0, 0, 0xb8, 231, 0, 0, 0, 0x0f, 0x05,
    ]
  #else
    let machine: UInt16 = 183
    let words: [UInt32] = [
      0xd280_15a8, 0xd400_0001, 0xd280_0001 | UInt32(signal) << 5, 0xd280_1028, 0xd400_0001,
      0xd280_00e0, 0xd280_0bc8, 0xd400_0001,
    ]
    let code = words.flatMap { littleEndian($0) }
  #endif
  let (base, headers): (UInt64, UInt64) = (0x40_0000, 64 + 56)
  var file: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1] + Array(repeating: 0, count: 9)
  // The header of the file: an executable, its entry, one segment.
  file += littleEndian(UInt16(2)) + littleEndian(machine) + littleEndian(UInt32(1))
  file += littleEndian(base + headers) + littleEndian(UInt64(64)) + littleEndian(UInt64(0))
  file += littleEndian(UInt32(0)) + [UInt16(64), 56, 1, 0, 0, 0].flatMap { littleEndian($0) }
  // The segment: all of the file, to read and to execute.
  let size = headers + UInt64(code.count)
  file += littleEndian(UInt32(1)) + littleEndian(UInt32(5))
  file += [0, base, base, size, size, 0x1000].flatMap { littleEndian($0) }
  return file + code
}

private func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
  unsafe withUnsafeBytes(of: number.littleEndian) { unsafe Array($0) }
}

extension ProcessTests {
  @Suite struct ReaperTests {
    /// Many at once: who is stopped is woken at the next tick of the host, which all share.
    private static let count = 200

    /// Starts the program many times and returns how each ended.
    private func attack(_ signal: Int32) throws -> [EndedProcess] {
      let bench = try Bench(.walk)
      try makeExecutable(bench.folder + "/attack", attackOnParent(signal))
      var specification = bench.command([bench.folder + "/attack"])
      specification.output = .discard
      for _ in 0..<Self.count { _ = try bench.start(specification) }
      var ended: [EndedProcess] = []
      eventually(within: 60) {
        var request = pollfd(fd: bench.host.descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&request, 1, 20)
        ended += bench.host.collectEnded()
        return ended.count == Self.count
      }
      try #require(ended.count == Self.count && bench.host.count == 0, "\(ended.count)")
      return ended
    }

    @Test("G20: an operation whose first act is to stop its reaper starts and ends")
    func stopsAtOnce() throws {
      let ended = try attack(SIGSTOP)
      #expect(ended.allSatisfy { $0.status == .exited(7) && !$0.leftSomethingBehind })
    }

    @Test("G25: an operation whose first act is to kill its reaper has started, and ends")
    func killsAtOnce() throws {
      let ended = try attack(SIGKILL)
      #expect(ended.allSatisfy { $0.status == .signalled(SIGKILL) && !$0.leftSomethingBehind })
    }

    @Test("G20: a reaper that is stopped again and again does not hold up a kill")
    func stopsWhileItIsKilled() throws {
      let bench = try Bench(.walk)
      let seconds = uniqueSleep()
      let flood = "while :; do kill -STOP $PPID; done"
      let reference = try bench.start(
        bench.shell("(env -i setsid sleep \(seconds) &) ; (\(flood)) & echo up; \(flood)"))
      try bench.waitForOutput("up")
      bench.host.killTree(reference)
      let ended = try bench.end(of: reference)
      #expect(ended.status == .signalled(SIGKILL) && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0)
    }

    @Test("G20: what goes on stopping the reaper ends with the main process, whose status counts")
    func stopsPastTheEnd() throws {
      let bench = try Bench(.walk)
      let seconds = uniqueSleep()
      let flood = "while :; do kill -STOP $PPID; done; sleep \(seconds)"
      let ended = try bench.run(bench.shell("(\(flood)) & (\(flood)) & sleep 0.1; exit 3"))
      #expect(ended.status == .exited(3) && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0)
    }

    @Test(
      "G20: a stopped reaper is woken for its work, and given up when that has not helped",
      arguments: [(0, EndedProcess.Status.exited(5)), (ProcessHost.stopLimit - 1, .signalled(9))])
    func givenUp(stops: Int, status: EndedProcess.Status) throws {
      let bench = try Bench(.walk)
      let seconds = uniqueSleep()
      let reference = try bench.start(
        bench.shell("(env -i setsid sleep \(seconds) &) ; kill -STOP $PPID; exit 5"))
      let process = try #require(bench.host.running[reference.token])
      // The reaper as well: on a busy machine it stops some time after the signal, and one that is
      // killed before never was.
      try #require(
        eventually {
          ProcessEntry(reference.process).map { $0.isZombie && isStopped($0.parent) } == true
        })
      process.stops = stops
      bench.host.killTree(reference)
      let ended = try bench.end(of: reference)
      #expect(ended.status == status && !ended.leftSomethingBehind)
      #expect(living(seconds) == 0)
    }

    @Test("G20: a reaper that somebody else goes on stopping ends its tree")
    func stoppedByOthers() throws {
      let bench = try Bench(.walk)
      let seconds = uniqueSleep()
      let victim = try bench.start(bench.shell("(env -i setsid sleep \(seconds) &) ; sleep 1000"))
      // The sleep, and the shell whose text names it.
      try #require(eventually { living(seconds) == 2 })
      let reaper = try #require(ProcessEntry(victim.process)?.parent)
      let process = try #require(bench.host.running[victim.token])
      let pinned = op_process_descriptor(reaper)
      try #require(pinned >= 0)
      defer { close(pinned) }
      // As fast as the kernel takes it, until the reaper has been waited for.
      var attacker = pthread_t()
      let attack: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { raw in
        while op_process_signal(Int32(Int(bitPattern: raw)), SIGSTOP) == 0 {}
        return nil
      }
      let number = unsafe UnsafeMutableRawPointer(bitPattern: Int(pinned))
      try #require(unsafe pthread_create(&attacker, nil, attack, number) == 0)
      eventually { isStopped(reaper) }
      bench.host.killTree(victim)
      #expect(try bench.end(of: victim).status == .signalled(SIGKILL))
      pthread_join(attacker, nil)
      #expect(process.stops > 0 && living(seconds) == 0)
    }

    @Test("G25: a reaper that is stopped when its worker is killed ends its tree")
    func stoppedBeforeTheWorkerEnds() throws {
      let seconds = uniqueSleep()
      let worker = try StandIn(
        .walk, "(env -i setsid sleep \(seconds) &) ; kill -STOP $PPID; sleep \(seconds)",
        mode: "work")
      let reaper = try #require(ProcessEntry(worker.operation)?.parent)
      // Two sleeps, the shell, and the stand-in, whose own command line holds the text as well.
      try #require(eventually { living(seconds) == 4 && isStopped(reaper) })
      worker.end(SIGKILL)
      #expect(eventually(within: 10) { living(seconds) == 0 })
    }
  }
}
