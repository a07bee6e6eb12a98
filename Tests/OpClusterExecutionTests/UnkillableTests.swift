// Processes that KILL does not end, as the worker's brain sees them: their room is given to nobody,
// and every report names them as long as they live.

import OpClusterModel
import Testing

@testable import OpClusterExecution

extension Rig {
  /// So many operations of one processor each at a worker of two, two of them running.
  fileprivate static func withTwoRunning(of count: UInt32) -> Rig {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [template()]
      $0.dispatches = (0..<count).map { dispatch($0) }
    }
    #expect(rig.running.count == 2)
    return rig
  }

  fileprivate var newestReport: WorkerReport? {
    for case .report(let report) in messages.reversed() { return report }
    return nil
  }
}

@Suite struct UnkillableTests {
  // It is told at once and with every heartbeat, and keeps its room until it has ended.
  @Test func aRunningOne() {
    var rig = Rig.withTwoRunning(of: 3)
    let before = rig.newestReport!.number
    rig.apply(.unkillable(Rig.attempt(0)))
    #expect(rig.newestReport!.number == before + 1)
    #expect(rig.newestReport!.unkillable == [Rig.attempt(0)])
    // The coordinator counts it as running by itself.
    #expect(rig.newestReport!.unkillableDemand == .none)
    rig.apply(.unkillable(Rig.attempt(0)))
    rig.advance(.seconds(3))
    #expect(rig.newestReport!.number > before + 1)
    #expect(rig.newestReport!.unkillable == [Rig.attempt(0)])
    #expect(rig.running == [Rig.attempt(0), Rig.attempt(1)])
    rig.end(0)
    #expect(rig.newestReport!.unkillable == [])
    #expect(rig.running == [Rig.attempt(1), Rig.attempt(2)])
  }

  // What is over tells its result; what it left keeps the room, and the report says how much.
  @Test func oneThatIsOver() {
    var rig = Rig.withTwoRunning(of: 4)
    rig.apply(.outlived(Rig.attempt(0), .success))
    #expect(rig.newestReport!.entries.contains(.finished(Rig.attempt(0), .success)))
    #expect(rig.newestReport!.unkillable == [Rig.attempt(0)])
    #expect(rig.newestReport!.unkillableDemand == Resources(cpus: ResourceAmount(1)))
    rig.order(acknowledged: rig.newestReport!.number)
    rig.end(1)
    #expect(rig.running == [Rig.attempt(0), Rig.attempt(2)], "the room of 1 only")
    rig.apply(.survivorsGone(Rig.attempt(0)))
    #expect(rig.newestReport!.unkillable == [])
    #expect(rig.newestReport!.unkillableDemand == .none)
    #expect(rig.running.contains(Rig.attempt(3)))
    // Late words change nothing.
    rig.apply(.survivorsGone(Rig.attempt(0)))
    rig.apply(.unkillable(Rig.attempt(0)))
    #expect(rig.newestReport!.unkillable == [])
  }

  // One that the coordinator has taken away dies unheard; its room is not free either.
  @Test func oneThatWasForgotten() {
    var rig = Rig.withTwoRunning(of: 3)
    rig.apply(.unkillable(Rig.attempt(0)))
    rig.order { $0.stale = [Rig.attempt(0)] }
    rig.advance(.seconds(3))
    #expect(rig.newestReport!.unkillable == [Rig.attempt(0)])
    #expect(rig.newestReport!.unkillableDemand == Resources(cpus: ResourceAmount(1)))
    rig.apply(.outlived(Rig.attempt(0), .success))
    #expect(!rig.running.contains(Rig.attempt(2)))
    rig.apply(.survivorsGone(Rig.attempt(0)))
    #expect(rig.running.contains(Rig.attempt(2)))
    #expect(rig.newestReport!.unkillable == [])
  }

  // Nobody waits for what is over and cannot be ended: the worker leaves all the same.
  @Test(arguments: [ExecutionEvent.leave, .stop]) func nobodyWaitsForIt(end: ExecutionEvent) {
    var rig = Rig.withTwoRunning(of: 2)
    rig.apply(.outlived(Rig.attempt(0), .success))
    rig.apply(end)
    #expect(rig.core.exit == nil)
    rig.end(1)
    rig.order(acknowledged: rig.newestReport!.number) { $0.drain = true }
    #expect(rig.lines.last == "goodbye" && rig.core.exit != nil)
    #expect(rig.core.counts.running == 0)
  }

  // At `Limits.unkillableTold`, and one past it.
  @Test func aReportNamesSoMany() {
    var rig = Rig(cpus: Int64(Limits.unkillableTold) + 1)
    rig.welcome()
    let all = (0...UInt32(Limits.unkillableTold)).map { Rig.attempt($0) }
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = all.map { Rig.dispatch($0.operation.index) }
    }
    for attempt in all.dropFirst().reversed() { rig.apply(.unkillable(attempt)) }
    #expect(rig.newestReport!.unkillable == Array(all.dropFirst()))
    rig.apply(.unkillable(all[0]))
    #expect(rig.newestReport!.unkillable == Array(all.dropLast()))
  }
}
