// Wakes a thread that waits, or that polls a descriptor. Any thread wakes; one waits.

import CSystem
import Glibc

/// A wake-up before the wait is kept; many are one.
final package class WakeUp: Sendable {
  /// Readable from a signal until it is taken.
  package let descriptor: Int32

  /// - Throws: `EMFILE` when the process has no descriptor left.
  package init() throws(SystemError) {
    descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    guard descriptor >= 0 else {
      throw SystemError(action: "open a descriptor for wake-ups", code: errno)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  package func signal() { eventfd_write(descriptor, 1) }

  /// Takes the signals that have come; whether there were any.
  @discardableResult
  package func take() -> Bool {
    var count: eventfd_t = 0
    return unsafe eventfd_read(descriptor, &count) == 0
  }

  /// Sleeps until there is a signal, and takes it.
  package func wait() {
    while !take() {
      var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&item, 1, -1)
    }
  }
}
