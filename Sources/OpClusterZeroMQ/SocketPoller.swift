// Waits for sockets, descriptors and a deadline in one call: where a loop with sockets sleeps.
// Lives on that thread, together with its sockets.

import CZeroMQ
public import OpClusterSystem

extension PollReadiness {
  /// A dealer has a `ConnectionEvent` to tell. Reported whatever the interest was, until all
  /// events are taken.
  public static let connectionEvent = PollReadiness(rawValue: 4)
}

/// Polls any number of sockets and descriptors.
///
/// Items stay until `removeAll`; a socket that has ended is never ready. Wake-ups that libzmq loses
/// cost at most one slice of 100 ms (A14), which callers do not see; without sockets there are no
/// slices.
///
/// `.writable` means for a dealer that it is connected and has room to send. For a router it only
/// means that some peer has room, so routers wait for it in vain hope (A3).
public struct SocketPoller: ~Copyable {
  /// The longest time asleep before sockets are looked at again.
  static let sliceNanoseconds: Int64 = 100_000_000

  /// Names an item until the next `removeAll`.
  public struct Item: Hashable, Sendable {
    fileprivate let index: Int
  }

  private struct Entry {
    /// Nil: a descriptor, of which `poller` knows the interest and the readiness.
    var handle: SocketHandle?
    var interest: PollInterest
    var readiness: PollReadiness = []
    let item: Poller.Item
    /// Of a dealer's events.
    var events: Poller.Item?
  }

  private var entries: [Entry] = []
  private var poller = Poller()
  private var hasSockets = false

  public init() {}

  /// Forgets all items.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    poller.removeAll()
    hasSockets = false
  }

  /// Adds a socket; its connection events come along.
  public mutating func add(
    _ socket: borrowing Socket, for interest: PollInterest = .readable
  ) -> Item {
    add(socket.handle, for: interest)
  }

  mutating func add(_ handle: SocketHandle, for interest: PollInterest) -> Item {
    hasSockets = true
    // libzmq's own descriptors are only ever read.
    var entry = Entry(
      handle: handle, interest: interest, item: poller.add(descriptor: handle.descriptor))
    if let events = handle.events { entry.events = poller.add(descriptor: events.descriptor) }
    entries.append(entry)
    return Item(index: entries.count - 1)
  }

  /// Adds a descriptor, e.g. of a mailbox or of signals.
  public mutating func add(
    descriptor: Int32, for interest: PollInterest = .readable
  ) -> Item {
    entries.append(
      Entry(interest: interest, item: poller.add(descriptor: descriptor, for: interest)))
    return Item(index: entries.count - 1)
  }

  /// Waits for something else on an item from now on.
  public mutating func change(_ item: Item, to interest: PollInterest) {
    entries[item.index].interest = interest
    guard entries[item.index].handle == nil else { return }
    poller.change(entries[item.index].item, to: interest)
  }

  /// What the last `wait` found out about an item.
  public func readiness(of item: Item) -> PollReadiness { entries[item.index].readiness }

  /// Sleeps until an item is ready or the deadline has passed; returns the number of ready items.
  ///
  /// - Parameter deadline: `MonotonicClock` nanoseconds; in the past, the items are looked at
  ///   without sleeping. Nil waits for the items alone.
  /// - Throws: What libzmq or the kernel answered; signals are no error.
  public mutating func wait(until deadline: Int64?) throws(SystemError) -> Int {
    while true {
      // Sockets first: their descriptors tell of changes, not of states (A13).
      let isReady = try readSockets()
      let now = MonotonicClock.now()
      let left = deadline.map { $0 > now ? $0 - now : 0 }
      let pause = isReady ? 0 : hasSockets ? min(left ?? .max, Self.sliceNanoseconds) : left
      let isDisturbed = try poller.sleep(nanoseconds: pause)
      if isDisturbed, !isReady { _ = try readSockets() }
      readDescriptors()
      let count = entries.count { !$0.readiness.isEmpty }
      if count > 0 { return count }
      if let deadline, MonotonicClock.now() >= deadline { return 0 }
    }
  }

  /// Asks every socket for its state; whether any is ready.
  private mutating func readSockets() throws(SystemError) -> Bool {
    var isReady = false
    for index in entries.indices {
      guard let handle = entries[index].handle else { continue }
      var readiness: PollReadiness = []
      if handle.isOpen {
        let pending = try handle.pendingEvents()
        let interest = entries[index].interest
        if pending & ZMQ_POLLIN != 0, interest.contains(.readable) { readiness.insert(.readable) }
        if pending & ZMQ_POLLOUT != 0, interest.contains(.writable) { readiness.insert(.writable) }
        if let events = handle.events, try events.pendingEvents() & ZMQ_POLLIN != 0 {
          readiness.insert(.connectionEvent)
        }
        if !handle.untoldEvents.isEmpty { readiness.insert(.connectionEvent) }
      } else {
        poller.forget(entries[index].item)
        if let events = entries[index].events { poller.forget(events) }
      }
      entries[index].readiness = readiness
      if !readiness.isEmpty { isReady = true }
    }
    return isReady
  }

  private mutating func readDescriptors() {
    for index in entries.indices where entries[index].handle == nil {
      entries[index].readiness = poller.readiness(of: entries[index].item)
    }
  }
}
