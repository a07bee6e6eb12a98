// Waits for sockets, descriptors and a deadline in one call: the only place where a loop's thread
// sleeps. Lives on that thread, together with its sockets.

import CZeroMQ
import Glibc

/// What an item is waited for.
public struct PollInterest: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let readable = PollInterest(rawValue: 1)
  /// On a dealer: connected and room to send. On a router it only means that some peer has room,
  /// so routers wait for it in vain hope (A3).
  public static let writable = PollInterest(rawValue: 2)
}

/// What an item turned out to be ready for.
public struct PollReadiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let readable = PollReadiness(rawValue: 1)
  public static let writable = PollReadiness(rawValue: 2)
  /// A dealer has a `ConnectionEvent` to tell. Reported whatever the interest was, until all
  /// events are taken.
  public static let connectionEvent = PollReadiness(rawValue: 4)
  /// A descriptor is closed, broken or hung up. Reported whatever the interest was.
  public static let failed = PollReadiness(rawValue: 8)
}

/// Polls any number of sockets and descriptors.
///
/// Items stay until `removeAll`; a socket that has ended is never ready. Wake-ups that libzmq loses
/// cost at most one slice of 100 ms (A14), which callers do not see; without sockets there are no
/// slices.
public struct Poller: ~Copyable {
  /// The longest time asleep before sockets are looked at again.
  static let sliceNanoseconds: Int64 = 100_000_000

  /// Names an item until the next `removeAll`.
  public struct Item: Hashable, Sendable {
    fileprivate let index: Int
  }

  private struct Entry {
    var handle: SocketHandle?
    var interest: PollInterest
    var readiness: PollReadiness = []
    /// Where the item is in `descriptors`; a dealer's events are in the place after it.
    let place: Int
  }

  private var entries: [Entry] = []
  private var descriptors: [pollfd] = []
  private var hasSockets = false

  public init() {}

  /// Forgets all items.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    descriptors.removeAll(keepingCapacity: true)
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
    entries.append(Entry(handle: handle, interest: interest, place: descriptors.count))
    // libzmq's own descriptors are only ever read.
    descriptors.append(pollfd(fd: handle.descriptor, events: Int16(POLLIN), revents: 0))
    if let events = handle.events {
      descriptors.append(pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0))
    }
    return Item(index: entries.count - 1)
  }

  /// Adds a descriptor, e.g. of a mailbox or of signals.
  public mutating func add(
    descriptor: Int32, for interest: PollInterest = .readable
  ) -> Item {
    entries.append(Entry(handle: nil, interest: interest, place: descriptors.count))
    descriptors.append(
      pollfd(fd: descriptor, events: Poller.pollEvents(for: interest), revents: 0))
    return Item(index: entries.count - 1)
  }

  /// Waits for something else on an item from now on.
  public mutating func change(_ item: Item, to interest: PollInterest) {
    entries[item.index].interest = interest
    guard entries[item.index].handle == nil else { return }
    descriptors[entries[item.index].place].events = Poller.pollEvents(for: interest)
  }

  /// What the last `wait` found out about an item.
  public func readiness(of item: Item) -> PollReadiness { entries[item.index].readiness }

  /// Sleeps until an item is ready or the deadline has passed; returns the number of ready items.
  ///
  /// - Parameter deadline: `MonotonicClock` nanoseconds; in the past, the items are looked at
  ///   without sleeping. Nil waits for the items alone.
  /// - Throws: What libzmq or the kernel answered; signals are no error.
  public mutating func wait(until deadline: Int64?) throws(SocketError) -> Int {
    while true {
      // Sockets first: their descriptors tell of changes, not of states (A13).
      let isReady = try readSockets()
      let now = MonotonicClock.now()
      let left = deadline.map { $0 > now ? $0 - now : 0 }
      let pause = isReady ? 0 : hasSockets ? min(left ?? .max, Poller.sliceNanoseconds) : left
      let isDisturbed = try sleep(nanoseconds: pause)
      if isDisturbed, !isReady { _ = try readSockets() }
      readDescriptors()
      let count = entries.count { !$0.readiness.isEmpty }
      if count > 0 { return count }
      if let deadline, MonotonicClock.now() >= deadline { return 0 }
    }
  }

  /// Asks every socket for its state; whether any is ready.
  private mutating func readSockets() throws(SocketError) -> Bool {
    var isReady = false
    for index in entries.indices {
      guard let handle = entries[index].handle else { continue }
      let place = entries[index].place
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
        // The kernel may have given the number to somebody else.
        descriptors[place].fd = -1
        if handle.events != nil { descriptors[place + 1].fd = -1 }
      }
      entries[index].readiness = readiness
      if !readiness.isEmpty { isReady = true }
    }
    return isReady
  }

  /// Sleeps in the kernel; whether any descriptor had something to say.
  ///
  /// - Parameter nanoseconds: nil: until one has.
  private mutating func sleep(nanoseconds: Int64?) throws(SocketError) -> Bool {
    let count: Int32
    if let nanoseconds {
      var pause = timespec(
        tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
      count = unsafe ppoll(&descriptors, nfds_t(descriptors.count), &pause, nil)
    } else {
      count = unsafe ppoll(&descriptors, nfds_t(descriptors.count), nil, nil)
    }
    if count >= 0 { return count > 0 }
    let code = errno
    guard code == EINTR else { throw SocketError(action: "poll", code: code) }
    for index in descriptors.indices { descriptors[index].revents = 0 }
    return false
  }

  private mutating func readDescriptors() {
    for index in entries.indices where entries[index].handle == nil {
      let found = Int32(descriptors[entries[index].place].revents)
      var readiness: PollReadiness = []
      if found & POLLIN != 0 { readiness.insert(.readable) }
      if found & POLLOUT != 0 { readiness.insert(.writable) }
      if found & (POLLERR | POLLHUP | POLLNVAL) != 0 { readiness.insert(.failed) }
      entries[index].readiness = readiness
    }
  }

  private static func pollEvents(for interest: PollInterest) -> Int16 {
    var events: Int32 = 0
    if interest.contains(.readable) { events |= POLLIN }
    if interest.contains(.writable) { events |= POLLOUT }
    return Int16(events)
  }
}
