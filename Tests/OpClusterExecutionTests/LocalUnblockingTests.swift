// S151: operations that wait for others of the same worker.

import Citations
import OpClusterExecution
import OpClusterModel
import Testing

@Suite struct LocalUnblockingTests {
  //       ┌─ 1 ─┐
  //   0 ──┤     ├── 3
  //       └─ 2 ─┘
  @Test func diamond() {
    var rig = Rig()
    rig.welcome()
    _ = rig.trace()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [
        Rig.dispatch(3, awaits: [1, 2]), Rig.dispatch(1, awaits: [0]),
        Rig.dispatch(2, awaits: [0]), Rig.dispatch(0),
      ]
    }
    #expect(rig.trace() == ["learn t0 as 0", "launch 0", "report 2: started 0"])
    rig.end(0)
    #expect(
      rig.trace() == ["launch 1", "launch 2", "report 3: finished 0 ok, started 1, started 2"])
    rig.end(2)
    #expect(rig.trace() == ["report 4: finished 2 ok"])
    rig.end(1)
    #expect(rig.trace() == ["launch 3", "report 5: finished 1 ok, started 3"])
  }

  // Nobody waits for the end of a link, until more has ended than is left; the end of the chain is
  // told at once.
  @Test func linksOfAChainCanWait() {
    var rig = Rig()
    rig.welcome()
    rig.collectsReports = true
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)] + (1..<5).map { Rig.dispatch($0, awaits: [$0 - 1]) }
    }
    _ = rig.trace()
    rig.end(0)
    #expect(rig.trace() == ["launch 1"])
    rig.end(1)
    #expect(rig.trace() == ["launch 2"])
    rig.end(2)
    #expect(
      rig.trace() == [
        "launch 3", "report 3: finished 0 ok, finished 1 ok, finished 2 ok, started 3",
      ])
    rig.end(3)
    rig.order { $0.dispatches = [Rig.dispatch(5, awaits: [4])] }
    _ = rig.trace()
    rig.end(4)
    #expect(rig.trace() == ["launch 5", "report 5: finished 4 ok, started 5"])
    rig.end(5)
    #expect(rig.trace() == ["report 6: finished 5 ok"])
  }

  // A heartbeat that is due takes along what waits; it would be due in each further turn.
  @Test func aHeartbeatTakesAlong() throws {
    var rig = Rig()
    rig.welcome()
    rig.collectsReports = true
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)] + (1..<5).map { Rig.dispatch($0, awaits: [$0 - 1]) }
    }
    _ = rig.trace()
    rig.end(0)
    #expect(rig.trace() == ["launch 1"])
    let due = try #require(rig.core.nextDeadline)
    rig.now = due
    rig.apply(.timePassed)
    #expect(rig.trace() == ["report 3: finished 0 ok, started 1"])
    #expect(try #require(rig.core.nextDeadline) > due)
  }

  // One end among them on which nothing began here: others may wait for it.
  @Test func anEndWithoutFollowerCannotWait() {
    var rig = Rig(cpus: 4)
    rig.welcome()
    rig.collectsReports = true
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [
        Rig.dispatch(0), Rig.dispatch(1), Rig.dispatch(2), Rig.dispatch(3, awaits: [0]),
        Rig.dispatch(4, awaits: [1, 2]), Rig.dispatch(5, awaits: [4]),
      ]
    }
    _ = rig.trace()
    rig.end(0)
    #expect(rig.trace() == ["launch 3"])
    // It is awaited here, by one that awaits another as well.
    rig.end(1)
    #expect(rig.trace() == ["report 3: finished 0 ok, finished 1 ok, started 3"])
    rig.end(2)
    #expect(rig.trace() == ["launch 4"])
    // Nothing more begins here.
    rig.order { $0.drain = true }
    #expect(rig.trace() == ["report 4: finished 2 ok, started 4 leaving"])
  }

  // What the local dependencies left is added to the inputs, in order of addition.
  @Test(.checks("S135")) func outputsReachTheDependent() {
    var rig = Rig()
    rig.welcome()
    var third = Rig.dispatch(2, awaits: [0, 1])
    third.inputs = [
      DependencyInput(
        operation: Rig.attempt(9).operation, name: "far", index: nil, outcome: .succeeded,
        output: [9])
    ]
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1), third]
    }
    var (first, second) = (AttemptResult(), AttemptResult())
    first.output = [1]
    second.output = [2]
    rig.end(1, second)
    rig.end(0, first)
    let inputs = rig.launches.last!.inputs
    #expect(inputs.map(\.output) == [[9], [1], [2]])
    #expect(inputs.map(\.name) == ["far", "t0", "t0"])
    #expect(inputs.map(\.index) == [nil, 1, 2])
  }

  // The awaited one failed: the dependent stays, until the next attempt of it, or a recall.
  @Test func aFailureKeepsTheDependent() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, awaits: [0]), Rig.dispatch(2, awaits: [0])]
    }
    rig.end(0, Rig.failure())
    rig.order(acknowledged: 3)
    #expect(rig.core.counts.assigned == 2)
    rig.order { $0.recalls = [Rig.attempt(2)] }
    _ = rig.trace()
    rig.order { $0.dispatches = [Rig.dispatch(0, attempt: 2)] }
    rig.end(0, attempt: 2)
    #expect(rig.trace().filter { $0.hasPrefix("launch") } == ["launch 0.2", "launch 1"])
  }

  // A cancelled one does not satisfy `succeeded`, and its output is not passed on.
  @Test(.checks("S100")) func aCancelledSuccessIsNoSuccess() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [
        Rig.dispatch(0), Rig.dispatch(1, awaits: [0]),
        Rig.dispatch(2, awaits: [0], policy: .finished),
      ]
    }
    rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0))] }
    var result = AttemptResult()
    result.output = [1]
    rig.end(0, result)
    #expect(rig.running == [Rig.attempt(2)])
    #expect(rig.launches.last!.inputs.map(\.output) == [nil])
    #expect(rig.launches.last!.inputs.map(\.outcome) == [.cancelled])
  }

  // Ended without an outcome of its own (it will be tried elsewhere): satisfies nothing.
  @Test(arguments: [FailureCause.unknownType, .cannotStart, .workerStopped, .lost])
  func noOutcomeSatisfiesNothing(cause: FailureCause) {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, awaits: [0], policy: .finished)]
    }
    rig.end(0, Rig.failure(cause))
    #expect(rig.running == [])
    #expect(rig.core.counts.assigned == 1)
  }

  // The awaited one ended, even was acknowledged, before the dependent came.
  @Test func whatEndedBeforeCounts() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1)]
    }
    var result = AttemptResult()
    result.output = [4]
    rig.end(0, result)
    rig.end(1)
    rig.order(acknowledged: 4) { $0.dispatches = [Rig.dispatch(2, awaits: [0, 1])] }
    #expect(rig.launches.last!.inputs.map(\.output) == [[4], nil])
    rig.order { $0.dispatches = [Rig.dispatch(3, awaits: [1])] }
    #expect(rig.running == [2, 3].map { Rig.attempt($0) })
  }

  // The awaited one was recalled: the dependent stays where it is and never starts.
  @Test func aRecalledDependencyHoldsItsDependents() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, place: 2), Rig.dispatch(2, awaits: [1])]
    }
    rig.order { $0.recalls = [Rig.attempt(1)] }
    rig.end(0)
    #expect(rig.running == [])
    rig.order { $0.recalls = [Rig.attempt(2)] }
    rig.order(acknowledged: 10) { $0.forgottenGraphs = [Rig.graph] }
    #expect(rig.trace().contains("forget graph 7"))
  }

  // 0 → 1 → 2 → … → 999: no recursion, in one turn, in bounded slices.
  @Test func aLongChainInOneTurn() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    _ = rig.trace()
    var orders = WorkerOrders(conversation: rig.conversation!, number: 1, acknowledged: 0)
    orders.templates = [Rig.template()]
    orders.dispatches = (0..<1000).map { Rig.dispatch($0, awaits: $0 == 0 ? [] : [$0 - 1]) }
    rig.core.apply(.message(.orders(orders)), at: rig.now, into: &rig.effects)
    var launched: [UInt32] = []
    var ends: [ExecutionEffect] = []
    while rig.core.startReady(atMost: 64, at: rig.now, into: &rig.effects) > 0 {
      for case .launch(let launch) in rig.effects {
        launched.append(launch.attempt.operation.index)
        rig.core.apply(.ended(launch.attempt, .success), at: rig.now, into: &ends)
      }
      rig.effects.removeAll()
    }
    #expect(launched == Array(0..<1000))
    rig.turn()
    guard case .report(let report) = rig.messages.last else {
      Issue.record("no report")
      return
    }
    #expect(report.entries.count == 1000)
  }
}
