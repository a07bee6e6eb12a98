// The line of one queue: ready operations, by level, then by place (S47, S51), separately for each
// demand class, so that a class that fits nowhere does not block others (S61) and costs no time.
// Obsolete runs are removed when a search meets them, or swept when there are many.

import HeapModule
import OpClusterModel

struct Line: Sendable {
  /// The lowest level first; the last level is for barriers and cannot be set (S48). Empty until
  /// the first addition, so that an empty line costs nothing.
  private var levels: [ClassTree] = []
  static let levelCount = 6
  /// The number of runs in line, including obsolete ones,
  private(set) var runCount = 0
  /// and the number at which they are swept.
  private var sweepAt = Line.leastSweep
  private static let leastSweep = 1_024
  /// The service under which the line was served when somebody last looked; nil: it was empty, or
  /// its queue had no room, so that nobody knows what fits.
  private(set) var service: Int?
  /// Whether nothing is known about what sleeps, either.
  private(set) var wakesAll = false
  /// Whether this pass has found nothing more in it.
  private(set) var isClosed = false
  /// Whether this pass has looked at it.
  private(set) var isVisited = false
  private var isRestNoted = false

  static func level(of priority: Priority) -> Int {
    switch priority {
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
    add(CollectionOfOne(run), of: demandClass, level: level)
  }

  /// Adds runs of one class, the lowest place first. O(1) for each behind all others.
  mutating func add(
    _ runs: some Collection<ReadyRun>, of demandClass: LineClass, level: Int
  ) {
    if levels.isEmpty { levels = Array(repeating: ClassTree(), count: Line.levelCount) }
    runCount += runs.count - levels[level].add(runs, of: demandClass)
  }

  // MARK: - Sleeping

  /// Whether a worker that has not changed may take something of it.
  var isAwake: Bool { wakesAll || levels.contains { $0.hasAwake } }

  /// The least of what stands in it, for a search among lines.
  var least: DemandAmounts {
    var least = DemandAmounts.nothing
    for level in levels { least.lower(by: level.least) }
    return least
  }

  /// The highest level in which something may stand.
  var highestLevel: Int? { levels.lastIndex { $0.count > 0 } }

  /// Notes the service under which it is served from now on; nil: it is not.
  mutating func serve(as service: Int?) {
    if service == self.service { return }
    self.service = service
    wakesAll = service != nil
  }

  /// Ends the looks of a pass: no worker takes anything of it.
  mutating func close() {
    isClosed = true
    wakesAll = false
    for level in levels.indices { levels[level].fallAsleep() }
  }

  mutating func visit() { isVisited = true }

  /// Considers again, in the next pass, the classes that were set aside in this one.
  mutating func reopen() {
    (isVisited, isClosed) = (false, false)
    for level in levels.indices { levels[level].returnAside() }
  }

  /// Whether it has classes that a pass has set aside.
  var hasAside: Bool { levels.contains { $0.hasAside } }

  /// Whether it has classes that no worker could ever run, which nobody has noted.
  var hasUnnotedResting: Bool { !isRestNoted && levels.contains { $0.hasResting } }
  mutating func noteRest() { isRestNoted = true }

  /// The workers have changed: looks again at what none of them could ever run.
  mutating func wakeResting() {
    isRestNoted = false
    for level in levels.indices { levels[level].wakeResting() }
  }

  // MARK: - Looking

  /// The first run among the classes that may fit into the `reach` of their level. `examine` checks
  /// each head before use: it returns how many of its first operations no longer stand in line, or
  /// that the run has been moved elsewhere.
  ///
  /// - Parameter steps: Counts the visited tree nodes and heads.
  mutating func first(
    within reach: (Int) -> LineReach, _ steps: inout Int, examine: (ReadyRun, Int) -> Settling
  ) -> Candidate? {
    for level in levels.indices.reversed() where levels[level].count > 0 {
      levels[level].removeEmptied()
      let reach = reach(level).wakingAll(wakesAll)
      while let node = levels[level].first(within: reach, &steps) {
        steps += 1
        if let found = settledHead(level, node, examine) {
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
    /// The number of its first operations that stand in line.
    var valid: UInt32
    var demandClass: Int
    var level: Int
    /// The position in the tree; valid until the line changes otherwise.
    fileprivate var node: Int32
  }

  enum Settling {
    /// The run is kept elsewhere, or none of its operations stands in line.
    case gone
    /// The first `skip` operations do not stand in line; the next `valid` (at least one) do.
    case stands(skip: UInt32, valid: UInt32)
  }

  /// The head of a node if it stands in line unchanged; nil if the node now has another head, or
  /// none.
  private mutating func settledHead(
    _ level: Int, _ node: Int32, _ examine: (ReadyRun, Int) -> Settling
  ) -> (run: ReadyRun, valid: UInt32)? {
    guard let run = levels[level][node].runs.min else { return nil }
    switch examine(run, level) {
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

  /// Skips a candidate's class for the rest of this pass, or until the workers change.
  mutating func setAside(_ candidate: Candidate, untilWorkersChange isResting: Bool) {
    levels[candidate.level].setAside(candidate.node, resting: isResting)
  }

  /// Whether anything may stand in line above `level`; may count obsolete runs.
  func hasRuns(above level: Int) -> Bool {
    if levels.isEmpty { return false }
    return levels[(level + 1)...].contains { $0.count > 0 }
  }

  /// Whether anything stands in line above `level`, whether it fits or not. Removes obsolete runs
  /// that it meets.
  mutating func stands(above level: Int, examine: (ReadyRun, Int) -> Settling) -> Bool {
    for at in levels.indices.reversed() where at > level && levels[at].count > 0 {
      // Runs that were just taken count until the next use of the line.
      if levels[at].hasEmptied || settlesAny(at, examine) { return true }
    }
    return false
  }

  private mutating func settlesAny(
    _ level: Int, _ examine: (ReadyRun, Int) -> Settling
  ) -> Bool {
    while let node = levels[level].leftmost {
      if settledHead(level, node, examine) != nil { return true }
      levels[level].removeEmptied()
    }
    defer { levels[level].removeEmptied() }
    for node in levels[level].outside {
      while !levels[level][node].runs.isEmpty {
        if settledHead(level, node, examine) != nil { return true }
      }
    }
    return false
  }

  // MARK: - Sweeping

  var isDueForSweep: Bool { runCount >= sweepAt }

  /// Sweeps if a quarter of the runs seems to be obsolete. Most are not, mostly: else a line that
  /// only grows would be gone through for nothing, in one turn. Else costs `samples` looks, and one
  /// for each class in line.
  mutating func sweepIfWorthIt(examine: (ReadyRun, Int) -> Settling) {
    let apart = max(1, runCount / Line.samples)
    var (looked, obsolete, passed) = (0, 0, 0)
    for level in levels.indices {
      levels[level].forEachRun(everyOther: apart, &passed) { run, _ in
        looked += 1
        if case .gone = examine(run, level) { obsolete += 1 }
      }
    }
    if obsolete * 4 >= looked { return sweep(examine: examine) }
    sweepAt = max(Line.leastSweep, 2 * runCount)
  }
  private static let samples = 256

  /// Keeps only runs that stand in line. Costs one visit per run, and happens only when the runs
  /// have doubled since the last sweep, or the last sample.
  mutating func sweep(examine: (ReadyRun, Int) -> Settling) {
    var kept = Line()
    for level in levels.indices {
      levels[level].forEachRun { run, demandClass in
        if case .stands(let skip, _) = examine(run, level) {
          kept.add(skip == 0 ? run : run.dropping(skip), of: demandClass, level: level)
        }
      }
    }
    kept.sweepAt = max(Line.leastSweep, 2 * kept.runCount)
    // What was set aside or rests is looked at anew: all of it is awake.
    kept.service = service
    self = kept
  }
}
