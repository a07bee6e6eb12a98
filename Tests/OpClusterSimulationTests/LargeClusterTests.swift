// The model of a large cluster, on clusters that are small: nothing is lost in it, what costs
// nothing leaves no slot idle, costs show where they must, and a seed is one world.

import Citations
import OpClusterModel
import Synchronization
import Testing

@testable import OpClusterSimulation

@Suite struct LargeClusterTests {
  private func plan(_ change: (inout LargeClusterPlan) -> Void = { _ in }) -> LargeClusterPlan {
    var plan = LargeClusterPlan()
    plan.workers = 6
    plan.slotsPerWorker = 4
    plan.operations = 600
    change(&plan)
    return plan
  }

  private func figures(_ plan: LargeClusterPlan) -> LargeClusterFigures {
    var cluster = LargeCluster(plan)
    cluster.run()
    return cluster.figures
  }

  // Each operation begins once and ends once, whatever it costs and however long it runs.
  @Test(arguments: RunTimes.traces.map(\.name), [nil, 2])
  func everyOperationEnds(trace: String, relays: Int?) throws {
    let runTimes = try #require(RunTimes.traces.first { $0.name == trace })
    let figures = figures(
      plan {
        $0.operations = 200
        $0.runTimes = runTimes.scaled(toMean: 0.5)
        $0.relays = relays
      })
    #expect(figures.started == 200 && figures.ended == 200)
    #expect(figures.seconds > 200 / 24 * 0.5 / 3)
    #expect((0...1.000_001).contains(figures.utilisation))
  }

  // Short operations are fetched ahead, and recalled where that was too many.
  @Test func shortOperationsEnd() {
    for seconds in [0.000_5, 0.005, 0.05] {
      let figures = figures(plan { $0.runTimes = .constant(seconds) })
      #expect(figures.started == 600 && figures.ended == 600, "\(seconds)")
    }
  }

  @Test func whatCostsNothingLeavesNoSlotIdle() {
    // Long enough that reports need not wait for others.
    for runTimes in RunTimes.traces.prefix(2) + [.constant(1)] {
      let figures = figures(
        plan {
          $0.runTimes = runTimes
          $0.costs = .none
        })
      #expect(figures.utilisation > 0.999_999, "\(runTimes.name)")
      #expect(figures.load == 0 && figures.wait(1) == .zero)
    }
  }

  // With 5 ms for a message, a few hundred operations a second are more than it can do.
  @Test func aSlowCoordinatorLeavesSlotsIdle() {
    let figures = figures(
      plan {
        $0.runTimes = RunTimes.traces[1].scaled(toMean: 0.06)
        $0.costs = .none
        $0.costs.message = .milliseconds(5)
      })
    #expect(figures.load > 0.8 && figures.load < 1.3)
    #expect(figures.utilisation < 0.9 && figures.utilisation > 0.05)
    #expect(figures.ended == 600)
  }

  // Way, turn and commit add up to what a free slot waits.
  @Test func aSlotWaitsForWhatStandsBetween() {
    let figures = figures(
      plan {
        $0.runTimes = RunTimes.traces[4]
        $0.costs = .none
        $0.costs.network = .milliseconds(3)
        $0.costs.commit = .milliseconds(4)
      })
    #expect(figures.wait(0.5) >= .milliseconds(10))
    #expect(figures.wait(0.5) < .milliseconds(15))
  }

  // Machines behind a relay have one conversation; on its way an operation passes it twice.
  @Test func relaysSaveMessages() {
    func measured(relays: Int?) -> LargeClusterFigures {
      figures(
        plan {
          $0.workers = 64
          $0.operations = 2_000
          $0.relays = relays
          $0.runTimes = .constant(0.5)
        })
    }
    let (without, with) = (measured(relays: nil), measured(relays: 2))
    #expect(with.ended == 2_000)
    #expect(with.messagesPerSecond * 4 < without.messagesPerSecond)
    #expect(with.utilisation > 0.9)
  }

  @Test func slotsOfUnequalRelaysAddUp() {
    let plan = plan {
      $0.workers = 7
      $0.relays = 3
    }
    #expect((0..<plan.machines).map { plan.slots(of: $0) } == [12, 8, 8])
  }

  // Without a clock nothing but the plan decides.
  @Test func theSameSeedIsTheSameRun() {
    func all(seed: UInt64) -> [Double] {
      let figures = figures(
        plan {
          $0.runTimes = RunTimes.traces[1].scaled(toMean: 0.2)
          $0.seed = seed
        })
      return [
        figures.seconds, figures.utilisation, figures.load, figures.messagesPerSecond,
        figures.wait(0.9).seconds,
      ]
    }
    #expect(all(seed: 1) == all(seed: 1))
    #expect(all(seed: 1) != all(seed: 2))
  }

  // What the brain takes is part of the turn.
  @Test func measuredTimeCounts() {
    let plan = plan {
      $0.runTimes = .constant(1)
      $0.costs = .none
    }
    let ticks = Ticks()
    var cluster = LargeCluster(plan) { ticks.next() }
    cluster.run()
    #expect(cluster.figures.load > 0 && cluster.figures.load == cluster.figures.measuredLoad)
    #expect(cluster.figures.ended == 600)
  }
}

/// A clock that is a millisecond later at each look.
private final class Ticks: Sendable {
  private let looks = Mutex(Int64(0))
  func next() -> Int64 {
    looks.withLock {
      $0 += 1
      return $0 * 1_000_000
    }
  }
}

@Suite struct RunTimesTests {
  @Test func quantilesAscend() {
    for trace in RunTimes.traces {
      #expect(zip(trace.quantiles, trace.quantiles.dropFirst()).allSatisfy { $0 <= $1 })
      #expect(trace.quantile(0.5) == trace.quantiles[5])
      #expect(trace.quantile(0) == trace.quantiles[0])
      #expect(trace.quantile(1) == trace.quantiles.last)
      #expect(trace.quantile(0.3) >= trace.quantile(0.25))
    }
  }

  @Test func whatIsDrawnHasTheMean() {
    for trace in RunTimes.traces {
      let scaled = trace.scaled(toMean: 2)
      #expect(abs(scaled.mean - 2) < 0.000_001)
      let count = 40_000
      let sum = (0..<count).reduce(0.0) { sum, index in
        let id = OperationID(graph: GraphID(1), index: UInt32(index))
        return sum + scaled.span(of: id, seed: 7).seconds
      }
      // A thousandth of bwa's tasks is a hundred times as long as the others.
      #expect(abs(sum / Double(count) - 2) < 0.2, "\(trace.name): \(sum / Double(count))")
    }
  }
}

@Suite struct ModelPartsTests {
  @Test func quantilesOfLatenciesAreClose() {
    var counts = LatencyCounts()
    #expect(counts.quantile(0.5) == .zero)
    for value in 1...10_000 { counts.add(Span(nanoseconds: Int64(value) * 1_000)) }
    for share in [0.01, 0.5, 0.9, 0.99, 1] {
      let found = Double(counts.quantile(share).nanoseconds)
      let expected = share * 10_000 * 1_000
      #expect(found >= expected && found <= expected * 17 / 16 + 1)
    }
    var small = LatencyCounts()
    for value in 0..<40 { small.add(Span(nanoseconds: Int64(value))) }
    #expect(small.quantile(0.25) == Span(nanoseconds: 9))
    #expect(small.quantile(1) == Span(nanoseconds: 39))
  }

  @Test func aBacklogKeepsItsOrder() {
    var backlog = Backlog<Int>()
    var expected: [Int] = []
    for round in 0..<5_000 {
      backlog.append(round)
      expected.append(round)
      if round % 3 == 0 {
        #expect(backlog.popFirst() == expected.removeFirst())
      }
    }
    #expect(backlog.takeOut { $0.isMultiple(of: 2) } == expected.filter { $0.isMultiple(of: 2) })
    expected.removeAll { $0.isMultiple(of: 2) }
    #expect(backlog.count == expected.count && backlog.first == expected.first)
    while let next = backlog.popFirst() { #expect(next == expected.removeFirst()) }
    #expect(expected.isEmpty && backlog.isEmpty)
  }

  // One commit runs, one waits, and all that closes meanwhile is in the waiting one.
  @Test func turnsShareCommits() {
    var disk = ModelDisk(commit: .milliseconds(10))
    func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }
    #expect(disk.append(at: at(1)) == at(11))
    #expect(disk.append(at: at(2)) == at(21))
    #expect(disk.append(at: at(10)) == at(21))
    #expect(disk.durableAt == at(21))
    #expect(disk.append(at: at(11)) == at(31))
    #expect(disk.append(at: at(40)) == at(50))
    var fast = ModelDisk(commit: .zero)
    #expect(fast.append(at: at(1)) == at(1) && fast.append(at: at(1)) == at(1))
  }
}
