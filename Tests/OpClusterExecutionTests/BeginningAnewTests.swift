// The coordinator's journal went back behind what the worker was told: it becomes another worker in
// the same process (G13, G14, G16).

import OpClusterExecution
import OpClusterModel
import Testing

extension Rig {
  /// Runs 0 and 1, holds 2 for want of room and 3 for want of 2; the end of 4 is not acknowledged.
  fileprivate static func busy() -> Rig {
    var rig = Rig()
    rig.known = HistoryMark(
      life: CoordinatorLife(Epoch(1), number: 9), commit: CommitIndex(10))
    rig.welcome()
    rig.order {
      $0.templates = [template()]
      $0.dispatches = [dispatch(4)]
      $0.commit = CommitIndex(11)
    }
    rig.end(4)
    rig.order {
      $0.dispatches = [dispatch(0), dispatch(1), dispatch(2), dispatch(3, awaits: [2])]
      $0.commit = CommitIndex(12)
    }
    #expect(rig.running == [attempt(0), attempt(1)])
    _ = rig.trace()
    return rig
  }

  fileprivate var lastHello: WorkerHello? {
    for case .hello(let hello) in messages.reversed() { return hello }
    return nil
  }

  /// A new socket, and the answer that this history is not the coordinator's.
  fileprivate mutating func isRefused() {
    apply(.disconnected)
    while !isGreeting { passTime() }
    apply(.message(.refused(Refusal(.otherHistory, "restored"))))
  }
}

@Suite struct BeginningAnewTests {
  // It names the newest commit that it was told of.
  @Test func itSaysHowFarItKnows() {
    var rig = Rig.busy()
    rig.apply(.disconnected)
    while !rig.isGreeting { rig.passTime() }
    #expect(rig.lastHello?.known?.commit == CommitIndex(12))
    #expect(rig.lastHello?.known?.life.number == 9)
  }

  // Everything is killed and forgotten, and only when all of it is gone it says hello, as another.
  @Test func killsForgetsAndComesBackAsAnother() throws {
    var rig = Rig.busy()
    let before = rig.core.identity.session
    rig.isRefused()
    let lines = rig.trace()
    #expect(lines.suffix(2) == ["kill 0", "kill 1"], "\(lines)")
    #expect(rig.core.counts.assigned == 0)
    #expect(rig.core.counts.unacknowledged == 0)
    rig.advance(.seconds(60))
    #expect(rig.trace() == [], "no word while something of it lives")
    rig.end(0, Rig.failure(.signal))
    rig.advance(.seconds(1))
    #expect(rig.trace() == [])
    rig.end(1, Rig.failure(.signal))
    #expect(rig.trace() == ["forget 0", "forget graph 7"])
    rig.advance(.milliseconds(100))
    #expect(rig.trace() == ["renew", "hello assigned= executing="])
    #expect(rig.lastHello?.known == nil)
    #expect(rig.lastHello?.session != before)
    // The same attempts again, with another meaning: they are run.
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0), Rig.dispatch(4)]
    }
    #expect(rig.trace().filter { $0.hasPrefix("launch") } == ["launch 0", "launch 4"])
  }

  // A wish to leave is the worker's own; a drain was meant for the other session.
  @Test func drainsAreForgottenAndWishesKept() {
    var drained = Rig.busy()
    drained.order { $0.drain = true }
    drained.isRefused()
    for index in [0, 1] as [UInt32] { drained.end(index) }
    drained.advance(.milliseconds(100))
    drained.welcome()
    drained.order {
      $0.templates = [Rig.template()]
      $0.dispatches = [Rig.dispatch(0)]
    }
    #expect(drained.trace().contains("launch 0"))
    var leaving = Rig.busy()
    leaving.apply(.leave)
    leaving.isRefused()
    for index in [0, 1] as [UInt32] { leaving.end(index) }
    #expect(leaving.core.exit == .drained)
  }

  // The answer to another hello than the one that is out, or none, is late.
  @Test func aLateAnswerChangesNothing() {
    var rig = Rig.busy()
    rig.apply(.message(.refused(Refusal(.otherHistory, "restored"))))
    #expect(rig.running == [Rig.attempt(0), Rig.attempt(1)])
    #expect(!rig.trace().contains { $0.hasPrefix("kill") })
  }
}
