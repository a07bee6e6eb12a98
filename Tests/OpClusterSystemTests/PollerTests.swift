// The poller of descriptors: keeps deadlines, tells items apart, and is not ended by signals.

import Citations
import Glibc
import Synchronization
import Testing

@testable import OpClusterSystem

@Suite struct PollerTests {
  @Test func deadlines() throws {
    let mailbox = try Mailbox<Int>(capacity: 1)
    var poller = Poller()
    _ = poller.add(descriptor: mailbox.descriptor)
    for length in [5_000_000, -1_000_000_000] as [Int64] {
      let start = MonotonicClock.now()
      #expect(try poller.wait(until: start + length) == 0)
      let elapsed = MonotonicClock.now() - start
      #expect(elapsed >= length)
      #expect(elapsed < patience)
    }
  }

  @Test func tellsItemsApart() throws {
    let mailbox = try Mailbox<Int>(capacity: 1)
    var ends: [Int32] = [0, 0]
    #expect(unsafe pipe(&ends) == 0)
    var poller = Poller()
    let mail = poller.add(descriptor: mailbox.descriptor)
    let writer = poller.add(descriptor: ends[1], for: [])
    #expect(try poller.wait(until: 0) == 0)
    poller.change(writer, to: .writable)
    #expect(try poller.wait(until: nil) == 1)
    #expect(poller.readiness(of: mail) == [])
    #expect(poller.readiness(of: writer) == .writable)
    #expect(mailbox.post(1) == .posted)
    #expect(try poller.wait(until: nil) == 2)
    #expect(poller.readiness(of: mail) == .readable)
    close(ends[0])
    #expect(try poller.wait(until: nil) == 2)
    #expect(poller.readiness(of: writer).contains(.failed))
    poller.forget(writer)
    #expect(try poller.wait(until: nil) == 1)
    close(ends[1])
    poller.removeAll()
    #expect(try poller.wait(until: 0) == 0)
  }

  // Signals interrupt the sleep, not the wait.
  @Test(.checks("A14")) func interrupted() throws {
    signal(SIGUSR2) { _ in }
    let isOver = Atomic<Bool>(false)
    let shared = Shared(isOver: isOver)
    let thread = try startThread(name: "sleeper") {
      do {
        var poller = Poller()
        let start = MonotonicClock.now()
        #expect(try poller.wait(until: start + 200_000_000) == 0)
        #expect(MonotonicClock.now() - start >= 200_000_000)
      } catch {
        Issue.record(error)
      }
      shared.isOver.store(true, ordering: .releasing)
    }
    try eventually("the end of the sleep") {
      pthread_kill(thread.thread, SIGUSR2)
      return shared.isOver.load(ordering: .acquiring)
    }
    thread.join()
  }

  private final class Shared: Sendable {
    let isOver: Atomic<Bool>
    init(isOver: consuming Atomic<Bool>) { self.isOver = isOver }
  }
}
