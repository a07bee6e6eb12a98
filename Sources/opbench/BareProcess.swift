// Processes of the benchmark's own: a bare posix_spawn and a bare waitpid.

import Glibc

enum Spawning {
  struct Failed: Error, CustomStringConvertible {
    var description: String
  }

  /// Expects to be started by a path or a name in `PATH`.
  static var ownPath: String { CommandLine.arguments[0] }

  /// A bare posix_spawn.
  static func spawn(_ arguments: [String]) throws -> pid_t {
    var pid: pid_t = 0
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { for unsafe pointer in unsafe pointers { unsafe free(pointer) } }
    let status = unsafe posix_spawnp(&pid, arguments[0], nil, nil, pointers, environ)
    if status != 0 { throw Failed(description: "cannot start \(arguments[0]): error \(status)") }
    return pid
  }

  /// Any status but 0 ends the benchmark.
  static func awaitEnd(of pid: pid_t) throws {
    var status: Int32 = 0
    while unsafe waitpid(pid, &status, 0) < 0 {
      if errno != EINTR { throw Failed(description: "cannot wait for process \(pid)") }
    }
    // The kernel's word: a signal in the low bits, an exit status above them.
    let signal = status & 0x7F
    if signal != 0 { throw Failed(description: "process \(pid) was ended by signal \(signal)") }
    if status != 0 {
      throw Failed(description: "process \(pid) ended with status \(status >> 8)")
    }
  }
}
