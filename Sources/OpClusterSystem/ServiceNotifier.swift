// Tells a service manager (systemd) how a daemon is: a datagram to the socket that NOTIFY_SOCKET
// names. Made by a daemon's command, used by its loop on the loop's thread.

import Glibc

/// Where a service manager listens, as it says it to a process that it starts.
public struct ServiceAddress: Hashable, Sendable {
  /// `$NOTIFY_SOCKET`: a path, or `@` and the name of an abstract socket.
  public var socket: String
  /// `$WATCHDOG_USEC`: the time in which the watchdog must be fed; nil: nobody watches.
  public var watchdogMicroseconds: String?
  /// `$WATCHDOG_PID`: whom the watchdog is meant for; nil: everybody.
  public var watchdogProcess: String?

  public init(
    socket: String, watchdogMicroseconds: String? = nil, watchdogProcess: String? = nil
  ) {
    self.socket = socket
    self.watchdogMicroseconds = watchdogMicroseconds
    self.watchdogProcess = watchdogProcess
  }

  /// Nil where no service manager wants to be told.
  public static func fromEnvironment() -> ServiceAddress? {
    guard let socket = OwnProcess.filledVariable("NOTIFY_SOCKET") else { return nil }
    return ServiceAddress(
      socket: socket, watchdogMicroseconds: OwnProcess.filledVariable("WATCHDOG_USEC"),
      watchdogProcess: OwnProcess.filledVariable("WATCHDOG_PID"))
  }
}

/// Readiness, status and the watchdog's food. Without a service manager it does nothing.
///
/// The loop calls `feed` at the end of each of its turns and lets its wait end at `nextFeed`: one
/// that hangs is not fed for, whatever its other threads do, and the manager starts it again (G23).
/// Where another thread hangs it calls `withhold` instead.
public final class ServiceNotifier {
  private let manager: DatagramSender
  /// Half of what the manager allows between two feeds; nil: it watches nothing.
  private let interval: Int64?
  private var lastStatus = ""

  /// Nanoseconds of the monotonic clock by which `feed` is wanted; nil: never.
  public private(set) var nextFeed: Int64?

  /// Nil where the address means nothing, or no descriptor is left.
  public init?(_ service: ServiceAddress) {
    guard let manager = DatagramSender(service.socket) else { return nil }
    self.manager = manager
    let isForUs = service.watchdogProcess.map { $0 == String(getpid()) } ?? true
    if isForUs, let time = service.watchdogMicroseconds.flatMap({ Int64($0) }),
      (1...Self.longestWatchdog).contains(time)
    {
      interval = time * 1_000 / 2
    } else {
      interval = nil
    }
  }

  /// It serves from now on; the watchdog begins to count.
  public func ready(_ status: String, at now: Int64) {
    tell("READY=1\n" + statusLine(status))
    nextFeed = interval.map { now + $0 }
  }

  /// One line for `systemctl status`; the same one again is not sent.
  public func status(_ status: String) {
    guard status != lastStatus else { return }
    tell(statusLine(status))
  }

  /// It is going to end.
  public func stopping(_ status: String) { tell("STOPPING=1\n" + statusLine(status)) }

  /// No food this time: something of ours hangs.
  public func withhold(at now: Int64) {
    guard let interval, let nextFeed, now >= nextFeed else { return }
    self.nextFeed = now + interval
  }

  /// Food for the watchdog, if it is time.
  public func feed(at now: Int64) {
    guard let interval, let nextFeed, now >= nextFeed else { return }
    tell("WATCHDOG=1")
    self.nextFeed = now + interval
  }

  /// Ten years; a manager that watches less often does not watch.
  private static let longestWatchdog: Int64 = 315_360_000_000_000
  private static let longestStatus = 200

  private func statusLine(_ status: String) -> String {
    lastStatus = status
    // A line end would begin another assignment.
    let line = status.utf8.prefix(Self.longestStatus).map { $0 < 0x20 ? 0x20 : $0 }
    return "STATUS=" + String(decoding: line, as: UTF8.self)
  }

  /// Never waits: a manager that does not read misses a message, as it would without us.
  private func tell(_ words: String) { manager.send(Array(words.utf8)) }
}
