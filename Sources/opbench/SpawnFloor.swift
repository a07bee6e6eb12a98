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
