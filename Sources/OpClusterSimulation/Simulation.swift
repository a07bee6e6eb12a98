// Runs worlds from seeds, for the command and for tests, and reports the results.

import OpClusterModel

/// The result of one seed.
public struct SimulationReport: Sendable {
  public var seed: UInt64
  /// nil: all invariants held, and everything ended.
  public var violation: Violation?
  /// Equal for equal runs, in any process.
  public var hash: UInt64
  /// The number of happenings.
  public var steps: Int
  /// The virtual time from beginning to end.
  public var virtualSeconds: Double
  public var operations: Int
  public var launches: Int
  public var faults: Int
  /// The number of turns that became durable.
  public var commits: Int
  public var answers: Int
  /// The number of refusals by code; for people.
  public var refusals: [String: Int]

  /// The command that repeats the run.
  public var command: String { "opsim repeat \(seed) --trace" }

  /// One line for people, two for a failure.
  public var line: String {
    if let violation {
      return """
        seed \(seed): \(violation.rule) at \((violation.at - .zero).seconds) s: \(violation.text)
          see it with: \(command)
        """
    }
    let trace = String(hash, radix: 16)
    return """
      seed \(seed): good, hash \(trace), \(operations) operations, \(launches) launches, \
      \(steps) steps, \(virtualSeconds) virtual seconds
      """
  }
}

public enum Simulation {
  /// Runs the world of one seed. `trace` gets a line for each happening.
  public static func run(
    seed: UInt64, mutant: Mutant? = nil, trace: ((String) -> Void)? = nil
  ) -> SimulationReport {
    report(World(seed: seed, mutant: mutant, tracer: Tracer(write: trace)))
  }

  /// Runs the world of one seed, and records a script of it.
  public static func record(
    seed: UInt64, mutant: Mutant? = nil
  ) -> (SimulationReport, WorldScript) {
    let world = World(seed: seed, mutant: mutant, isRecorded: true, tracer: Tracer())
    let report = report(world)
    return (report, world.recording ?? WorldScript())
  }

  /// The number of effects of each kind in a seed; for `SimulationCoverage.effects`.
  public static func effects(seed: UInt64) -> [String: Int] {
    let world = World(seed: seed, tracer: Tracer())
    world.effectCounts = [:]
    world.run()
    return world.effectCounts ?? [:]
  }

  /// Runs the world of a script.
  public static func run(
    _ script: WorldScript, mutant: Mutant? = nil, trace: ((String) -> Void)? = nil
  ) -> SimulationReport {
    report(World(seed: script.seed, script: script, mutant: mutant, tracer: Tracer(write: trace)))
  }

  private static func report(_ world: World) -> SimulationReport {
    let start = world.now
    world.run()
    return SimulationReport(
      seed: world.seed, violation: world.violation, hash: world.tracer.hash, steps: world.steps,
      virtualSeconds: (world.now - start).seconds,
      operations: world.ledger.operationCount,
      launches: world.ledger.launched.count, faults: world.faults, commits: world.durableTurns,
      answers: world.answers, refusals: world.refusals)
  }
}
