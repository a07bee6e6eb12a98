// What the system allows this process: descriptors, memory, and what it makes of them. Any thread.

import Glibc
import Synchronization

package enum ProcessLimits {
  /// What a process may have of something, and how far it may raise that itself.
  package struct Limit: Hashable, Sendable {
    package var current: UInt64
    package var maximum: UInt64
  }

  private static let unraisedDescriptors = Mutex<Limit?>(nil)
  /// The limit of descriptors that the process began with, if it has been raised since: its
  /// children expect that one.
  package static var descriptorsBeforeRaising: Limit? { unraisedDescriptors.withLock { $0 } }

  /// How many descriptors the process may have; nil: nobody says.
  ///
  /// - Parameter raising: As many as it is allowed to; it keeps what it has where that fails.
  package static func descriptors(raising: Bool) -> Int? {
    guard var limit = limit(of: RLIMIT_NOFILE) else { return nil }
    if raising, limit.rlim_cur < limit.rlim_max {
      let before = Limit(current: UInt64(limit.rlim_cur), maximum: UInt64(limit.rlim_max))
      limit.rlim_cur = limit.rlim_max
      if unsafe setrlimit(number(of: RLIMIT_NOFILE), &limit) == 0 {
        unraisedDescriptors.withLock { $0 = $0 ?? before }
      } else {
        limit.rlim_cur = rlim_t(before.current)
      }
    }
    return Int(clamping: limit.rlim_cur)
  }

  /// Descriptors that are open, as far as their numbers are not very high.
  package static func openDescriptors() -> Int {
    var used = 0
    for number in 0..<Int32(4_096) where fcntl(number, F_GETFD) >= 0 { used += 1 }
    return used
  }

  /// Bytes of address space (`ulimit -v`); nil: as many as there are.
  package static var addressSpace: UInt64? {
    guard let limit = limit(of: RLIMIT_AS), limit.rlim_cur < rlim_t(Int.max) else { return nil }
    return UInt64(limit.rlim_cur)
  }

  package static var pageBytes: UInt64 { UInt64(clamping: sysconf(Int32(_SC_PAGESIZE))) }

  /// Makes files for their owner alone.
  package static func hideNewFiles() { _ = umask(0o077) }

  private static func limit(of resource: __rlimit_resource) -> rlimit? {
    var limit = rlimit()
    return unsafe getrlimit(number(of: resource), &limit) == 0 ? limit : nil
  }

  private static func number(of resource: __rlimit_resource) -> __rlimit_resource_t {
    __rlimit_resource_t(resource.rawValue)
  }
}

/// Descriptors that are kept for later: whoever comes first gets the low numbers, which stay
/// below a limit that falls. Of one thread.
package final class SpareDescriptors {
  private var kept: [Int32] = []

  package init() {}

  package var count: Int { kept.count }

  deinit { keep(0) }

  /// Keeps so many, or as many as there are.
  package func keep(_ wanted: Int) {
    while kept.count > wanted { close(kept.removeLast()) }
    while kept.count < wanted {
      let source = unsafe kept.first ?? open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard source >= 0 else { return }
      if kept.isEmpty {
        kept.append(source)
        continue
      }
      let copy = fcntl(source, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return }
      kept.append(copy)
    }
  }
}
