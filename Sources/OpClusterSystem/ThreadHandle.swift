// Dedicated threads: a loop that owns sockets lives on one of them, never on Swift's shared pool,
// whose threads may change at every `await` (A13).

import CSystem
import Glibc
import Synchronization

/// A thread that was started and can be waited for, from any other thread, any number of times.
public final class ThreadHandle: Sendable {
  public let name: String
  let thread: pthread_t
  private let isJoined = Mutex(false)

  fileprivate init(name: String, thread: pthread_t) {
    self.name = name
    self.thread = thread
  }

  deinit {
    // Nobody can wait any more: the thread cleans up after itself.
    isJoined.withLock { joined in if !joined { pthread_detach(thread) } }
  }

  /// Whether this is the thread that asks.
  public var isCurrent: Bool { pthread_self() == thread }

  /// Waits until the thread's body has returned.
  public func join() {
    precondition(pthread_self() != thread, "thread \(name) would wait for itself")
    isJoined.withLock { joined in
      guard !joined else { return }
      pthread_join(thread, nil)
      joined = true
    }
  }
}

/// What a new thread gets from the one that starts it.
private final class ThreadStart {
  let name: String
  let takesSignals: Bool
  let body: () -> Void

  init(name: String, takesSignals: Bool, body: @escaping () -> Void) {
    self.name = name
    self.takesSignals = takesSignals
    self.body = body
  }
}

/// Starts a thread that runs `body` once.
///
/// - Parameters:
///   - name: What debuggers and `top` show; the kernel keeps the first 15 bytes.
///   - stackSize: Bytes, at least 64 KiB; rounded up to whole pages.
///   - takesSignals: False: those that come for the process go to other threads.
/// - Throws: `EAGAIN` if the machine has no room for another thread.
public func startThread(
  name: String, stackSize: Int = 1 << 20, takesSignals: Bool = true,
  body: sending @escaping () -> Void
) throws(SystemError) -> ThreadHandle {
  let page = 4_096
  var attributes = pthread_attr_t()
  unsafe pthread_attr_init(&attributes)
  defer { unsafe pthread_attr_destroy(&attributes) }
  let size = (max(stackSize, 1 << 16) + page - 1) / page * page
  unsafe pthread_attr_setstacksize(&attributes, size)
  let start = unsafe Unmanaged.passRetained(
    ThreadStart(name: name, takesSignals: takesSignals, body: body))
  var thread = pthread_t()
  let code = unsafe pthread_create(
    &thread, &attributes,
    { argument in
      guard let argument = unsafe argument else { return nil }
      let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
      if !start.takesSignals {
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
      }
      let shortName = String(decoding: start.name.utf8.prefix(15), as: UTF8.self)
      unsafe pthread_setname_np(pthread_self(), shortName)
      start.body()
      return nil
    }, start.toOpaque())
  guard code == 0 else {
    unsafe start.release()
    throw SystemError(
      action: "start thread \(name)", code: code, advice: "raise the limit of threads (ulimit -u)")
  }
  return ThreadHandle(name: name, thread: thread)
}
