// Waits for descriptors and a deadline in one call: where a thread without sockets sleeps. Lives on
// that thread. Threads with sockets of libzmq have a poller that is made of this one.

import CSystem
import Glibc

/// What an item is waited for.
public struct PollInterest: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let readable = PollInterest(rawValue: 1)
  public static let writable = PollInterest(rawValue: 2)

  fileprivate var events: Int16 {
    var events: Int32 = 0
    if contains(.readable) { events |= POLLIN }
    if contains(.writable) { events |= POLLOUT }
    return Int16(events)
  }
}

/// What an item turned out to be ready for.
public struct PollReadiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let readable = PollReadiness(rawValue: 1)
  public static let writable = PollReadiness(rawValue: 2)
  // 4 is the `connectionEvent` of sockets, which `SocketPoller` adds.
  /// A descriptor is closed, broken or hung up. Reported whatever the interest was.
  public static let failed = PollReadiness(rawValue: 8)

  fileprivate init(events: Int16) {
    let found = Int32(events)
    self = []
    if found & POLLIN != 0 { insert(.readable) }
    if found & POLLOUT != 0 { insert(.writable) }
    if found & (POLLERR | POLLHUP | POLLNVAL) != 0 { insert(.failed) }
  }
}

/// Polls any number of descriptors, which stay until `removeAll`.
public struct Poller: ~Copyable {
  /// Names an item until the next `removeAll`.
  public struct Item: Hashable, Sendable {
    fileprivate let index: Int
  }

  private var descriptors: [pollfd] = []

  public init() {}

  /// Forgets all items.
  public mutating func removeAll() { descriptors.removeAll(keepingCapacity: true) }

  /// Adds a descriptor, e.g. of a mailbox or of signals.
  public mutating func add(
    descriptor: Int32, for interest: PollInterest = .readable
  ) -> Item {
    descriptors.append(pollfd(fd: descriptor, events: interest.events, revents: 0))
    return Item(index: descriptors.count - 1)
  }

  /// Waits for something else on an item from now on.
  public mutating func change(_ item: Item, to interest: PollInterest) {
    descriptors[item.index].events = interest.events
  }

  /// Looks at an item no more: the kernel may have given its number to somebody else.
  package mutating func forget(_ item: Item) { descriptors[item.index].fd = -1 }

  /// What the last `wait` found out about an item.
  public func readiness(of item: Item) -> PollReadiness {
    PollReadiness(events: descriptors[item.index].revents)
  }

  /// Sleeps until an item is ready or the deadline has passed; returns the number of ready items.
  ///
  /// - Parameter deadline: `MonotonicClock` nanoseconds; in the past, the items are looked at
  ///   without sleeping. Nil waits for the items alone.
  /// - Throws: What the kernel answered; signals are no error.
  public mutating func wait(until deadline: Int64?) throws(SystemError) -> Int {
    while true {
      let now = MonotonicClock.now()
      if try sleep(nanoseconds: deadline.map { $0 > now ? $0 - now : 0 }) {
        return descriptors.count { $0.revents != 0 }
      }
      if let deadline, MonotonicClock.now() >= deadline { return 0 }
    }
  }

  /// Sleeps in the kernel once; whether any descriptor had something to say.
  ///
  /// - Parameter nanoseconds: nil: until one has. A signal may end it before.
  package mutating func sleep(nanoseconds: Int64?) throws(SystemError) -> Bool {
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
    guard code == EINTR else { throw SystemError(action: "poll", code: code) }
    for index in descriptors.indices { descriptors[index].revents = 0 }
    return false
  }
}
