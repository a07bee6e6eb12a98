// Dedicated threads, signals as descriptors, and the clocks.

import Citations
import Glibc
import Synchronization
import Testing

@testable import OpClusterSystem

@Suite struct ThreadAndSignalTests {
  private final class Box<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    var current: Value { value.withLock { $0 } }
  }

  @Test func runsOnceWithItsName() throws {
    let names = Box<[String]>([])
    let handle = try startThread(name: "a-name-longer-than-fifteen") {
      var name = [UInt8](repeating: 0, count: 16)
      let file = unsafe open("/proc/thread-self/comm", O_RDONLY)
      let count = unsafe read(file, &name, name.count)
      close(file)
      names.value.withLock { $0.append(String(decoding: name.prefix(count), as: UTF8.self)) }
    }
    handle.join()
    handle.join()
    #expect(names.current == ["a-name-longer-t\n"])
  }

  @Test func joinedFromSeveralThreads() throws {
    let order = Box<[Int]>([])
    let gate = try Mailbox<Int>(capacity: 1)
    let handle = try startThread(name: "joined", stackSize: 1) {
      var poller = Poller()
      _ = poller.add(descriptor: gate.descriptor)
      _ = try? poller.wait(until: MonotonicClock.now() + patience)
      order.value.withLock { $0.append(0) }
    }
    let joiners = try (1...3).map { number in
      try startThread(name: "joiner") {
        handle.join()
        order.value.withLock { $0.append(number) }
      }
    }
    #expect(order.current == [])
    #expect(gate.post(1) == .posted)
    for joiner in joiners { joiner.join() }
    #expect(order.current.first == 0)
    #expect(order.current.sorted() == [0, 1, 2, 3])
  }

  @Test func abandonedThreadFinishes() throws {
    let mailbox = try Mailbox<Int>(capacity: 1)
    _ = try startThread(name: "abandoned") { _ = mailbox.post(7) }
    var poller = Poller()
    _ = poller.add(descriptor: mailbox.descriptor)
    #expect(try poller.wait(until: MonotonicClock.now() + patience) == 1)
  }

  // A14. On a thread of its own, because a test's thread should not keep signals blocked.
  @Test(.checks("A14")) func signals() throws {
    let delivered = Box<[DeliveredSignal]>([])
    let thread = try startThread(name: "signals") {
      do {
        let signals = try SignalDescriptor([SIGUSR1, SIGTERM])
        var poller = Poller()
        let item = poller.add(descriptor: signals.descriptor)
        #expect(signals.next() == nil)
        #expect(try poller.wait(until: 0) == 0)
        // To this thread alone: blocked, or the process would die.
        raise(SIGTERM)
        raise(SIGUSR1)
        #expect(try poller.wait(until: MonotonicClock.now() + patience) == 1)
        #expect(poller.readiness(of: item) == .readable)
        while let signal = signals.next() { delivered.value.withLock { $0.append(signal) } }
        #expect(try poller.wait(until: 0) == 0)
      } catch {
        Issue.record(error)
      }
    }
    thread.join()
    #expect(Set(delivered.current.map(\.number)) == [SIGUSR1, SIGTERM])
    #expect(delivered.current.allSatisfy { $0.senderProcess == getpid() })
    #expect(delivered.current.count == 2)
  }

  @Test func notASignal() {
    let error = #expect(throws: SystemError.self) { _ = try SignalDescriptor([12_345]) }
    #expect(error?.code == EINVAL)
  }

  @Test func clocks() {
    let before = MonotonicClock.now()
    #expect(MonotonicClock.now() >= before)
    let seconds = Int64(time(nil))
    #expect(abs(WallClock.now() / 1_000 - seconds) <= 5)
  }
}
