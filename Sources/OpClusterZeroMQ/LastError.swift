// What a failed call of libzmq left behind, as an error of the system. Any thread.

import CZeroMQ
import OpClusterSystem

extension SystemError {
  /// The error that the last failed libzmq call on this thread left behind. The numbers that
  /// only libzmq has do not occur: there is one context with an I/O thread, it is never ended, and
  /// its sockets are routers and dealers.
  static func last(_ action: String) -> SystemError {
    SystemError(action: action, code: zmq_errno())
  }
}
