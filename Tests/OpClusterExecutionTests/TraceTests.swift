// Scripts with their expected traces: the tour of what a worker's brain does.

import Citations
import OpClusterExecution
import OpClusterModel
import Testing

@Suite struct TraceTests {
  // hello → welcome → orders → reports → acknowledgement
  @Test func theWayOfOneOperation() {
    var rig = Rig()
    rig.welcome()
    #expect(rig.trace() == ["renew", "hello assigned= executing=", "report 1: "])
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)]
    }
    #expect(rig.trace() == ["learn t0 as 0", "launch 0", "report 2: started 0"])
    rig.end(0)
    #expect(rig.trace() == ["report 3: finished 0 ok"])
    #expect(rig.core.counts.unacknowledged == 2)
    rig.order(acknowledged: 3) { $0.forgottenGraphs = [Rig.graph] }
    #expect(rig.trace() == ["forget 0", "forget graph 7"])
    #expect(rig.core.counts.unacknowledged == 0)
  }

  // What has ended before its report leaves is told once.
  @Test(.checks("S149")) func aFinishImpliesItsStart() {
    var rig = Rig()
    rig.welcome()
    _ = rig.trace()
    var orders = WorkerOrders(conversation: rig.conversation!, number: 1, acknowledged: 0)
    orders.templates = [Rig.template()]
    orders.dispatches = [Rig.dispatch(0), Rig.dispatch(1)]
    rig.core.apply(.message(.orders(orders)), at: rig.now, into: &rig.effects)
    #expect(rig.core.startReady(atMost: 8, at: rig.now, into: &rig.effects) == 2)
    rig.core.apply(.ended(Rig.attempt(0), .success), at: rig.now, into: &rig.effects)
    rig.turn()
    #expect(rig.trace().last == "report 2: finished 0 ok, started 1")
  }

  // S47, once more at the worker: priority, then place; and what fits.
  //   one cpu; 0 runs; 1 (normal, place 1)  2 (high, place 2)  3 (normal, place 0)
  @Test(.checks("S47")) func orderByPriorityThenPlace() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [
        Rig.dispatch(0), Rig.dispatch(1, place: 1), Rig.dispatch(2, priority: .high, place: 2),
        Rig.dispatch(3, place: 0),
      ]
    }
    for index: UInt32 in [2, 3, 1, 0] { rig.end(index) }
    // 2 is first, although it came third: nothing had started when the orders were read.
    #expect(rig.launches.map(\.attempt.operation.index) == [2, 3, 0, 1])
  }

  // Queues of equal service take turns, whatever the levels in them; inside each the
  // level counts. One that had nothing ready takes its turn after those that wait.
  //   one cpu; 0 runs; queue 1 has 1 2 3, of which 3 is high; queue 2 has 4 5 (very low)
  @Test(.checks("S50", "S60")) func queuesOfEqualServiceTakeTurns() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0, queue: 3)]
    }
    rig.order {
      $0.dispatches = [
        Rig.dispatch(1, priority: .veryHigh, place: 1, queue: 1),
        Rig.dispatch(2, priority: .veryHigh, place: 2, queue: 1),
        Rig.dispatch(3, priority: .veryHigh, place: 0, queue: 1),
        Rig.dispatch(4, priority: .veryLow, place: 5, queue: 2),
        Rig.dispatch(5, priority: .veryLow, place: 6, queue: 2),
      ]
    }
    rig.end(0)
    // Queue 1 has had its turn: what comes to queue 3 now waits for one of queue 2.
    rig.order { $0.dispatches = [Rig.dispatch(6, place: 7, queue: 3)] }
    for index: UInt32 in [3, 4, 1, 6, 5, 2] { rig.end(index) }
    #expect(rig.launches.map(\.attempt.operation.index) == [0, 3, 4, 1, 6, 5, 2])
  }

  // The better service first, also where it comes later and asks for something else.
  //   two cpus; 0 (two cpus) runs; 1 2 of a background queue; 3 (two cpus) of an initiated one
  @Test(.checks("S60")) func theBetterServiceGoesFirst() {
    var rig = Rig(cpus: 2)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template(0, cpus: 2), Rig.template(1, firstIndex: 1)]
      $0.dispatches = [
        Rig.dispatch(0),
        Rig.dispatch(1, template: 1, priority: .veryHigh, queue: 1, service: .background),
        Rig.dispatch(2, template: 1, priority: .veryHigh, queue: 1, service: .background),
      ]
    }
    rig.order {
      $0.dispatches = [
        Rig.dispatch(3, priority: .veryLow, place: 9, queue: 2, service: .userInitiated)
      ]
    }
    rig.end(0)
    #expect(rig.running == [Rig.attempt(3)])
    rig.end(3)
    #expect(rig.launches.map(\.attempt.operation.index) == [0, 3, 1, 2])
  }

  // A large operation at the head of the line keeps what is free for it.
  //
  //   4 cpus: 0…3 run with one each; 4 asks for four; 5…7 ask for one
  @Test func aLargeOneIsNotStarved() {
    var rig = Rig(cpus: 4)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template(0), Rig.template(1, firstIndex: 4, cpus: 4)]
      $0.dispatches =
        (0..<4).map { Rig.dispatch($0, place: 1) }
        + [Rig.dispatch(4, template: 1, place: 2)]
        + (5..<8).map { Rig.dispatch($0, place: 3) }
    }
    _ = rig.trace()
    for index: UInt32 in 0..<3 { rig.end(index) }
    #expect(rig.running == [Rig.attempt(3)])
    rig.end(3)
    #expect(rig.running == [Rig.attempt(4)])
    rig.end(4)
    #expect(rig.running == [5, 6, 7].map { Rig.attempt($0) })
  }

  // What the large one does not need may still be used.
  @Test func othersUseWhatIsNotReserved() {
    var rig = Rig(cpus: 4)
    rig.welcome()
    var free = Rig.template(2, firstIndex: 8)
    free.demand = .none
    rig.order {
      $0.templates = [Rig.template(0), Rig.template(1, firstIndex: 4, cpus: 4), free]
      $0.dispatches = [
        Rig.dispatch(0), Rig.dispatch(4, template: 1, place: 2),
        Rig.dispatch(5, place: 3), Rig.dispatch(8, template: 2, place: 9),
      ]
    }
    #expect(rig.running == [0, 8].map { Rig.attempt($0) })
  }

  // A recall of what is unstarted gives it back; of what runs it comes too late.
  @Test(.checks("S91", "S148")) func recalls() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, place: 2)]
    }
    _ = rig.trace()
    rig.order {
      $0.recalls = [Rig.attempt(0), Rig.attempt(1)]
    }
    #expect(rig.trace() == ["report 3: already 0, recalled 1"])
    rig.end(0)
    rig.order { $0.recalls = [Rig.attempt(0), Rig.attempt(1)] }
    #expect(rig.trace() == ["report 4: finished 0 ok", "report 5: already 0, recalled 1"])
    #expect(rig.core.counts.assigned == 0)
  }

  // Cancel → stop → grace → kill; the answer is repeated when the order is.
  @Test(.checks("S92", "G20")) func cancelOfARunningOne() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)]
    }
    _ = rig.trace()
    rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0), grace: .seconds(3))] }
    #expect(rig.trace() == ["stop 0", "report 3: taken 0"])
    rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0))] }
    #expect(rig.trace() == ["report 4: taken 0"])
    let asked = rig.now
    while !rig.lines.contains("kill 0") {
      rig.passTime()
      rig.order()
    }
    #expect(rig.now - asked == .seconds(3))
    var killed = Rig.failure(.signal)
    killed.signal = 9
    _ = rig.trace()
    rig.end(0, killed)
    #expect(rig.trace().last?.hasSuffix("finished 0 none stopped forced") == true)
  }

  // A cancel of an unstarted one is answered like a recall.
  @Test(.checks("S91")) func cancelOfAnAssignedOne() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, place: 2), Rig.dispatch(2, awaits: [1])]
    }
    _ = rig.trace()
    rig.order {
      $0.cancels = [CancelOrder(attempt: Rig.attempt(1)), CancelOrder(attempt: Rig.attempt(2))]
    }
    #expect(rig.trace() == ["report 3: recalled 1, recalled 2"])
    #expect(rig.core.counts.assigned == 0)
  }

  // Its own time limit, then the grace that its command asks for.
  @Test(.checks("G21")) func timeout() {
    var rig = Rig()
    rig.welcome()
    rig.order { $0.templates = [Rig.template()] }
    rig.apply(
      .prepared(TemplateNumber(0), TemplateLimits(timeout: .seconds(2), grace: .seconds(1))))
    rig.order { $0.dispatches = [Rig.dispatch(0)] }
    let began = rig.now
    while !rig.lines.contains("stop 0") {
      rig.passTime()
      rig.order()
    }
    #expect(rig.now - began == .seconds(2))
    rig.end(0, Rig.failure(.signal))
    #expect(rig.trace().last?.hasSuffix("finished 0 timeout") == true)
  }

  // A timeout, a grace and a cancel's grace at the end of their type never come.
  @Test(.checks("X1"), arguments: [Span.longest, Span(nanoseconds: .max)]) func endlessTimes(
    time: Span
  ) throws {
    var rig = Rig()
    rig.welcome()
    rig.order { $0.templates = [Rig.template()] }
    rig.apply(.prepared(TemplateNumber(0), TemplateLimits(timeout: time, grace: time)))
    rig.order { $0.dispatches = [Rig.dispatch(0)] }
    rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0), grace: time)] }
    rig.apply(.timePassed)
    let deadline = try #require(rig.core.nextDeadline)
    #expect(deadline > rig.now)
    #expect(rig.lines.contains("stop 0") && !rig.lines.contains("kill 0"))
    rig.end(0, Rig.failure(.signal))
    #expect(rig.core.counts.assigned == 0)
  }

  // Killed and forgotten, nothing reported; its room comes back when it has ended.
  @Test(.checks("S17")) func staleIsKilledAndForgotten() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, place: 2)]
    }
    _ = rig.trace()
    rig.order { $0.stale = [Rig.attempt(0)] }
    #expect(rig.trace() == ["kill 0"])
    rig.end(0, Rig.failure(.signal))
    #expect(rig.trace() == ["launch 1", "report 3: started 1"])
  }

  // Drain: nothing new, what runs ends, all acknowledged, goodbye.
  @Test func drain() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, place: 2)]
    }
    rig.order { $0.drain = true }
    _ = rig.trace()
    rig.end(0)
    #expect(rig.trace() == ["report 3: finished 0 ok leaving"])
    #expect(rig.core.exit == nil)
    rig.order(acknowledged: 3) { $0.drain = true }
    #expect(rig.trace() == ["goodbye"])
    #expect(rig.core.exit == .drained)
  }

  // It leaves by its own wish. The coordinator hears of that at once and in each report; what
  // runs ends, what has not started goes back, and a stop may still follow.
  @Test(.checks("S148")) func leavingByItsOwnWish() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, place: 2)]
    }
    _ = rig.trace()
    rig.apply(.leave)
    #expect(rig.trace() == ["report 3:  leaving"])
    rig.order(acknowledged: 3) {
      $0.drain = true
      $0.recalls = [Rig.attempt(1)]
    }
    #expect(rig.trace() == ["report 4: recalled 1 leaving"])
    rig.end(0)
    #expect(rig.trace() == ["report 5: finished 0 ok leaving"])
    rig.order(acknowledged: 5) { $0.drain = true }
    #expect(rig.trace() == ["goodbye"])
    #expect(rig.core.exit == .drained)
  }

  @Test func leavingBecomesAStop() {
    var rig = Rig(cpus: 1)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)]
    }
    rig.apply(.leave)
    _ = rig.trace()
    rig.apply(.stop)
    #expect(rig.trace() == ["stop 0"])
    rig.end(0, Rig.failure(.signal))
    rig.order(acknowledged: 9)
    #expect(rig.core.exit == .stopped)
  }

  // Nobody is there to be told, and there is nothing to tell.
  @Test func leavingWithoutACoordinator() {
    var rig = Rig()
    rig.apply(.leave)
    #expect(rig.core.exit == .drained)
  }

  // An orderly stop: what ran is reported as stopped by its worker, then goodbye.
  @Test func orderlyStop() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1)]
    }
    _ = rig.trace()
    rig.apply(.stop)
    #expect(rig.trace() == ["stop 0", "stop 1"])
    rig.end(0, Rig.failure(.signal))
    // It ended well before the signal came: that counts.
    rig.end(1)
    #expect(rig.trace() == ["report 3: finished 0 workerStopped", "report 4: finished 1 ok"])
    rig.order(acknowledged: 4)
    #expect(rig.trace() == ["goodbye"])
    #expect(rig.core.exit == .stopped)
  }

  // Without a coordinator there is nobody to say goodbye to.
  @Test func stopWithoutACoordinator() {
    var rig = Rig()
    rig.passTime()
    rig.apply(.stop)
    #expect(rig.core.exit == .stopped)
  }

  @Test func secondSignalKills() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)]
    }
    rig.apply(.stop)
    _ = rig.trace()
    rig.apply(.stopNow)
    #expect(rig.trace() == ["kill 0"])
  }

  // An impossible demand fails at once instead of waiting for ever.
  @Test func impossibleDemand() {
    var rig = Rig(cpus: 2)
    rig.welcome()
    _ = rig.trace()
    rig.order {
      $0.templates = [Rig.template(cpus: 3)]
      $0.dispatches = [Rig.dispatch(0)]
    }
    #expect(rig.trace() == ["learn t0 as 0", "report 2: finished 0 cannotStart"])
    rig.order(acknowledged: 2)
    #expect(rig.core.counts.unacknowledged == 0)
  }

  // Only the newest progress is told, with the heartbeat.
  @Test func progress() {
    var rig = Rig()
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)]
    }
    _ = rig.trace()
    rig.apply(.progress(Rig.attempt(0), fraction: 0.25, text: ""))
    rig.apply(.progress(Rig.attempt(0), fraction: 0.5, text: ""))
    rig.apply(.progress(Rig.attempt(9), fraction: 0.5, text: "unknown"))
    #expect(rig.trace() == [])
    rig.advance(.seconds(1))
    #expect(rig.trace() == ["report 3: progress 0 0.5"])
  }

  // Bound: what comes beyond it is given back at once.
  @Test func isAssignedNoMoreThanItTakes() {
    var settings = ExecutionSettings()
    settings.maximumAssigned = 2
    settings.maximumRunning = 1
    var rig = Rig(cpus: 1, settings: settings)
    rig.welcome()
    _ = rig.trace()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = (0..<3).map { Rig.dispatch($0, place: UInt64($0)) }
    }
    #expect(rig.trace() == ["learn t0 as 0", "launch 0", "report 2: recalled 2, started 0"])
  }

  // A bound on what runs holds for operations that ask for nothing, too.
  @Test func runsNoMoreThanItMay() {
    var settings = ExecutionSettings()
    settings.maximumRunning = 3
    var rig = Rig(settings: settings)
    rig.welcome()
    var free = Rig.template()
    free.demand = .none
    rig.order {
      $0.templates = [free]
      $0.dispatches = (0..<5).map { Rig.dispatch($0) }
    }
    #expect(rig.running.count == 3)
  }

  // While so much is reported and not acknowledged, nothing new starts; `unacknowledgedBytes`
  // is the built-in bound.
  @Test(.checks("G27")) func startsNothingWhileReportsPileUp() {
    var settings = ExecutionSettings()
    #expect(settings.maximumUnacknowledgedBytes == Limits.unacknowledgedBytes)
    // What a start and an end with such an output weigh, and one byte.
    settings.maximumUnacknowledgedBytes = 24 + 96 + 1_000
    var rig = Rig(cpus: 1, settings: settings)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = (0..<3).map { Rig.dispatch($0, place: UInt64($0)) }
    }
    var result = AttemptResult()
    result.output = [UInt8](repeating: 1, count: 999)
    rig.apply(.ended(Rig.attempt(0), result))
    // One byte below the bound: the next one starts. Its start is told, and the bound is reached.
    #expect(rig.launches.map(\.attempt) == [Rig.attempt(0), Rig.attempt(1)])
    rig.apply(.ended(Rig.attempt(1), result))
    #expect(rig.launches.count == 2)
    rig.order { $0.acknowledged = 1_000 }
    #expect(rig.launches.map(\.attempt).last == Rig.attempt(2))
  }
}
