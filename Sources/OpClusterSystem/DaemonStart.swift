// Starts a program that is no operation, such as a daemon, and collects its end. Any thread;
// OpClusterProcesses, not this file, starts operations.

import Glibc

package enum DaemonStart {
  /// Makes two connected ends; started programs inherit neither.
  package static func socketPair() throws(ErrorNumber) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    guard unsafe socketpair(AF_UNIX, Int32(type), 0, &ends) == 0 else { throw ErrorNumber.last }
    return (ends[0], ends[1])
  }

  /// Starts a program in a session of its own with default signals; returns its process number.
  ///
  /// - Parameters:
  ///   - input: The descriptor that becomes its stdin; nil means /dev/null.
  ///   - log: The file to which both output streams are appended; nil: they go to `input` as well.
  package static func spawn(
    _ executable: String, _ arguments: [String], input: Int32?, log: String?
  ) throws(ErrorNumber) -> Int32 {
    var files = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&files)
    defer { unsafe posix_spawn_file_actions_destroy(&files) }
    if let input {
      unsafe posix_spawn_file_actions_adddup2(&files, input, 0)
    } else {
      unsafe posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
    }
    if let log {
      unsafe posix_spawn_file_actions_addopen(
        &files, 1, log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
    } else {
      unsafe posix_spawn_file_actions_adddup2(&files, 0, 1)
    }
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
    guard code == 0 else { throw ErrorNumber(code) }
    return process
  }

  /// Restores default signals: we may block or ignore signals that the program relies on.
  private static func useDefaultSignals(_ attributes: UnsafeMutablePointer<posix_spawnattr_t>) {
    var none = sigset_t()
    var all = sigset_t()
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(attributes, &none)
    unsafe posix_spawnattr_setsigdefault(attributes, &all)
    // POSIX_SPAWN_SETSID; the C library defines it only for GNU programs.
    let newSession: Int32 = 0x80
    let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | newSession
    unsafe posix_spawnattr_setflags(attributes, Int16(flags))
  }

  /// Returns the `waitpid` status of an ended child; nil while it runs.
  package static func takeEnd(of process: Int32) -> Int32? {
    var status: Int32 = 0
    let answer = unsafe waitpid(process, &status, WNOHANG)
    // ECHILD: the end was already collected elsewhere, so the child has ended.
    return answer == process || (answer < 0 && errno == ECHILD) ? status : nil
  }
}
