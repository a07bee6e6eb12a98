// The line of one queue: what is ready, by level, then by place (S47, S51), apart for each demand
// class so that what fits nowhere stands in nobody's way (S61).

import HeapModule
import OpClusterModel

struct Line: Sendable {
  /// Lowest first; the last level is for barriers and cannot be set (S48).
  /// Empty until something is added, so that an empty line costs nothing to make.
  private var levels: [[ClassLine]] = []
  static let levelCount = 6

  private struct ClassLine: Sendable {
    var demandClass: Int
    var runs: Heap<ReadyRun>
  }

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
    for level in levels where !level.isEmpty { return false }
    return true
  }

  mutating func add(_ run: ReadyRun, demandClass: Int, level: Int) {
    if levels.isEmpty { levels = Array(repeating: [], count: Line.levelCount) }
    if let at = levels[level].firstIndex(where: { $0.demandClass == demandClass }) {
      levels[level][at].runs.insert(run)
    } else {
      levels[level].append(ClassLine(demandClass: demandClass, runs: [run]))
    }
  }

  /// The first in line whose class is allowed by `admits`. `settle` is asked about each head
  /// before it counts: it says how many of its first operations no longer stand in line, or that
  /// the run has been taken aside.
  mutating func first(
    admits: (Int) -> Bool, settle: (ReadyRun, Int) -> Settling
  ) -> Candidate? {
    for level in levels.indices.reversed() where !levels[level].isEmpty {
      var best: Candidate?
      var at = 0
      while at < levels[level].count {
        let demandClass = levels[level][at].demandClass
        guard admits(demandClass) else {
          at += 1
          continue
        }
        guard let (run, valid) = settledHead(level, at, settle) else {
          levels[level].remove(at: at)
          continue
        }
        if best.map({ run.place < $0.run.place }) ?? true {
          best = Candidate(run: run, valid: valid, demandClass: demandClass, level: level)
        }
        at += 1
      }
      if let best { return best }
    }
    return nil
  }

  struct Candidate {
    var run: ReadyRun
    /// So many of its first operations stand in line.
    var valid: UInt32
    var demandClass: Int
    var level: Int
  }

  enum Settling {
    /// The run is kept elsewhere, or nothing of it stands in line.
    case gone
    /// The first `skip` operations do not stand in line; the next `valid` (at least one) do.
    case stands(skip: UInt32, valid: UInt32)
  }

  private mutating func settledHead(
    _ level: Int, _ at: Int, _ settle: (ReadyRun, Int) -> Settling
  ) -> (ReadyRun, UInt32)? {
    while let run = levels[level][at].runs.min {
      switch settle(run, level) {
      case .gone:
        levels[level][at].runs.removeMin()
      case .stands(let skip, let valid):
        if skip == 0 { return (run, valid) }
        let rest = run.dropping(skip)
        levels[level][at].runs.replaceMin(with: rest)
        return (rest, valid)
      }
    }
    return nil
  }

  /// Removes the first operations of a candidate's run.
  mutating func take(_ count: UInt32, of candidate: Candidate) {
    guard
      let at = levels[candidate.level].firstIndex(where: {
        $0.demandClass == candidate.demandClass
      })
    else { return }
    if candidate.run.count == count {
      levels[candidate.level][at].runs.removeMin()
    } else {
      levels[candidate.level][at].runs.replaceMin(with: candidate.run.dropping(count))
    }
  }

  /// Whether anything may stand in line above `level`.
  func hasRuns(above level: Int) -> Bool {
    if levels.isEmpty { return false }
    return levels[(level + 1)...].contains { !$0.isEmpty }
  }
}
