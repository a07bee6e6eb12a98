// `opsim model`: the coordinator's decisions in clusters that nobody here has, with what they take
// measured while they are made. LargeClusters.md in OpCluster.docc has what it says, and how far
// to believe it.

import ArgumentParser
import FoundationEssentials
import OpClusterModel
import OpClusterSimulation
import OpClusterSystem

struct LargeClusterModel: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Models a large cluster with measured costs.",
    discussion: """
      The scheduler and the codec are the real ones, and the processor time that a turn of theirs \
      takes here is the virtual time that it takes in the model. Workers, network and disk are \
      simple and never fail. Figures are of the steady part: from the start of the first quarter \
      of the operations to the start of the third.
      """)

  private static let traceNames = RunTimes.traces.map(\.name).joined(separator: ", ")

  @Option(help: "Numbers of workers, separated by commas.") var workers = "256,1024,4096"
  @Option(help: "Slots of a worker.") var slots = 64
  @Option(help: "Relays between coordinator and workers, each a worker to the coordinator.")
  var racks: Int?
  @Option(help: "Mean run times in seconds, separated by commas; trace: as measured.")
  var means = "0.5,2,10,60"
  @Option(help: "The shape of the run times: one of \(traceNames), or constant.")
  var trace = "seismology"
  @Option(help: "Operations of a run (default: five for each slot).") var operations: Int?
  @Option(help: "The seed of the run times.") var seed: UInt64 = 1
  @Option(help: "Microseconds of the coordinator's thread for a turn, outside of what is measured.")
  var turnCost = 30.0
  @Option(help: "Microseconds of the same thread for a message in either direction.")
  var messageCost = 2.0
  @Option(help: "Microseconds until a commit is durable.") var commit = 500.0
  @Option(help: "Microseconds of a message's way.") var network = 100.0
  @Flag(help: "Run all operations to their ends, beyond the measured part.") var toTheEnd = false
  @Flag(help: "Look for the mean run time below which less than 90 % of the slots are busy.")
  var findEnd = false
  @Flag(help: "A JSON object a line for each run.") var json = false

  func validate() throws {
    if !(1...1_000_000).contains(slots) { throw ValidationError("--slots is not from 1 on") }
    if let operations, operations < 1 { throw ValidationError("--operations is not from 1 on") }
    if let racks, racks < 1 { throw ValidationError("--racks is not from 1 on") }
    for cost in [turnCost, messageCost, commit, network] where !(0...1e9).contains(cost) {
      throw ValidationError("a cost is from 0 to 1,000,000,000 microseconds")
    }
    _ = (try workerCounts(), try meanTimes(), try shape())
  }

  func run() throws {
    if !json { say(ModelRow.head) }
    for workers in try workerCounts() {
      if findEnd {
        try lookForEnd(workers: workers)
      } else {
        for mean in try meanTimes() { show(try measure(workers: workers, mean: mean)) }
      }
    }
  }

  // MARK: - Runs

  private func measure(workers: Int, mean: Double?) throws -> ModelRow {
    var plan = LargeClusterPlan()
    plan.workers = workers
    plan.slotsPerWorker = slots
    plan.relays = racks
    plan.operations = operations ?? 5 * plan.slots
    let shape = try shape()
    plan.runTimes = mean.map { shape.scaled(toMean: $0) } ?? shape
    plan.seed = seed
    plan.costs.turn = .fractionalSeconds(turnCost / 1e6)
    plan.costs.message = .fractionalSeconds(messageCost / 1e6)
    plan.costs.commit = .fractionalSeconds(commit / 1e6)
    plan.costs.network = .fractionalSeconds(network / 1e6)
    plan.runsToTheEnd = toTheEnd
    let start = MonotonicClock.now()
    var cluster = LargeCluster(plan) { ThreadClock.now() }
    cluster.run()
    let wall = Double(MonotonicClock.now() - start) / 1e9
    return ModelRow(plan, cluster.figures, wallSeconds: wall)
  }

  private func show(_ row: ModelRow) { say(json ? row.json : row.line) }

  /// Halves the ratio of two means, of which the shorter leaves too many slots idle.
  private func lookForEnd(workers: Int) throws {
    var (short, long) = (0.01, 1_000.0)
    while long / short > 1.1 {
      let middle = (short * long).squareRoot()
      let row = try measure(workers: workers, mean: middle)
      show(row)
      if row.utilisation < Self.enough { short = middle } else { long = middle }
    }
  }
  private static let enough = 0.9

  // MARK: - Options

  private func workerCounts() throws -> [Int] {
    try workers.split(separator: ",").map { text in
      guard let count = Int(text), (1...Limits.workers).contains(count) || racks != nil,
        count > 0
      else {
        throw ValidationError(
          "\(text) workers are not from 1 to \(Limits.workers), as a coordinator accepts")
      }
      return count
    }
  }

  private func meanTimes() throws -> [Double?] {
    try means.split(separator: ",").map { text in
      if text == "trace" { return nil }
      guard let mean = Double(text), (0.000_1...1e6).contains(mean) else {
        throw ValidationError("\(text) is not a mean run time in seconds")
      }
      return mean
    }
  }

  private func shape() throws -> RunTimes {
    if trace == "constant" { return .constant(1) }
    guard let found = RunTimes.traces.first(where: { $0.name == trace }) else {
      throw ValidationError("there is no trace \(trace)")
    }
    return found
  }
}
