// Measures an empty operation in this process: the local cluster and Foundation's own queue,
// through the calls of a normal program, with the same limit and in the same run. Nothing is
// journalled and nothing leaves the process, so that this is the floor of the library itself.
// `Workload` has the daemons.

import ArgumentParser
import OpCluster
import OpClusterOperations
import Synchronization

/// Compares the local cluster with Foundation's queue; in pairs, so that a slowdown of the machine
/// affects both.
struct InProcess: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "local",
    abstract: "Measure a queue in this process beside Foundation's, with empty operations.")

  @Option(help: "Operations of each run.")
  var count = 50_000

  // A bound is what both queues have to count, and 2 is the least that runs anything in parallel.
  @Option(help: "How many run at once; -1: as many as the queue likes.")
  var limit = 2

  @Option(help: "Pairs of runs; medians are shown.")
  var runs = 5

  @Option(help: "Ways of adding, separated by commas: \(Comparison.Way.all).")
  var ways = Comparison.Way.all

  @Flag(help: "Leave Foundation's queue out.")
  var skipFoundation = false

  func run() async throws {
    let chosen = try ways.split(separator: ",").map { name in
      guard let way = Comparison.Way(rawValue: String(name)) else {
        throw ValidationError("there is no way \(name); there are \(Comparison.Way.all)")
      }
      return way
    }
    // At least one run: a median of nothing would be 0.
    let comparison = Comparison(
      count: count, limit: limit, runs: max(runs, 1), ways: chosen, skipsFoundation: skipFoundation)
    // On a thread of its own, to measure the calls of a program without tasks.
    try await onThread { try comparison.run() }
  }
}

/// Runs both queues in turn, several times.
struct Comparison: Sendable {
  let count: Int
  let limit: Int
  let runs: Int
  let ways: [Way]
  let skipsFoundation: Bool

  /// The way in which operations are added. How operations are added costs more than how they are
  /// run: equal ones share a template, names of their own need one each.
  enum Way: String, CaseIterable {
    case array, kinds, singly
    static let all = allCases.map(\.rawValue).joined(separator: ",")

    var title: String {
      switch self {
      case .array: "one batch of equal ones"
      case .kinds: "one batch, each of its own name"
      case .singly: "one by one"
      }
    }
  }

  /// Both queues in turn within each pair. The ratio is taken pair by pair before the median, so
  /// that slow minutes cancel out.
  func run() throws {
    print("| way | OpCluster, per second | Foundation | median of the ratios (min..max) |")
    print("|---|---|---|---|")
    for way in ways {
      var ours: [Double] = []
      var theirs: [Double] = []
      for _ in 0..<runs {
        ours.append(try rate { counter in try runOurs(way, counter) })
        if !skipsFoundation { theirs.append(try rate { runFoundation(way, $0) }) }
      }
      show(way, ours, theirs)
    }
  }

  private func show(_ way: Way, _ ours: [Double], _ theirs: [Double]) {
    let ratios = zip(ours, theirs).map { $0 / $1 }
    let shown =
      ratios.isEmpty
      ? "–"
      : "\(twoPlaces(ratios.median)) (\(twoPlaces(ratios.min() ?? 0))"
        + "..\(twoPlaces(ratios.max() ?? 0)))"
    print(
      "| \(way.title) | \(Int(ours.median)) | \(theirs.isEmpty ? "–" : "\(Int(theirs.median))") "
        + "| \(shown) |")
  }

  private func twoPlaces(_ value: Double) -> Double { (value * 100).rounded() / 100 }

  /// Operations per second, from the first addition until all have finished.
  private func rate(_ body: (Counter) throws -> Void) throws -> Double {
    let counter = Counter()
    let start = ContinuousClock().now
    try body(counter)
    let seconds = (ContinuousClock().now - start) / .seconds(1)
    // A queue that lost or doubled an operation has no rate.
    guard counter.value.load(ordering: .relaxed) == count else {
      throw Follower.NotSucceeded(description: "not every operation ran once")
    }
    return Double(count) / seconds
  }

  /// One atomic addition for each operation: the least that shows that a body has run.
  final class Counter: Sendable {
    let value = Atomic<Int>(0)
    func count() { value.wrappingAdd(1, ordering: .relaxed) }
  }

  /// The blocking calls, since Foundation's are.
  private func runOurs(_ way: Way, _ counter: Counter) throws {
    let queue = ClusterOperationQueue(
      on: .local(), maxConcurrentOperationCount: limit)
    switch way {
    case .array, .kinds:
      let operations = (0..<count).map { number in
        ClusterOperation(name: way == .kinds ? "number \(number)" : nil) { _ in counter.count() }
      }
      try queue.blocking.addOperations(operations)
    case .singly:
      for _ in 0..<count { try queue.blocking.addOperation { _ in counter.count() } }
    }
    try queue.blocking.waitUntilAllOperationsAreFinished()
  }
}
