// When a line is gone through for runs that no longer stand in it: everybody waits for that, so
// only where it is worth it (G29).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct LineSweepTests {
  private func lineClass(_ number: Int) -> LineClass {
    LineClass(
      number: number, serial: UInt64(number),
      amounts: DemandAmounts(cpus: 1, memory: 0, gpus: 0, kinds: 1))
  }

  /// A line of single operations, in some classes.
  private func line(of count: UInt32, classes: Int) -> Line {
    var line = Line()
    for first in 0..<count {
      let run = ReadyRun(place: UInt64(first), graph: GraphID(1), first: first, count: 1)
      line.add(run, of: lineClass(Int(first) % classes), level: Int(first) % Line.levelCount)
    }
    return line
  }

  // What only grows is sampled, however long it is.
  @Test(.checks("G29"), arguments: [1, 7, 100])
  func aLineInWhichAllStandIsSampled(classes: Int) {
    for count: UInt32 in [2_000, 60_000] {
      var line = line(of: count, classes: classes)
      #expect(line.isDueForSweep)
      var looks = 0
      line.sweepIfWorthIt { _, _ in
        looks += 1
        return .stands(skip: 0, valid: 1)
      }
      #expect((200...600).contains(looks))
      #expect(line.runCount == Int(count) && !line.isDueForSweep)
    }
  }

  // What no longer stands there is removed, if it is much; all others stay.
  @Test(.checks("G27"), arguments: [1, 7, 100])
  func whatHasGoneIsRemoved(classes: Int) {
    for (percent, isSwept) in [(10, false), (50, true), (100, true)] {
      var line = line(of: 20_000, classes: classes)
      // By numbers that have nothing to do with classes and levels.
      let hasGone = { (run: ReadyRun) in (run.first &* 2_654_435_761) >> 8 % 100 < percent }
      line.sweepIfWorthIt { run, _ in hasGone(run) ? .gone : .stands(skip: 0, valid: 1) }
      let left = (0..<UInt32(20_000)).count { first in
        !hasGone(ReadyRun(place: 0, graph: GraphID(1), first: first, count: 1))
      }
      #expect(line.runCount == (isSwept ? left : 20_000), "\(percent) %")
      #expect(!line.isDueForSweep)
    }
  }

  // Runs that are added together stand as those that come one by one.
  @Test func runsAddedTogether() {
    let runs = (0..<UInt32(3_000)).map {
      ReadyRun(place: UInt64($0), graph: GraphID(1), first: $0, count: 1)
    }
    var together = Line()
    var single = Line()
    together.add(runs[1_000...], of: lineClass(1), level: 2)
    together.add(runs[..<1_000], of: lineClass(1), level: 2)
    for run in runs { single.add(run, of: lineClass(1), level: 2) }
    #expect(together.runCount == single.runCount && together.least == single.least)
    let everything = DemandAmounts(cpus: 9, memory: 9, gpus: 9, kinds: .max)
    let reach = LineReach(all: everything, fresh: FreshReach(), ever: everything)
    for expected in runs {
      var steps = 0
      for isTogether in [true, false] {
        let candidate =
          isTogether
          ? together.first(within: { _ in reach }, &steps) { _, _ in .stands(skip: 0, valid: 1) }
          : single.first(within: { _ in reach }, &steps) { _, _ in .stands(skip: 0, valid: 1) }
        guard let candidate, candidate.run.first == expected.first else {
          Issue.record("operation \(expected.first) is not the first")
          return
        }
        if isTogether {
          together.take(1, of: candidate)
        } else {
          single.take(1, of: candidate)
        }
      }
    }
    #expect(together.runCount == 0 && single.runCount == 0)
  }
}
