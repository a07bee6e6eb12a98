// `opsim run`: runs seeds on several threads, with a summary; a failing seed prints its command.
// Worlds share nothing, so that the number of threads changes no result.

import ArgumentParser
import OpClusterSimulation
import Synchronization

struct RunSeeds: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs many seeds.")
  @Option(help: "How many.") var seeds: UInt64 = 1000
  @Option(help: "The first.") var from: UInt64 = 0
  // One by default: a failing seed is then the last line, and a laptop stays usable.
  @Option(help: "How many at once.") var jobs = 1
  @Option(help: "Stop after so many failures.") var failures = 10
  @Option(help: "Plant a deliberate bug, to see that it is noticed.") var mutant: Mutant?

  /// The range is `from` to `from + seeds`. Fails if any seed did.
  func run() async throws {
    let progress = Progress(first: from, last: from + seeds, failureLimit: failures)
    try Mutant.plant(mutant)
    let begin = ContinuousClock.now
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<max(jobs, 1) {
        group.addTask {
          while let seed = progress.next() {
            progress.add(Simulation.run(seed: seed, mutant: mutant))
          }
        }
      }
    }
    let seconds = begin.duration(to: .now) / .seconds(1)
    print(progress.summary(seconds: seconds))
    if progress.failed > 0 { throw ExitCode(1) }
  }
}

/// The state shared by the threads. Seeds are handed out one at a time, since worlds differ in
/// length.
private final class Progress: Sendable {
  private struct State {
    var next: UInt64
    var done = 0
    var failed = 0
    var steps = 0
    var commits = 0
    var launches = 0
    var operations = 0
    var faults = 0
    var virtualSeconds = 0.0
    /// The combined hash of all seeds, independent of their order.
    var hash: UInt64 = 0
  }
  private let state: Mutex<State>
  private let last: UInt64
  private let failureLimit: Int

  init(first: UInt64, last: UInt64, failureLimit: Int) {
    state = Mutex(State(next: first))
    self.last = last
    self.failureLimit = failureLimit
  }

  var failed: Int { state.withLock { $0.failed } }

  /// nil when there are no more, or enough have failed.
  func next() -> UInt64? {
    state.withLock { state in
      guard state.next < last, state.failed < failureLimit else { return nil }
      state.next += 1
      return state.next - 1
    }
  }

  func add(_ report: SimulationReport) {
    state.withLock { state in
      state.done += 1
      // Weighted by the seed, so that two equal hashes do not take each other out. Two builds with
      // the same sum ran the same worlds.
      state.hash ^= report.hash &* (2 &* report.seed &+ 1)
      state.steps += report.steps
      state.commits += report.commits
      state.launches += report.launches
      state.operations += report.operations
      state.faults += report.faults
      state.virtualSeconds += report.virtualSeconds
      // Printed under the lock and flushed, so that lines of two threads do not mix.
      if report.violation != nil {
        state.failed += 1
        say(report.line)
      }
      if state.done % 10_000 == 0 { say("\(state.done) seeds, \(state.failed) failed") }
    }
  }

  /// Totals and means for each seed: a mean that falls says that a change has made the worlds
  /// tamer.
  func summary(seconds: Double) -> String {
    state.withLock { state in
      let rate = Int(Double(state.done) / max(seconds, 0.001))
      let hash = String(state.hash, radix: 16)
      let each = max(state.done, 1)
      return """
        \(state.done) seeds, \(state.failed) failed, \(rate) seeds/s, hash \(hash)
        each: \(state.operations / each) operations, \(state.launches / each) launches, \
        \(state.faults / each) faults, \(state.commits / each) commits, \
        \(state.steps / each) steps, \(Int(state.virtualSeconds / Double(each))) virtual seconds
        """
    }
  }
}
