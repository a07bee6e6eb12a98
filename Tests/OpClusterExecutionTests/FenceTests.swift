// Exclusive operations at the worker's brain (G16): they run under a lease that is counted from
// what the coordinator is known to have heard, and are killed when it runs out.

import Citations
import OpClusterExecution
import OpClusterModel
import Testing

extension Rig {
  /// Holds operation 0, exclusive, and 1, which is not, both running at `now`.
  fileprivate static func withBothKinds() -> Rig {
    var rig = Rig()
    rig.welcome()
    rig.order {
      var exclusive = template(0)
      exclusive.isExclusive = true
      $0.templates = [exclusive, template(1, firstIndex: 1)]
      $0.dispatches = [dispatch(0), dispatch(1, template: 1)]
    }
    #expect(rig.running.count == 2)
    _ = rig.trace()
    return rig
  }

  /// A heartbeat that says which reports were heard.
  fileprivate mutating func beat(heard: UInt64) {
    var orders = WorkerOrders(conversation: conversation!, number: 0, acknowledged: 0)
    orders.heard = heard
    apply(.message(.orders(orders)))
  }

  fileprivate var newestReport: UInt64 {
    for case .report(let report) in messages.reversed() { return report.number }
    return 0
  }
}

@Suite struct FenceTests {
  // FENCE after the last contact the exclusive one is killed without grace; the other runs on
  //. Its end counts against nobody.
  @Test(.checks("G16", "G24")) func killedAtTheFence() {
    var rig = Rig.withBothKinds()
    let contact = rig.core.contact
    #expect(contact != nil && contact! <= rig.now)
    rig.advance(contact! + .milliseconds(9_999) - rig.now)
    #expect(!rig.trace().contains("kill 0"))
    rig.advance(.milliseconds(1))
    #expect(rig.trace().filter { $0.hasPrefix("kill") || $0.hasPrefix("stop") } == ["kill 0"])
    var killed = Rig.failure(.signal)
    killed.signal = 9
    rig.end(0, killed)
    rig.welcome(increment: 2)
    #expect(rig.trace().contains { $0.contains("finished 0 workerStopped forced") })
    #expect(rig.running == [Rig.attempt(1)])
  }

  // An operation that obeys the fence by reading its flag was not cancelled by anybody: it is tried
  // elsewhere, and what waits for its end waits on.
  @Test(.checks("G10", "G16")) func aFenceCancelsNothing() {
    var rig = Rig.withBothKinds()
    rig.order { $0.dispatches = [Rig.dispatch(2, template: 1, awaits: [0], policy: .finished)] }
    rig.advance(rig.core.contact! + .seconds(10) - rig.now)
    var obeyed = AttemptResult()
    obeyed.wasStopped = true
    rig.end(0, obeyed)
    rig.welcome(increment: 2)
    #expect(rig.running == [Rig.attempt(1)])
    #expect(rig.trace().contains { $0.contains("finished 0 workerStopped forced") })
  }

  // What comes from the coordinator proves nothing: only what it says it has heard does. With one
  // direction cut it gives the operation to another while its own words still arrive here.
  @Test func oneDirectionIsCut() {
    var rig = Rig.withBothKinds()
    let contact = rig.core.contact!
    for _ in 0..<9 {
      rig.advance(.seconds(1))
      rig.beat(heard: 0)
    }
    #expect(rig.core.contact == contact && rig.core.conversation != nil)
    rig.advance(.seconds(1))
    #expect(rig.trace().contains("kill 0"))
  }

  // The lease goes on from the moment at which the newest report was made that was heard.
  @Test func heardReportsProlongIt() {
    var rig = Rig.withBothKinds()
    for _ in 0..<30 {
      rig.advance(.seconds(1))
      rig.beat(heard: rig.newestReport)
      #expect(rig.now - rig.core.contact! <= .seconds(1))
    }
    #expect(!rig.trace().contains("kill 0"))
    // An acknowledgement is as good.
    rig.advance(.seconds(1))
    rig.order(acknowledged: rig.newestReport)
    #expect(rig.now - rig.core.contact! <= .seconds(1))
    // Numbers of an earlier conversation, or of the future, prove nothing beyond what was sent.
    rig.beat(heard: .max)
    #expect(rig.core.contact! <= rig.now)
  }

  // Nothing exclusive begins once the lease is out, and what is not exclusive does; it begins as
  // soon as the coordinator is known to hear again.
  @Test func nothingBeginsWithoutTheLease() {
    var rig = Rig()
    rig.welcome()
    for _ in 0..<12 {
      rig.advance(.seconds(1))
      rig.beat(heard: 0)
    }
    _ = rig.trace()
    rig.order {
      var exclusive = Rig.template(0)
      exclusive.isExclusive = true
      $0.templates = [exclusive, Rig.template(1, firstIndex: 1)]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(1, template: 1)]
    }
    #expect(rig.running == [Rig.attempt(1)])
    rig.beat(heard: rig.newestReport)
    #expect(rig.running == [Rig.attempt(1), Rig.attempt(0)])
  }

  // An attempt that was given up still dies: the next one of the same operation waits for its end.
  @Test func theNextAttemptWaitsForTheLastToDie() {
    var rig = Rig.withBothKinds()
    rig.apply(.disconnected)
    rig.welcome(increment: 2, stale: [Rig.attempt(0)])
    #expect(rig.trace().contains("kill 0"))
    rig.order { $0.dispatches = [Rig.dispatch(0, attempt: 2)] }
    #expect(!rig.running.contains(Rig.attempt(0, 2)))
    rig.end(0, Rig.failure(.signal))
    #expect(rig.running.contains(Rig.attempt(0, 2)))
  }

  // A result that came in time is kept; a cancel before the fence stays a cancel.
  @Test func resultsAtTheFence() {
    var rig = Rig.withBothKinds()
    rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0), grace: .seconds(60))] }
    rig.advance(.seconds(11))
    #expect(rig.trace().contains("kill 0"))
    rig.end(0, Rig.failure(.signal))
    rig.welcome(increment: 2)
    #expect(rig.trace().contains { $0.contains("finished 0 none stopped forced") })
    var other = Rig.withBothKinds()
    other.advance(.seconds(11))
    other.end(0)
    other.welcome(increment: 2)
    #expect(other.trace().contains { $0.contains("finished 0 ok") })
  }
}
