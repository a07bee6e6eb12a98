// Counts how often each step was taken from each phase, for `opsim coverage`. Only in the build
// that deploy/mutants makes, which is never a product.

import OpClusterModel

#if MUTANTS
  import Synchronization

  package enum StepCount {
    private static let counts = Mutex<[Int]>(
      Array(repeating: 0, count: Phase.allCases.count * Step.allCases.count))

    static func add(_ phase: Phase, _ step: Step) {
      let at = (Phase.allCases.firstIndex(of: phase) ?? 0) * Step.allCases.count
      let step = Step.allCases.firstIndex(of: step) ?? 0
      counts.withLock { $0[at + step] += 1 }
    }

    /// Every arrow of the table, in its order, with its count.
    package static var all: [(state: String, event: String, count: Int)] {
      let counts = counts.withLock { $0 }
      var rows: [(state: String, event: String, count: Int)] = []
      for (at, phase) in Phase.allCases.enumerated() {
        for (offset, step) in Step.allCases.enumerated()
        where LifeCycle.arrow(phase, step) != nil {
          rows.append(("\(phase)", "\(step)", counts[at * Step.allCases.count + offset]))
        }
      }
      return rows
    }
  }
#else
  enum StepCount {
    @inline(__always) static func add(_ phase: Phase, _ step: Step) {}
  }
#endif
