// The poller wakes for everything it is told about, sees no ghosts, and keeps deadlines.

import Citations
import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterZeroMQ

@Suite struct SocketPollerTests {
  private let millisecond: Int64 = 1_000_000

  @Test func deadlines() throws {
    let router = try openRouter()
    _ = try router.bind(freshName())
    let mailbox = try Mailbox<Int>(capacity: 1)
    var poller = SocketPoller()
    _ = poller.add(router)
    _ = poller.add(descriptor: mailbox.descriptor)
    // Shorter than a slice, longer than one, and already over.
    for length in [5, 250, -1_000] as [Int64] {
      let start = MonotonicClock.now()
      #expect(try poller.wait(until: start + length * millisecond) == 0)
      let elapsed = MonotonicClock.now() - start
      #expect(elapsed >= length * millisecond)
      #expect(elapsed < patience)
    }
  }

  @Test func tellsItemsApart() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()))
    _ = try introduce(dealer, to: router)
    let mailbox = try Mailbox<Int>(capacity: 1)
    var poller = SocketPoller()
    let socketItem = poller.add(router)
    let mailboxItem = poller.add(descriptor: mailbox.descriptor)

    try sendSurely([1], on: dealer)
    #expect(try poller.wait(until: nil) == 1)
    #expect(poller.readiness(of: socketItem) == .readable)
    #expect(poller.readiness(of: mailboxItem) == [])

    // A busy socket does not starve a descriptor.
    #expect(mailbox.post(1) == .posted)
    #expect(try poller.wait(until: nil) == 2)
    #expect(poller.readiness(of: mailboxItem) == .readable)

    guard case .message = router.receive() else { throw Impatience(awaited: "the message") }
    #expect(try poller.wait(until: nil) == 1)
    #expect(poller.readiness(of: socketItem) == [])
    #expect(poller.readiness(of: mailboxItem) == .readable)
  }

  // Libzmq's descriptor is edge-triggered; messages left behind are still seen.
  @Test(.checks("A13")) func messagesLeftBehind() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    try dealer.connect(router.bind(anyPort()))
    _ = try introduce(dealer, to: router)
    for number in 1...3 as ClosedRange<UInt8> { try sendSurely([number], on: dealer) }
    var poller = SocketPoller()
    let item = poller.add(router)
    for number in 1...3 as ClosedRange<UInt8> {
      for _ in 0..<2 {
        #expect(try poller.wait(until: MonotonicClock.now() + patience) == 1)
        #expect(poller.readiness(of: item) == .readable)
      }
      guard case .message([number], from: .some) = router.receive() else {
        Issue.record("message \(number) is missing")
        return
      }
    }
    #expect(try poller.wait(until: 0) == 0)
  }

  @Test func writable() throws {
    let router = try openRouter()
    let dealer = try openDealer()
    var poller = SocketPoller()
    let item = poller.add(dealer, for: .writable)
    #expect(try poller.wait(until: 0) == 0)
    try dealer.connect(router.bind(freshName()))
    #expect(try nextEvent(dealer) == .connected)
    #expect(try poller.wait(until: MonotonicClock.now() + patience) == 1)
    #expect(poller.readiness(of: item) == .writable)
    poller.change(item, to: .readable)
    #expect(try poller.wait(until: 0) == 0)

    var ends: [Int32] = [0, 0]
    #expect(unsafe pipe(&ends) == 0)
    let pipeItem = poller.add(descriptor: ends[1], for: .writable)
    #expect(try poller.wait(until: 0) == 1)
    #expect(poller.readiness(of: pipeItem) == .writable)
    close(ends[0])
    #expect(try poller.wait(until: 0) == 1)
    #expect(poller.readiness(of: pipeItem).contains(.failed))
    close(ends[1])
  }

  @Test func endedSocketIsNeverReady() throws {
    let router = try openRouter()
    let bound = try router.bind(freshName())
    var dealer: Socket? = try openDealer()
    try dealer!.connect(bound)
    let peer = try introduce(dealer!, to: router)
    #expect(router.send([1], to: peer) == .sent)
    var poller = SocketPoller()
    let item = poller.add(dealer!, for: [.readable, .writable])
    #expect(try poller.wait(until: nil) == 1)
    dealer = nil
    #expect(try poller.wait(until: 0) == 0)
    #expect(poller.readiness(of: item) == [])
    poller.removeAll()
    #expect(try poller.wait(until: 0) == 0)
  }

  @Test func wakesFromSleep() throws {
    let router = try openRouter()
    let bound = try router.bind(anyPort())
    let mailbox = try Mailbox<Int>(capacity: 8)
    var poller = SocketPoller()
    let socketItem = poller.add(router)
    let mailboxItem = poller.add(descriptor: mailbox.descriptor)
    let thread = try startThread(name: "sender") {
      #expect(mailbox.post(1) == .posted)
      do {
        let dealer = try openDealer()
        try dealer.connect(bound)
        try sendSurely([1], on: dealer)
        // Closing at once could drop the message: wait for the answer.
        _ = try receiveNext(dealer)
      } catch {
        Issue.record(error)
      }
    }
    var numbers: [Int] = []
    while numbers.isEmpty {
      _ = try poller.wait(until: MonotonicClock.now() + patience)
      if poller.readiness(of: mailboxItem).contains(.readable) { mailbox.takeAll(into: &numbers) }
    }
    while !poller.readiness(of: socketItem).contains(.readable) {
      #expect(try poller.wait(until: MonotonicClock.now() + patience) > 0)
    }
    guard case .message([1], from: let peer?) = router.receive() else {
      throw Impatience(awaited: "the message")
    }
    #expect(router.send([2], to: peer.connection) == .sent)
    thread.join()
  }
}
