// Worlds from seeds, for the command and for tests: run one, get what it came to.

public import OpClusterModel

/// What a seed broke.
public struct Violation: Hashable, Sendable {
  /// The invariant of Simulation.md, or the rule: `I4`, `S91`…
  public var rule: String
  public var text: String
  /// Virtual time.
  public var at: Instant
}

/// What one seed came to.
public struct SimulationReport: Sendable {
  public var seed: UInt64
  /// nil: everything held, and everything ended.
  public var violation: Violation?
  /// Equal for equal runs, in any process.
  public var hash: UInt64
  /// Things that happened.
  public var steps: Int
  /// Virtual time from the beginning to the end.
  public var virtualSeconds: Double
  public var operations: Int
  public var launches: Int
  public var faults: Int
  /// Turns that became durable.
  public var commits: Int
  public var answers: Int
  /// By code, how often requests were refused; for people.
  public var refusals: [String: Int]

  /// How to see it again.
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
  /// Runs the world of one seed. `trace` gets every line of what happens.
  public static func run(
    seed: UInt64, mutant: Mutant? = nil, trace: ((String) -> Void)? = nil
  ) -> SimulationReport {
    report(World(seed: seed, mutant: mutant, tracer: Tracer(write: trace)))
  }

  /// The same, and a script of it.
  public static func record(
    seed: UInt64, mutant: Mutant? = nil
  ) -> (SimulationReport, WorldScript) {
    let world = World(seed: seed, mutant: mutant, isRecorded: true, tracer: Tracer())
    let report = report(world)
    return (report, world.recording ?? WorldScript())
  }

  /// How often each kind of effect occurs in a seed; for `SimulationCoverage.effects`.
  public static func effects(seed: UInt64) -> [String: Int] {
    let world = World(seed: seed, tracer: Tracer())
    world.effectCounts = [:]
    world.run()
    return world.effectCounts ?? [:]
  }

  /// Runs the world of a script.
  public static func replay(
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
      operations: world.book.operationCount,
      launches: world.book.launched.count, faults: world.faults, commits: world.durableTurns,
      answers: world.answers, refusals: world.refusals)
  }
}
