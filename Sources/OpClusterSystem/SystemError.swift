// A call to the kernel that failed: what it answered, and what to do about it. A plain value, made
// only where a call failed.

import Glibc

/// A call that failed, as a value with a cause and a next step. libzmq answers as the kernel does.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was attempted, e.g. `bind tcp://127.0.0.1:7700`.
  public let action: String
  /// The `errno` that came back.
  public let code: Int32
  /// What a person can do about it; empty where there is nothing better than the cause.
  public let advice: String

  /// An error with the usual advice for its code, unless `advice` says something better.
  public init(action: String, code: Int32, advice: String? = nil) {
    self.action = action
    self.code = code
    self.advice = advice ?? SystemError.usualAdvice(for: code)
  }

  public var description: String {
    let cause = ErrorNumber(code).text
    return "cannot \(action): \(cause)" + (advice.isEmpty ? "" : "; \(advice)")
  }

  private static func usualAdvice(for code: Int32) -> String {
    switch code {
    case EADDRINUSE: "stop the process that listens there, or choose another address"
    case EADDRNOTAVAIL, ENODEV: "use an address that belongs to this machine"
    case EACCES, EPERM: "check owner and permissions of the path, or choose a port above 1023"
    case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
    case ENOENT: "create the folder first"
    case EAGAIN: "wait until the other side has caught up"
    default: ""
    }
  }
}
