// Minimises a failing world: finds a script that breaks the same rule with as few faults as
// possible (Simulation.md). It drops fault classes one at a time, then everything after some
// moment, then workers and requests, then the rest in ever smaller pieces.

import OpClusterModel

public struct Shrinking {
  /// The smallest script so far that breaks the rule.
  public private(set) var script: WorldScript
  public let rule: String
  /// The number of worlds that were run.
  public private(set) var runs = 0
  private let mutant: Mutant?
  private let bound: Int
  private let tell: (String) -> Void

  /// - Parameters:
  ///   - bound: The maximal number of worlds to run.
  ///   - tell: Called with progress, one line at a time.
  /// - Returns: nil if the seed breaks nothing, or its recording does not break the same rule.
  public init?(
    seed: UInt64, mutant: Mutant? = nil, bound: Int = 4_000, tell: @escaping (String) -> Void
  ) {
    let (report, script) = Simulation.record(seed: seed, mutant: mutant)
    guard let rule = report.violation?.rule else { return nil }
    self.init(script: script, rule: rule, mutant: mutant, bound: bound, tell: tell)
    guard breaks(script) else { return nil }
  }

  /// Begins with a script that breaks this rule.
  public init(
    script: WorldScript, rule: String, mutant: Mutant?, bound: Int,
    tell: @escaping (String) -> Void
  ) {
    self.script = script
    self.rule = rule
    self.mutant = mutant
    self.bound = bound
    self.tell = tell
  }

  /// Repeats all passes until none makes the script smaller, or the bound is reached: leaving one
  /// thing out may make another needless. Each try is a whole world.
  public mutating func run() {
    var before = 0
    repeat {
      before = script.itemCount + script.workerCount
      dropClasses()
      dropLateItems()
      dropWorkers()
      reduce(\.asks, "requests")
      reduce(\.mishaps, "mishaps")
      reduce(\.verdicts, "messages")
      reduce(\.syncs, "syncs")
    } while script.itemCount + script.workerCount < before && runs < bound
  }

  /// Whether a script breaks the rule.
  private mutating func breaks(_ smaller: WorldScript) -> Bool {
    runs += 1
    return Simulation.run(smaller, mutant: mutant).violation?.rule == rule
  }

  /// Keeps a smaller script if it breaks the same rule. Another rule would be another bug.
  private mutating func keep(_ smaller: WorldScript) -> Bool {
    guard runs < bound, breaks(smaller) else { return false }
    script = smaller
    return true
  }

  /// The cheapest first: a whole class of faults is mostly needless.
  private mutating func dropClasses() {
    for fault in Fault.allCases where script.mishaps.contains(where: { $0.fault == fault }) {
      var smaller = script
      smaller.mishaps.removeAll { $0.fault == fault }
      if keep(smaller) { tell("without \(fault.rawValue): \(script.itemCount) things left") }
    }
    for part in [\WorldScript.verdicts.isEmpty, \WorldScript.syncs.isEmpty]
    where !script[keyPath: part] {
      var smaller = script
      if part == \WorldScript.verdicts.isEmpty { smaller.verdicts = [] } else { smaller.syncs = [] }
      if keep(smaller) { tell("without verdicts: \(script.itemCount) things left") }
    }
  }

  /// Bisects the moment after which faults and requests are not needed.
  private mutating func dropLateItems() {
    let moments = (script.mishaps.map(\.at) + script.asks.map(\.at)).sorted()
    var (low, high) = (0, moments.count)
    while low < high, runs < bound {
      let middle = (low + high) / 2
      var smaller = script
      smaller.mishaps.removeAll { $0.at >= moments[middle] }
      smaller.asks.removeAll { $0.at >= moments[middle] }
      if keep(smaller) { high = middle } else { low = middle + 1 }
    }
    tell("until \(low) of \(moments.count) moments: \(script.itemCount) things left")
  }

  /// From the end, since the others keep their numbers, by which mishaps and messages name them.
  private mutating func dropWorkers() {
    while script.plan.workers.count > 1 {
      var smaller = script
      smaller.plan.workers.removeLast()
      guard keep(smaller) else { break }
      tell("with \(script.plan.workers.count) workers")
    }
  }

  /// Delta debugging: omits pieces of the list, first halves, finally single items.
  private mutating func reduce<Item>(
    _ path: WritableKeyPath<WorldScript, [Item]>, _ name: String
  ) {
    var size = max(script[keyPath: path].count / 2, 1)
    while !script[keyPath: path].isEmpty, runs < bound {
      var first = 0
      while first < script[keyPath: path].count, runs < bound {
        var smaller = script
        let last = min(first + size, smaller[keyPath: path].count)
        smaller[keyPath: path].removeSubrange(first..<last)
        if !keep(smaller) { first = last }
      }
      if size == 1 { break }
      size = max(size / 2, 1)
    }
    tell("\(script[keyPath: path].count) \(name) left after \(runs) runs")
  }
}
