// The only file of this target that speaks C: what a process gets from whoever started it. Any
// thread.

import Glibc
import OpClusterModel
import OpClusterZeroMQ

public enum Kernel {
  /// How many descriptors the process may have.
  ///
  /// - Parameter raising: As many as it is allowed to; it keeps what it has where that fails.
  static func descriptorLimit(raising: Bool) -> Int {
    var limit = rlimit()
    guard unsafe getrlimit(descriptors, &limit) == 0 else { return Limits.peersPerSocket }
    if raising, limit.rlim_cur < limit.rlim_max {
      let before = limit.rlim_cur
      limit.rlim_cur = limit.rlim_max
      if unsafe setrlimit(descriptors, &limit) != 0 { limit.rlim_cur = before }
    }
    return Int(clamping: limit.rlim_cur)
  }

  /// Descriptors that are open, as far as their numbers are not very high.
  static func openDescriptors() -> Int {
    var used = 0
    for number in 0..<Int32(4_096) where fcntl(number, F_GETFD) >= 0 { used += 1 }
    return used
  }

  private static let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  /// A variable of the environment; nil when it is not set or empty.
  public static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// What this machine calls itself; nil when it does not say.
  public static var hostName: String? {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return nil }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The bytes of a file of at most `limit` bytes; nil when there is none that can be read.
  public static func contents(of path: String, limit: Int) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: limit)
    let count = unsafe read(descriptor, &buffer, limit)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }

  /// The text of a file that the kernel makes, to its end, at most a MiB; nil: there is none.
  private static func kernelText(_ path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while bytes.count < 1 << 20 {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      if count == 0 { break }
      guard count > 0 else { return nil }
      bytes += buffer.prefix(count)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// How much memory the machine lets this process have; nil where nobody says.
  public static func memoryBound() -> MemoryBound? {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
    let isLimited = unsafe getrlimit(resource, &limit) == 0 && limit.rlim_cur < rlim_t(Int.max)
    return MemoryBound.found(address: isLimited ? UInt64(limit.rlim_cur) : nil, file: kernelText)
  }

  /// What this process takes now.
  static func memoryUse() -> MemoryUse? {
    kernelText("/proc/self/statm").flatMap {
      MemoryUse(statm: $0, pageBytes: UInt64(clamping: sysconf(Int32(_SC_PAGESIZE))))
    }
  }

  /// Takes what a descriptor offers and says whether its other end is closed.
  static func hasEnded(_ descriptor: Int32) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe read(descriptor, &buffer, buffer.count)
    return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)
  }

  /// Allows as many open files as the system lets us (A7), and makes files for their owner alone.
  public static func prepareProcess() {
    _ = umask(0o077)
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard unsafe getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(resource, &limit)
  }

  /// Whether this process may do everything on this machine (G40).
  public static var isRoot: Bool { geteuid() == 0 }

  /// Orders to stop.
  static let stopSignals = [SIGTERM, SIGINT]
  /// Somebody who read what we write has gone; the write says so, too.
  static let brokenPipe = SIGPIPE

  /// Ends the process at once; whatever must be kept has been kept.
  public static func endProcess(_ status: Int32) -> Never { _exit(status) }
}

/// Descriptors that are kept for later: whoever comes first gets the low numbers, which stay
/// below a limit that falls. Of one thread.
final class SpareDescriptors {
  private var kept: [Int32] = []

  var count: Int { kept.count }

  deinit { keep(0) }

  /// Keeps so many, or as many as there are.
  func keep(_ wanted: Int) {
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
