// Messages from any thread to the one that polls: nothing lost, order kept, bounded, few wake-ups.

import CSystem
import Citations
import Glibc
import Testing

@testable import OpClusterSystem

@Suite(.checks("A13")) struct MailboxTests {
  @Test func fourThreads() throws {
    let mailbox = try Mailbox<(thread: Int, number: Int)>(capacity: 1_000)
    let perThread = 20_000
    let threads = try (0..<4).map { thread in
      try startThread(name: "poster-\(thread)") {
        for number in 0..<perThread {
          while mailbox.post((thread, number)) == .full { sched_yield() }
        }
      }
    }
    var poller = Poller()
    _ = poller.add(descriptor: mailbox.descriptor)
    var next = [0, 0, 0, 0]
    var batch: [(thread: Int, number: Int)] = []
    while next != [Int](repeating: perThread, count: 4) {
      guard try poller.wait(until: MonotonicClock.now() + patience) == 1 else {
        throw Impatience(awaited: "more messages after \(next)")
      }
      mailbox.takeAll(into: &batch)
      #expect(batch.count <= 1_000)
      for message in batch {
        guard message.number == next[message.thread] else {
          Issue.record("message \(message) came instead of \(next[message.thread])")
          return
        }
        next[message.thread] += 1
      }
    }
    for thread in threads { thread.join() }
    #expect(try poller.wait(until: 0) == 0)
  }

  @Test func bounded() throws {
    let mailbox = try Mailbox<Int>(capacity: 2)
    #expect([1, 2, 3].map(mailbox.post) == [.posted, .posted, .full])
    var batch = [99]
    mailbox.takeAll(into: &batch)
    #expect(batch == [1, 2])
    #expect(mailbox.post(4) == .posted)
    mailbox.takeAll(into: &batch)
    #expect(batch == [4])
    mailbox.takeAll(into: &batch)
    #expect(batch == [])
  }

  @Test func oneWakeUpPerBurst() throws {
    let mailbox = try Mailbox<Int>(capacity: 100)
    for number in 0..<100 { #expect(mailbox.post(number) == .posted) }
    var rings: eventfd_t = 0
    #expect(unsafe eventfd_read(mailbox.descriptor, &rings) == 0)
    #expect(rings == 1)
    var batch: [Int] = []
    mailbox.takeAll(into: &batch)
    #expect(batch == Array(0..<100))
  }
}
