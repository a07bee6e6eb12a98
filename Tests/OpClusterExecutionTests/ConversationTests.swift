// The conversation: numbers, gaps, silence, backing off, the holes of Simulation.md.

import Citations
import OpClusterExecution
import OpClusterModel
import Testing

@Suite struct ConversationTests {
  static func started(cpus: Int64 = 1, _ count: UInt32 = 1) -> Rig {
    var rig = Rig(cpus: cpus)
    rig.welcome()
    rig.order {
      $0.templates = [Rig.template()]
      $0.dispatches = (0..<count).map { Rig.dispatch($0, place: UInt64($0)) }
    }
    _ = rig.trace()
    return rig
  }

  // Hole 1: hello and dispatch cross. The dispatch belongs to the old conversation: not obeyed.
  @Test func aDispatchThatCrossesTheHelloIsDropped() {
    var rig = Self.started(cpus: 2)
    let old = rig.conversation!
    rig.apply(.disconnected)
    while !rig.lines.contains(where: { $0.hasPrefix("hello") }) { rig.passTime() }
    var crossing = WorkerOrders(conversation: old, number: 2, acknowledged: 0)
    crossing.dispatches = [Rig.dispatch(1)]
    rig.apply(.message(.orders(crossing)))
    rig.welcome(increment: 2)
    rig.apply(.message(.orders(crossing)))
    #expect(rig.running == [Rig.attempt(0)])
    #expect(rig.core.counts.late == 2)
  }

  // Hole 2: a late copy of a dispatch after finish and acknowledgement does not run again; the
  // next attempt does.
  @Test func aLateCopyIsNotRunAgain() {
    var rig = Self.started()
    rig.end(0)
    rig.order(acknowledged: 3)
    _ = rig.trace()
    rig.order { $0.dispatches = [Rig.dispatch(0)] }
    #expect(rig.trace() == [])
    #expect(rig.core.counts.launched == 1)
    rig.order { $0.dispatches = [Rig.dispatch(0, attempt: 2)] }
    #expect(rig.trace() == ["launch 0.2", "report 4: started 0.2"])
  }

  // What is said again is the same and nothing to learn, but for the name of its queue.
  @Test(.checks("S146")) func aRenamedQueueIsLearnt() {
    var rig = Self.started(cpus: 2, 2)
    rig.order { $0.templates = [Rig.template()] }
    #expect(rig.trace() == [])
    var renamed = Rig.template()
    renamed.queueName = "other"
    rig.order { $0.templates = [renamed] }
    rig.order { $0.templates = [renamed] }
    #expect(rig.trace() == ["learn t0 as 0"])
    #expect(rig.running.count == 2)
  }

  // An element that was moved goes with the name of its own queue.
  @Test(.checks("S146")) func aMovedElementKeepsTheNameOfItsQueue() {
    var rig = Self.started(cpus: 4, 1)
    var moved = Rig.dispatch(1)
    moved.queueName = "other"
    rig.order { $0.dispatches = [moved, Rig.dispatch(2)] }
    #expect(rig.launches.map(\.queueName) == [nil, "other", nil])
  }

  // A copy of one that runs is answered with its present state.
  @Test(.checks("S13")) func aCopyOfARunningOneIsAnswered() {
    var rig = Self.started()
    rig.order { $0.dispatches = [Rig.dispatch(0)] }
    #expect(rig.trace() == ["report 3: already 0"])
  }

  @Test func aRepeatIsDroppedAndAGapRenews() {
    var rig = Self.started(2)
    var orders = WorkerOrders(conversation: rig.conversation!, number: 1, acknowledged: 0)
    orders.recalls = [Rig.attempt(1)]
    rig.apply(.message(.orders(orders)))
    #expect(rig.trace() == [])
    orders.number = 3
    rig.apply(.message(.orders(orders)))
    #expect(rig.core.conversation == nil)
    rig.passTime()
    #expect(rig.trace() == ["renew", "hello assigned=1 executing=0"])
  }

  // Everything unacknowledged is told again after a new welcome, in order; what is
  // stale is not, and what has ended is still the worker's until then.
  @Test(.checks("S115", "G34", "A9")) func unacknowledgedReportsAreToldAgain() {
    var rig = Self.started(cpus: 4, 4)
    rig.end(0)
    rig.end(1, Rig.failure())
    rig.end(2)
    rig.order(acknowledged: 3)
    rig.apply(.disconnected)
    rig.end(3)
    _ = rig.trace()
    rig.welcome(increment: 2, stale: [Rig.attempt(1)])
    #expect(
      rig.trace() == [
        "renew", "hello assigned= executing=1,2,3", "report 1: finished 2 ok, finished 3 ok",
      ])
  }

  // Stale in the welcome: what runs is killed, what is held is forgotten.
  @Test func staleInTheWelcome() {
    var rig = Self.started(2)
    rig.apply(.disconnected)
    rig.welcome(increment: 2, stale: [Rig.attempt(0), Rig.attempt(1)])
    #expect(
      rig.trace() == ["renew", "hello assigned=1 executing=0", "kill 0", "report 1: "])
    rig.end(0, Rig.failure(.signal))
    #expect(rig.core.counts.assigned == 0)
    #expect(rig.core.counts.running == 0)
    #expect(rig.core.counts.unacknowledged == 0)
  }

  // A heartbeat without a number is heard, and changes nothing.
  @Test func bareHeartbeat() {
    var rig = Self.started()
    rig.advance(.seconds(4))
    let beat = WorkerOrders(conversation: rig.conversation!, number: 0, acknowledged: 0)
    rig.apply(.message(.orders(beat)))
    rig.advance(.seconds(4))
    #expect(rig.core.conversation == rig.conversation)
    #expect(rig.core.counts.late == 0)
  }

  // The own heartbeats come with the coordinator's, whatever lay between them at first, and are no
  // more than those.
  @Test(.checks("G22"), arguments: [0, 10, 200, 400, 600, 990])
  func heartbeatsComeTogether(apart milliseconds: Int64) {
    var rig = Self.started()
    rig.advance(.milliseconds(milliseconds))
    var told: [Instant] = []
    let earlier = rig.messages.count
    for _ in 1...8 {
      rig.advance(.milliseconds(950))
      let before = rig.messages.count
      rig.advance(.milliseconds(50))
      let beat = WorkerOrders(conversation: rig.conversation!, number: 0, acknowledged: 0)
      rig.apply(.message(.orders(beat)))
      if rig.messages.count > before { told.append(rig.now) }
    }
    #expect(told.count >= 6)
    #expect(rig.messages.count - earlier <= 8 + 2)
  }

  // A refusal within a conversation: everything begins anew, soon.
  @Test func refusedWithinAConversation() {
    var rig = Self.started()
    let refused = rig.now
    rig.apply(.message(.refused(Refusal(.unknownWorker, "say hello first"))))
    while !rig.lines.contains("renew") { rig.passTime() }
    #expect(rig.now - refused <= .milliseconds(50))
    #expect(rig.running == [Rig.attempt(0)])
  }

  // The coordinator is silent: a fresh socket after `suspect`, retries further and further apart.
  @Test(.checks("G22", "A19")) func silenceRenews() {
    var rig = Self.started()
    let heard = rig.now
    rig.advance(.seconds(4))
    #expect(rig.trace() == (3...6).map { "report \($0): " })
    while !rig.lines.contains("renew") { rig.passTime() }
    let due = heard + .seconds(5)
    #expect(rig.now - due >= .milliseconds(25) && rig.now - due <= .milliseconds(50))
    var waits: [Span] = []
    // Each hello without an answer gets the next one more time, up to a bound.
    for greeting in [3, 6, 12, 24, 48, 48, 48, 48] as [Int64] {
      let opened = rig.now
      _ = rig.trace()
      while !rig.lines.contains("renew") { rig.passTime() }
      waits.append(rig.now - (opened + .seconds(greeting)))
    }
    #expect(waits.allSatisfy { $0 >= .zero })
    #expect(waits.last! >= .seconds(1) && waits.allSatisfy { $0 <= .seconds(2) })
    #expect(rig.running == [Rig.attempt(0)])
  }

  /// A coordinator that needs longer for a hello than the worker waits answers a closed socket, and
  /// goes on to do so if each hello waits no longer than the one before.
  @Test(.checks("A19")) func aSlowCoordinatorIsReached() throws {
    for seconds in [1, 4, 10, 20] as [Int64] {
      var rig = Rig()
      var (free, hellos) = (rig.now, 0)
      while hellos < 20 {
        _ = rig.trace()
        while !rig.lines.contains("renew") { rig.passTime() }
        hellos += 1
        // It takes one hello after the other.
        free = max(free, rig.now) + .seconds(seconds)
        if try #require(rig.core.nextDeadline) > free { break }
      }
      #expect(hellos <= 6, "\(seconds) s")
    }
  }

  // Without a lease nothing new starts; with the coordinator back it does.
  @Test(.checks("S13", "G22")) func nothingStartsWithoutALease() {
    var rig = Self.started(2)
    rig.advance(.seconds(6))
    rig.end(0)
    #expect(rig.running == [])
    rig.welcome(increment: 2)
    #expect(rig.running == [Rig.attempt(1)])
  }

  // The coordinator may have given away what waits here before it forgot the conversation.
  @Test(.checks("S13", "S147")) func nothingStartsAfterTheConversationWasRefused() {
    var rig = Self.started(2)
    rig.apply(.message(.refused(Refusal(.unknownWorker, "say hello first"))))
    rig.end(0)
    #expect(rig.running == [])
    while !rig.lines.contains(where: { $0.hasPrefix("hello") }) { rig.passTime() }
    #expect(rig.running == [])
    rig.welcome(increment: 2, stale: [Rig.attempt(1)])
    #expect(rig.running == [])
    #expect(rig.launches.count == 1)
  }

  // The same where the worker has given it up for a gap before it hears that.
  @Test(.checks("S13", "S147")) func nothingStartsAfterARefusalOfWhatWasGivenUp() {
    var rig = Self.started(2)
    let gap = WorkerOrders(conversation: rig.conversation!, number: 9, acknowledged: 0)
    rig.apply(.message(.orders(gap)))
    rig.apply(.message(.refused(Refusal(.unknownWorker, "say hello first"))))
    rig.end(0)
    #expect(rig.running == [])
    #expect(rig.launches.count == 1)
  }

  // A hello asks what still belongs here.
  @Test(.checks("S13", "S147")) func nothingStartsBeforeTheHelloIsAnswered() {
    var rig = Self.started(2)
    rig.apply(.disconnected)
    while !rig.lines.contains(where: { $0.hasPrefix("hello") }) { rig.passTime() }
    rig.end(0)
    #expect(rig.running == [])
    rig.welcome(increment: 2)
    #expect(rig.running == [Rig.attempt(1)])
  }

  // What runs goes on without a coordinator, for `orphan`, then it is stopped.
  @Test(.checks("G24")) func orphan() {
    var rig = Self.started(2)
    rig.advance(.seconds(24 * 3600 - 5))
    #expect(!rig.lines.contains("stop 0"))
    rig.advance(.seconds(10))
    #expect(rig.lines.contains("stop 0"))
    rig.end(0, Rig.failure(.signal))
    rig.welcome(increment: 2)
    #expect(rig.lines.last { $0.hasPrefix("hello") } == "hello assigned=1 executing=0")
    #expect(
      rig.messages.contains { message in
        if case .report(let report) = message {
          report.entries.contains(.finished(Rig.attempt(0), Rig.failure(.workerStopped)))
        } else {
          false
        }
      })
    #expect(rig.running == [Rig.attempt(1)])
  }

  @Test func refusals() {
    var rig = Rig()
    rig.passTime()
    rig.apply(.message(.refused(Refusal(.busy, "later"))))
    #expect(rig.core.exit == nil)
    _ = rig.trace()
    let refused = rig.now
    while !rig.lines.contains("renew") { rig.passTime() }
    #expect(rig.now - refused >= .seconds(1))
    let refusal = Refusal(.versionMismatch, "speaks 2…3, this worker 1…1")
    rig.apply(.message(.refused(refusal)))
    #expect(rig.core.exit == .refused(refusal))
    #expect(rig.core.nextDeadline == nil)
  }

  // A template that was never told: the peers disagree, so they begin again.
  @Test func unknownTemplate() {
    var rig = Self.started()
    rig.order { $0.dispatches = [Rig.dispatch(4, template: 5)] }
    #expect(rig.core.conversation == nil)
  }

  // A coordinator that chooses a version which was not offered is not served.
  @Test(.checks("G32")) func welcomeInAnotherVersion() {
    var rig = Rig()
    while rig.messages.isEmpty { rig.passTime() }
    let conversation = Conversation(epoch: Epoch(1), session: WorkerSession(5), increment: 1)
    rig.apply(
      .message(
        .welcome(
          Welcome(
            conversation: conversation, version: 99, worker: WorkerID(1), timing: Timing()))))
    guard case .refused(let refusal)? = rig.core.exit else {
      Issue.record("\(String(describing: rig.core.exit))")
      return
    }
    #expect(refusal.code == .versionMismatch)
    #expect(refusal.message.contains("99") && refusal.message.contains("1 to 1"))
    #expect(rig.core.conversation == nil)
  }

  // A welcome of another session, or without a hello, is not for us.
  @Test func foreignWelcome() {
    var rig = Self.started()
    let other = Conversation(epoch: Epoch(1), session: WorkerSession(6), increment: 9)
    rig.apply(
      .message(
        .welcome(
          Welcome(conversation: other, version: 1, worker: WorkerID(1), timing: Timing()))))
    #expect(rig.core.conversation == rig.conversation)
  }

  // Reports are cut to what a message may have (entries here; bytes by outputs).
  @Test func reportsAreCut() {
    var rig = Rig(cpus: 1024)
    rig.welcome()
    var orders = WorkerOrders(conversation: rig.conversation!, number: 1, acknowledged: 0)
    orders.templates = [Rig.template()]
    orders.dispatches = (0..<200).map { Rig.dispatch($0) }
    rig.core.apply(.message(.orders(orders)), at: rig.now, into: &rig.effects)
    while rig.core.startReady(atMost: 8, at: rig.now, into: &rig.effects) > 0 {}
    var result = AttemptResult()
    result.output = Array(repeating: 7, count: Limits.outputBytes)
    for index: UInt32 in 0..<200 {
      rig.core.apply(.ended(Rig.attempt(index), result), at: rig.now, into: &rig.effects)
    }
    rig.ordersSent = 1
    let before = rig.messages.count
    rig.turn()
    #expect(rig.messages.count - before == 4)
    for case .report(let report) in rig.messages[before...] {
      #expect(report.entries.count * Limits.outputBytes <= Limits.messageBytes / 4)
    }
    rig.order(acknowledged: 5)
    #expect(rig.core.counts.unacknowledged == 0)
  }
}
