// Signals as something to poll, so that a shutdown is an ordinary input of the loop. Made first
// thing in `main`; read by the loop's thread.

import CSystem
import Glibc

/// A signal that arrived.
public struct DeliveredSignal: Hashable, Sendable {
  /// The signal's number, e.g. `SIGTERM`.
  public let number: Int32
  /// The process that sent it; 0 if the kernel did.
  public let senderProcess: Int32
}

/// Blocks signals and delivers them through a descriptor (A14: they interrupt no call).
///
/// Make it before the first thread starts, the first socket included: threads inherit what is
/// blocked, and a thread that does not block them would be killed by them. They stay blocked when
/// this ends; whoever starts a program must unblock them for it.
public struct SignalDescriptor: ~Copyable {
  /// Readable while signals wait.
  public let descriptor: Int32

  /// - Throws: `EINVAL` for something that is not a signal, `EMFILE` without descriptors.
  public init(_ signals: [Int32]) throws(SystemError) {
    var mask = sigset_t()
    unsafe sigemptyset(&mask)
    for signal in signals {
      guard unsafe sigaddset(&mask, signal) == 0 else {
        throw SystemError(action: "block signal \(signal)", code: errno)
      }
    }
    let code = unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    guard code == 0 else { throw SystemError(action: "block signals", code: code) }
    let opened = unsafe signalfd(-1, &mask, Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC))
    guard opened >= 0 else {
      throw SystemError(action: "open a descriptor for signals", code: errno)
    }
    descriptor = opened
  }

  deinit { close(descriptor) }

  /// The next signal that arrived, or nil.
  public func next() -> DeliveredSignal? {
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while true {
      let count = unsafe read(descriptor, &information, size)
      if count == size { break }
      guard count < 0, errno == EINTR else { return nil }
    }
    return DeliveredSignal(
      number: Int32(information.ssi_signo), senderProcess: Int32(bitPattern: information.ssi_pid))
  }
}
