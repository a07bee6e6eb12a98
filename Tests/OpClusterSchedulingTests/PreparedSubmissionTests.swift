// Submissions that were prepared before the scheduler sees them: they mean what they mean
// otherwise.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct PreparedSubmissionTests {
  private func prepared(_ submission: GraphSubmission) -> PreparedSubmission {
    PreparedSubmission(submission, encoded: EncodedSubmission(whole: [1], shown: [2]))
  }

  private func reply(_ turn: SchedulingTurn) -> ClientReply? {
    for case .toClient(_, _, let reply) in turn.afterDurable + turn.atOnce { return reply }
    return nil
  }

  /// One turn with one submission.
  private func take(
    _ prepared: inout PreparedSubmission, into scheduler: inout Scheduler
  ) -> SchedulingTurn {
    var turn = SchedulingTurn()
    turn.begin(at: .zero, wall: WallTime(milliseconds: 1_000_000))
    scheduler.handle(&prepared, from: PeerID(1), RequestID(1), into: &turn)
    scheduler.close(&turn)
    return turn
  }

  private func mixed() -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey("k"), name: "mixed")
    submission.queues = [.named("default"), .own(QueueSettings(name: "own")), .named("default")]
    for at in 0..<40 {
      var template = noops("t\(at)", UInt32(at % 4))
      template.queue = UInt32(at % 3)
      if at == 20 || at == 33 {
        template.count = 1
        template.isBarrier = true
      }
      if at % 7 == 3 { template.isHeld = true }
      if at % 9 == 4 { template.notBefore = .at(WallTime(milliseconds: 2_000_000)) }
      if at % 9 == 5 { template.notBefore = .at(WallTime(milliseconds: 500_000)) }
      submission.templates.append(template)
    }
    submission.groupEdges = [
      GroupEdge(from: 1, to: 5, policy: .succeeded), GroupEdge(from: 2, to: 38, policy: .finished),
      GroupEdge(from: 6, to: 10, policy: .finished, match: .sameIndex),
    ]
    submission.elementEdges = ElementEdges(from: [0, 1, 0], to: [8, 30, 31], policies: [.finished])
    return submission
  }

  // Prepared for pages of this size or for others, or a second time with its plan gone: the state
  // is that of a replay, which makes the plan itself.
  @Test(.checks("G4"), arguments: [CellTable.usualPageBits, 1])
  func theStateIsThatOfAReplay(pageBits: UInt32) {
    var scheduler = Scheduler(pageBits: pageBits)
    var turn = SchedulingTurn()
    turn.begin(at: .zero, wall: WallTime(milliseconds: 1_000_000))
    scheduler.start(into: &turn)
    scheduler.close(&turn)
    var journal = [turn.records]
    var submission = mixed()
    var prepared = prepared(submission)
    let first = take(&prepared, into: &scheduler)
    guard case .accepted(GraphID(1), let operations, repeated: false)? = reply(first) else {
      Issue.record("\(String(describing: reply(first)))")
      return
    }
    #expect(Int(operations) == submission.operationCount)
    #expect(first.submissions.map(\.encoded?.whole) == [[1]])
    journal.append(first.records)
    // The same again is the same graph, whoever prepared it.
    let again = take(&prepared, into: &scheduler)
    #expect(
      reply(again) == .accepted(GraphID(1), operations: operations, repeated: true))
    submission.key = SubmissionKey("other")
    prepared = self.prepared(submission)
    _ = prepared.takePlan()
    journal.append(take(&prepared, into: &scheduler).records)
    var replayed = Scheduler()
    for (at, records) in journal.enumerated() {
      replayed.replay(records, commit: CommitIndex(UInt64(at + 1)))
    }
    #expect(replayed.snapshot() == scheduler.snapshot())
    var restored = Scheduler()
    restored.restore(scheduler.snapshot(), commit: scheduler.lastCommit)
    #expect(restored.snapshot() == scheduler.snapshot())
  }

  // Another content under the same key is refused, and so is what follows from the submission
  // alone.
  @Test(.checks("S11", "S58")) func refusals() {
    var scheduler = Scheduler()
    var prepared = prepared(mixed())
    _ = take(&prepared, into: &scheduler)
    var other = mixed()
    other.name = "other"
    prepared = self.prepared(other)
    guard case .refused(let conflict)? = reply(take(&prepared, into: &scheduler)) else {
      Issue.record("another content was accepted")
      return
    }
    #expect(conflict.code == .conflict)
    other.key = SubmissionKey("cycle")
    other.groupEdges.append(GroupEdge(from: 5, to: 1, policy: .succeeded))
    prepared = self.prepared(other)
    guard case .refused(let cycle)? = reply(take(&prepared, into: &scheduler)) else {
      Issue.record("a cycle was accepted")
      return
    }
    #expect(cycle.code == .cycle && cycle.message.contains("t1") && cycle.message.contains("t5"))
  }
}
