// The line of one queue: what is ready, by level, then by place (S47, S51), apart for each demand
// class so that what fits nowhere stands in nobody's way (S61), and costs nobody time. What no
// longer stands in line is taken out when it is met, or swept out when it is much.

import HeapModule
import OpClusterModel

struct Line: Sendable {
  /// Lowest first; the last level is for barriers and cannot be set (S48).
  /// Empty until something is added, so that an empty line costs nothing to make.
  private var levels: [ClassTree] = []
  static let levelCount = 6
  /// Runs in line, those among them that stand there no longer, too…
  private(set) var runCount = 0
  /// …and how many there may be before they are swept.
  private var sweepAt = Line.leastSweep
  private static let leastSweep = 1_024
  /// The pass that what was set aside was set aside in.
  private var pass: UInt64 = 0
  private var workersVersion: UInt64 = 0

  static func level(of priority: Priority) -> Int {
    if SchedulingBug.levelledPriorities.isPlanted { return 2 }
    return switch priority {
    case .veryLow: 0
    case .low: 1
    case .normal: 2
    case .high: 3
    case .veryHigh: 4
    }
  }
  static let barrierLevel = 5

  var isEmpty: Bool {
    for level in levels where level.count > 0 { return false }
    return true
  }

  mutating func add(_ run: ReadyRun, of demandClass: LineClass, level: Int) {
    if levels.isEmpty { levels = Array(repeating: ClassTree(), count: Line.levelCount) }
    runCount += 1 - levels[level].add(run, of: demandClass)
  }

  /// Begins a pass: what was set aside in an earlier one is looked at again, and what no worker
  /// could run only where the workers are others than then.
  mutating func begin(pass: UInt64, workersVersion: UInt64) {
    if self.pass == pass { return }
    self.pass = pass
    for level in levels.indices {
      levels[level].returnAside()
      if self.workersVersion != workersVersion { levels[level].wakeResting() }
    }
    self.workersVersion = workersVersion
  }

  /// The first in line among the classes that may fit into the `reach` of their level. `settle` is
  /// asked about each head before it counts: it says how many of its first operations no longer
  /// stand in line, or that the run has been taken aside.
  ///
  /// - Parameter steps: Counts the nodes of trees and the heads that were looked at.
  mutating func first(
    within reach: (Int) -> Reach, _ steps: inout Int, settle: (ReadyRun, Int) -> Settling
  ) -> Candidate? {
    for level in levels.indices.reversed() where levels[level].count > 0 {
      levels[level].removeEmptied()
      let reach = reach(level)
      while let node = levels[level].first(within: reach, &steps) {
        steps += 1
        if let found = settledHead(level, node, settle) {
          return Candidate(
            run: found.run, valid: found.valid,
            demandClass: levels[level][node].demandClass.number, level: level, node: node)
        }
        levels[level].removeEmptied()
      }
    }
    return nil
  }

  struct Candidate {
    var run: ReadyRun
    /// So many of its first operations stand in line.
    var valid: UInt32
    var demandClass: Int
    var level: Int
    /// Where it is kept; good until the line changes otherwise.
    fileprivate var node: Int32
  }

  enum Settling {
    /// The run is kept elsewhere, or nothing of it stands in line.
    case gone
    /// The first `skip` operations do not stand in line; the next `valid` (at least one) do.
    case stands(skip: UInt32, valid: UInt32)
  }

  /// The head of a node, where that stands in line as it is; nil: the node has another head now,
  /// or none.
  private mutating func settledHead(
    _ level: Int, _ node: Int32, _ settle: (ReadyRun, Int) -> Settling
  ) -> (run: ReadyRun, valid: UInt32)? {
    guard let run = levels[level][node].runs.min else { return nil }
    switch settle(run, level) {
    case .gone:
      levels[level].removeFirstRun(of: node)
      runCount -= 1
      return nil
    case .stands(let skip, let valid):
      if skip == 0 { return (run, valid) }
      levels[level].replaceFirstRun(of: node, with: run.dropping(skip))
      return nil
    }
  }

  /// Removes the first operations of a candidate's run.
  mutating func take(_ count: UInt32, of candidate: Candidate) {
    if candidate.run.count == count {
      levels[candidate.level].removeFirstRun(of: candidate.node)
      runCount -= 1
    } else {
      levels[candidate.level].replaceFirstRun(
        of: candidate.node, with: candidate.run.dropping(count))
    }
  }

  /// Passes over a candidate's class in this pass, or until there are other workers.
  mutating func setAside(_ candidate: Candidate, untilWorkersChange isResting: Bool) {
    levels[candidate.level].setAside(candidate.node, resting: isResting)
  }

  /// Whether anything may stand in line above `level`; what has left the line may be counted.
  func hasRuns(above level: Int) -> Bool {
    if levels.isEmpty { return false }
    return levels[(level + 1)...].contains { $0.count > 0 }
  }

  /// Whether anything stands in line above `level`, fitting or not. What is met on the way and no
  /// longer stands there is taken out.
  mutating func stands(above level: Int, settle: (ReadyRun, Int) -> Settling) -> Bool {
    for at in levels.indices.reversed() where at > level && levels[at].count > 0 {
      // What has just been taken counts until the line is next looked at.
      if levels[at].hasEmptied || settlesAny(at, settle) { return true }
    }
    return false
  }

  private mutating func settlesAny(
    _ level: Int, _ settle: (ReadyRun, Int) -> Settling
  ) -> Bool {
    while let node = levels[level].leftmost {
      if settledHead(level, node, settle) != nil { return true }
      levels[level].removeEmptied()
    }
    defer { levels[level].removeEmptied() }
    for node in levels[level].outside {
      while !levels[level][node].runs.isEmpty {
        if settledHead(level, node, settle) != nil { return true }
      }
    }
    return false
  }

  // MARK: - Sweeping

  var isDueForSweep: Bool { runCount >= sweepAt }
  /// After the addition that made it so.
  var hasBecomeDue: Bool { runCount == sweepAt }

  /// Keeps only what stands in line. Costs as much as there are runs, and comes only when they are
  /// twice as many as the last one left.
  mutating func sweep(settle: (ReadyRun, Int) -> Settling) {
    var kept = Line()
    for level in levels.indices {
      levels[level].forEachRun { run, demandClass in
        if case .stands(let skip, _) = settle(run, level) {
          kept.add(skip == 0 ? run : run.dropping(skip), of: demandClass, level: level)
        }
      }
    }
    kept.sweepAt = max(Line.leastSweep, 2 * kept.runCount)
    self = kept
  }
}
