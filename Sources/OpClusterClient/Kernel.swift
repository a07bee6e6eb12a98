// The only file of this target that speaks C: starting a daemon and taking in its end. Everything
// answers with a value or an `errno`. Any thread.

import Glibc

enum Kernel {
  /// What the kernel answered.
  struct Failure: Error {
    /// An `errno`.
    var code: Int32
    var text: String { unsafe String(cString: strerror(code)) }
  }

  /// Two connected ends, neither of which goes along into a program that is started.
  static func socketPair() throws(Failure) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    guard unsafe socketpair(AF_UNIX, Int32(type), 0, &ends) == 0 else { throw Failure(code: errno) }
    return (ends[0], ends[1])
  }

  /// Starts a program in a session of its own with default signals; returns its number.
  ///
  /// - Parameters:
  ///   - input: The descriptor that becomes its stdin; nil is /dev/null.
  ///   - log: A file that both output streams are appended to.
  static func spawn(
    _ executable: String, _ arguments: [String], input: Int32?, log: String
  ) throws(Failure) -> Int32 {
    var files = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&files)
    defer { unsafe posix_spawn_file_actions_destroy(&files) }
    if let input {
      unsafe posix_spawn_file_actions_adddup2(&files, input, 0)
    } else {
      unsafe posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
    }
    unsafe posix_spawn_file_actions_addopen(
      &files, 1, log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
    unsafe posix_spawn_file_actions_adddup2(&files, 1, 2)
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    unsafe useDefaultSignals(&attributes)
    var strings: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
    unsafe strings.append(nil)
    defer { while let string = unsafe strings.popLast() { unsafe free(string) } }
    var process: pid_t = 0
    let code = unsafe posix_spawn(&process, executable, &files, &attributes, &strings, environ)
    guard code == 0 else { throw Failure(code: code) }
    return process
  }

  /// We may block or ignore signals that the program goes by.
  private static func useDefaultSignals(_ attributes: UnsafeMutablePointer<posix_spawnattr_t>) {
    var none = sigset_t()
    var all = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(attributes, &none)
    unsafe posix_spawnattr_setsigdefault(attributes, &all)
    // POSIX_SPAWN_SETSID, which the C library shows only to GNU programs.
    let newSession: Int32 = 0x80
    let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | newSession
    unsafe posix_spawnattr_setflags(attributes, Int16(flags))
  }

  /// How a child ended, as `waitpid` tells it; nil while it runs.
  static func takeEnd(of process: Int32) -> Int32? {
    var status: Int32 = 0
    let answer = unsafe waitpid(process, &status, WNOHANG)
    // Somebody else may have taken the end in (ECHILD): it has ended in any case.
    return answer == process || (answer < 0 && errno == ECHILD) ? status : nil
  }
}
