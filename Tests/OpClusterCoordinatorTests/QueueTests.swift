// The small machines of the loop: what waits for the disk, what waits for a worker's log, when a
// snapshot is due, how history is cut into chapters, how a moment is written.

import Citations
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import Testing

@testable import OpClusterCoordinator

@Suite struct QueueTests {
  // MARK: - G3

  private func turn(_ commit: UInt64) -> UnreleasedTurn {
    UnreleasedTurn(
      commit: commit, items: [.close(PeerID(commit))], events: .runs([]), lastEvent: commit,
      since: .zero)
  }

  private func commits(of queue: inout ReleaseQueue) -> [UInt64] {
    var commits: [UInt64] = []
    while let turn = queue.next() { commits.append(turn.commit) }
    return commits
  }

  @Test func nothingLeavesBeforeItIsDurable() {
    var queue = ReleaseQueue(durable: 4)
    queue.append(turn(4))
    queue.append(turn(5))
    queue.append(turn(5))
    queue.append(turn(6))
    #expect(commits(of: &queue) == [4])
    queue.becameDurable(through: 5)
    #expect(commits(of: &queue) == [5, 5])
    queue.becameDurable(through: 3)
    #expect(commits(of: &queue) == [] && !queue.isEmpty)
    queue.becameDurable(through: 9)
    #expect(commits(of: &queue) == [6] && queue.isEmpty)
  }

  @Test func aLongQueueKeepsItsOrder() {
    var queue = ReleaseQueue(durable: 0)
    for commit in 1...5_000 { queue.append(turn(UInt64(commit))) }
    queue.becameDurable(through: 4_000)
    #expect(commits(of: &queue) == Array(1...4_000))
    queue.append(turn(6_000))
    queue.becameDurable(through: 6_000)
    #expect(commits(of: &queue) == Array(4_001...5_000) + [6_000])
  }

  // MARK: - Logs

  private func question(_ request: UInt64) -> LogQuestion {
    LogQuestion(
      peer: PeerID(1), request: RequestID(request),
      attempt: AttemptSelection(operation: OperationID(graph: GraphID(1), index: 0)),
      stream: .standardOutput, offset: 0, maximumBytes: .max)
  }

  private func ask(_ relay: inout LogRelay, _ request: UInt64, worker: UInt64) -> LogRequest {
    relay.ask(
      question(request),
      attempt: AttemptID(operation: OperationID(graph: GraphID(1), index: 0), attempt: 1),
      worker: PeerID(worker), workerName: "w\(worker)",
      deadline: Instant(nanoseconds: Int64(request)))
  }

  private func chunk(_ number: UInt64, problem: String = "") -> LogChunk {
    LogChunk(number: number, offset: 0, bytes: [1], size: 1, isComplete: true, problem: problem)
  }

  @Test func logsGoBackToWhoAsked() {
    var relay = LogRelay()
    let first = ask(&relay, 10, worker: 7)
    let second = ask(&relay, 20, worker: 7)
    #expect(first.maximumBytes == UInt32(Limits.logChunkBytes))
    let stranger = relay.take(chunk(second.number), from: PeerID(8))
    let right = relay.take(chunk(second.number), from: PeerID(7))
    let again = relay.take(chunk(second.number), from: PeerID(7))
    #expect(stranger == nil && right?.request == RequestID(20) && again == nil)
    let answer = relay.take(chunk(first.number, problem: "gone"), from: PeerID(7))
    guard case .refused(let refusal)? = answer?.reply else {
      Issue.record("no refusal")
      return
    }
    #expect(refusal.code == .noSuchLog && refusal.message == "worker w7: gone")
    #expect(relay.nextDeadline == nil)
  }

  @Test func workersThatDoNotAnswerAreNamed() {
    var relay = LogRelay()
    _ = ask(&relay, 10, worker: 7)
    _ = ask(&relay, 20, worker: 8)
    _ = ask(&relay, 30, worker: 7)
    let early = relay.expire(at: Instant(nanoseconds: 9))
    #expect(early.isEmpty)
    let late = relay.expire(at: Instant(nanoseconds: 10))
    #expect(late.map(\.request) == [RequestID(10)])
    guard case .refused(let refusal)? = late.first?.reply else {
      Issue.record("no refusal")
      return
    }
    #expect(refusal.code == .workerUnavailable && refusal.message.contains("w7"))
    let gone = relay.workerGone(PeerID(7))
    #expect(gone.map(\.request) == [RequestID(30)])
    #expect(relay.nextDeadline == Instant(nanoseconds: 20))
  }

  // MARK: - Snapshots

  @Test func snapshotsComeByTurnsOrBytes() {
    var policy = SnapshotPolicy(turns: 3, bytes: 1_000)
    policy.appended(bytes: 10)
    policy.appended(bytes: 10)
    #expect(!policy.isDue)
    policy.appended(bytes: 10)
    #expect(policy.isDue)
    let size = SnapshotSize()
    policy.began(size)
    size.add(4_000)
    policy.appended(bytes: 100_000)
    #expect(!policy.isDue, "one is being written")
    policy.ended()
    #expect(policy.isDue)
    policy.began(size)
    policy.ended()
    policy.appended(bytes: 7_999)
    #expect(!policy.isDue, "a large state is written less often")
    policy.appended(bytes: 1)
    #expect(policy.isDue)
  }

  @Test func partsHoldEverythingInOrder() throws {
    var records: [Record] = [.restoredCounters(Counters())]
    for number in 1...5_000 as ClosedRange<UInt32> {
      records.append(.queueCreated(QueueID(number), QueueSettings(name: "q\(number)")))
    }
    for graph in 1...3 as ClosedRange<UInt32> {
      var template = OperationTemplate(
        name: "n", count: 5_000, work: .call(OperationType(name: "noop")))
      template.isArray = true
      records += Self.graph(graph, template)
    }
    let parts = Self.parts(of: records)
    #expect(parts.parts.count > 4)
    #expect(try parts.parts.flatMap { try Wire.decodeRecords($0) } == parts.records)
  }

  /// Few records with many bytes are as many parts: encoding one takes its bytes three times,
  /// beside all that the coordinator has.
  @Test(.checks("G29")) func partsAreBoundedInBytes() throws {
    let large = [UInt8](repeating: 120, count: Limits.elementArgumentBytes)
    var template = OperationTemplate(
      name: "n", count: 64, work: .call(OperationType(name: "noop")))
    template.payload = [UInt8](repeating: 121, count: Limits.payloadBytes)
    template.isArray = true
    var kept = template
    for _ in 0..<64 { template.elementArguments.append(large) }
    kept.payload = []
    var records: [Record] = [.restoredCounters(Counters())]
    for graph in 1...8 as ClosedRange<UInt32> {
      var more = Self.graph(graph, graph % 2 == 0 ? template : kept)
      if graph % 2 == 1, case .restoredGraph(var state) = more[1] {
        state.outputs = (0..<64).map { GraphState.OutputEntry(index: $0, output: large) }
        more[1] = .restoredGraph(state)
      }
      records += more
    }
    for first in [0, 40] {
      records.append(
        .restoredReusable(
          (first..<first + 40).compactMap { number in
            ContentDigest(bytes: [UInt8](repeating: UInt8(number), count: 32)).map {
              ReusableOutcome(
                key: $0, operation: OperationID(graph: GraphID(1), index: 0), output: large)
            }
          }))
    }
    let parts = Self.parts(of: records)
    #expect(try parts.parts.flatMap { try Wire.decodeRecords($0) } == parts.records)
    #expect(parts.parts.allSatisfy { $0.count < 6 << 20 }, "\(parts.parts.map(\.count))")
    #expect(parts.parts.count >= 9)
  }

  private static func graph(_ number: UInt32, _ template: OperationTemplate) -> [Record] {
    var submission = GraphSubmission(key: SubmissionKey("k\(number)"), name: "g\(number)")
    submission.templates = [template]
    submission.templates[0].isHeld = true
    var state = GraphState(graph: GraphID(number))
    let none = [UInt8](repeating: 0, count: Int(template.count))
    let zero = [UInt32](repeating: 0, count: Int(template.count))
    (state.phases, state.flags, state.outcomes) = (none, none, none)
    (state.attempts, state.losses, state.eventSequences, state.workers) = (zero, zero, zero, zero)
    return [
      .submitted(GraphID(number), submission, fingerprint: 0, at: WallTime(milliseconds: 1)),
      .restoredGraph(state),
    ]
  }

  /// The parts of a snapshot of the state that these facts make, and its facts.
  private static func parts(of records: [Record]) -> (parts: [[UInt8]], records: [Record]) {
    var scheduler = Scheduler()
    scheduler.restore(records, commit: CommitIndex(1))
    let size = SnapshotSize()
    let parts = SnapshotParts(scheduler.image, size)
    let bytes = (0..<parts.count).map { parts.encoded($0) }
    #expect(size.bytes == bytes.reduce(0) { $0 + $1.count })
    return (bytes, scheduler.snapshot())
  }

  // MARK: - History

  @Test func chaptersAreNarrow() throws {
    func line(_ graph: UInt32, _ index: UInt32, _ attempt: UInt32) -> AttemptHistory {
      AttemptHistory(
        attempt: AttemptID(
          operation: OperationID(graph: GraphID(graph), index: index), attempt: attempt),
        outcome: .succeeded, reason: nil, workerName: "w", result: .done)
    }
    let far = CoordinatorLimits.membersPerChapter * 2
    let history = [line(1, 3, 1), line(2, 0, 1), line(1, far, 1), line(1, 2, 1), line(1, 3, 2)]
    var found: [[AttemptHistory]] = []
    for chapter in Chapters.chapters(of: history) {
      guard case .chapter(let subject, let first, let last, let body) = chapter else {
        Issue.record("not a chapter")
        return
      }
      let lines = try Wire.decodeHistory(body)
      #expect(lines.allSatisfy { UInt64($0.attempt.operation.graph.number) == subject })
      #expect(lines.map(\.attempt.operation.index).min() == first)
      #expect(lines.map(\.attempt.operation.index).max() == last)
      found.append(lines)
    }
    #expect(
      found == [[line(1, 3, 1), line(1, 2, 1), line(1, 3, 2)], [line(1, far, 1)], [line(2, 0, 1)]])
  }
}
