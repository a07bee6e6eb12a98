// The one libzmq context of the process. Sockets ask for it when they open; nobody else does.
// Usable from any thread: libzmq guards its own context.

import CZeroMQ

/// The libzmq context: its I/O thread and its table of sockets.
///
/// There is exactly one per process and it is never terminated (A16): ending a context can disturb
/// others and can hang on unsent messages (A15). A process ends with `exit` or `_exit`.
@safe
public final class Context: Sendable {
  /// The context of this process, made when the first socket opens.
  public static let shared = Context()

  /// Threads that libzmq uses for connections; one carries far more than a loop can decide.
  public static let ioThreads = 1

  /// The most sockets open at once, twice over: each dealer has two more for its connection events.
  public static let maximumSockets = 16_384

  // libzmq documents contexts, unlike sockets, as safe to share between threads.
  nonisolated(unsafe) let raw: UnsafeMutableRawPointer

  private init() {
    guard let raw = unsafe zmq_ctx_new() else {
      preconditionFailure("libzmq has no memory for its context; nothing can work without it")
    }
    unsafe zmq_ctx_set(raw, ZMQ_IO_THREADS, Int32(Context.ioThreads))
    unsafe zmq_ctx_set(raw, ZMQ_MAX_SOCKETS, Int32(Context.maximumSockets))
    unsafe self.raw = raw
  }

  /// The number of I/O threads libzmq says it uses.
  public var configuredIOThreads: Int { unsafe Int(zmq_ctx_get(raw, ZMQ_IO_THREADS)) }

  /// The number of sockets libzmq says it allows.
  public var configuredMaximumSockets: Int { unsafe Int(zmq_ctx_get(raw, ZMQ_MAX_SOCKETS)) }
}
