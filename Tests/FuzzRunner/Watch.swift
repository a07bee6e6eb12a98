// Says which seed it was when the process dies by a trap or does not come back, and how much memory
// it took. The handler of a signal may do next to nothing: the text is ready before.

import Glibc
import Synchronization

enum Watch {
  /// The seed that runs now, and how many have begun.
  private static let seed = Atomic<UInt64>(0)
  private static let begun = Atomic<UInt64>(0)

  static func note(_ next: UInt64) {
    seed.store(next, ordering: .releasing)
    begun.wrappingAdd(1, ordering: .releasing)
  }

  /// Largest resident size so far, in bytes.
  static var peakMemory: Int {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
  }

  static func begin(patience: Int) {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT, SIGBUS] {
      signal(number) { number in
        Watch.tell("died by signal \(number) in")
        _exit(128 + number)
      }
    }
    Thread.detach { Watch.lookOut(patience: UInt32(max(patience, 1))) }
  }

  private static func lookOut(patience: UInt32) {
    var last: UInt64 = 0
    while true {
      sleep(patience)
      let now = begun.load(ordering: .acquiring)
      if now == last, now > 0 {
        tell("nothing came of")
        _exit(2)
      }
      last = now
    }
  }

  private static func tell(_ what: String) {
    let text = Array("\(what) seed \(seed.load(ordering: .acquiring))\n".utf8)
    _ = unsafe write(2, text, text.count)
  }
}

/// A thread that is never awaited.
private enum Thread {
  static func detach(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    _ = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, box)
  }
  private final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
