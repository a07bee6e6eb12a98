// The floor of W4: processes that only call posix_spawn and waitpid, one per worker, each a program
// of its own as the workers are.

import ArgumentParser
import Glibc

/// Spawns /bin/true this number of times; the benchmark runs it as a separate process.
struct SpawnFloor: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "spawn-floor", shouldDisplay: false)

  @Argument var count: Int

  func run() throws {
    for _ in 0..<count { try Spawning.awaitEnd(of: Spawning.spawn(["/bin/true"])) }
  }
}

extension Workload {
  /// Starts per second of two bare loops; nil for other workloads. Two loops, as the cluster has
  /// two workers. Their own start is in the time and is small beside a thousand others.
  func measureFloor() throws -> Double? {
    guard self == .processes else { return nil }
    let start = ContinuousClock().now
    let loops = try (0..<2).map { _ in
      try Spawning.spawn([Spawning.ownPath, "spawn-floor", "1000"])
    }
    for loop in loops { try Spawning.awaitEnd(of: loop) }
    return 2_000 / ((ContinuousClock().now - start) / .seconds(1))
  }
}

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
