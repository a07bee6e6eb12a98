// Limits of submissions and of what hangs on operations, at each and one past it.

import Citations
import MessageGenerators
import OpClusterModel
import OpClusterPresentation
import SwiftProtobuf
import Testing

@testable import OpClusterWire

@Suite struct LimitTests {
  private func refusal(_ submission: GraphSubmission) -> WireError? {
    do {
      let bytes = Wire.encode(.request(RequestID(1), .submit(submission)))
      _ = try Wire.decodeClientMessage(bytes)
      return nil
    } catch { return error }
  }

  private func submission(_ change: (inout OperationTemplate) -> Void) -> GraphSubmission {
    var template = OperationTemplate(name: "t", work: .command)
    change(&template)
    var submission = GraphSubmission(name: "g")
    submission.templates = [template]
    return submission
  }

  private func text(_ bytes: Int) -> String { String(repeating: "a", count: bytes) }

  /// Each measure is good at its limit and refused one past it.
  private func expectLimit(
    _ limit: Int, _ make: (Int) -> GraphSubmission,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(refusal(make(limit)) == nil, sourceLocation: sourceLocation)
    #expect(
      refusal(make(limit + 1))?.problem == .beyond(limit: limit), sourceLocation: sourceLocation)
  }

  @Test func textsAndBytes() {
    expectLimit(Limits.ownedSubmissionKeyBytes) {
      GraphSubmission(key: SubmissionKey(text($0)), name: "g")
    }
    expectLimit(Limits.nameBytes) { GraphSubmission(name: text($0)) }
    expectLimit(Limits.nameBytes) { size in submission { $0.name = text(size) } }
    expectLimit(Limits.payloadBytes) { size in
      submission { $0.payload = Array(repeating: 1, count: size) }
    }
    expectLimit(Limits.elementArgumentBytes) { size in
      submission { $0.elementArguments.append(Array(repeating: 1, count: size)) }
    }
    expectLimit(Limits.ownFilesBytes) { size in
      submission { $0.ownFiles.append(Array(repeating: 1, count: size)) }
    }
    expectLimit(Limits.labelBytes) { size in
      submission { $0.labels = [Label(key: "k", value: text(size))] }
    }
  }

  // Runs of element numbers, and steps among them.
  @Test(.checks("G29")) func runsOfOneSelection() {
    func problem(_ runs: [IndexRun]) -> WireError.Problem? {
      let selection = Selection(graphs: .active, elements: runs)
      let bytes = Wire.encode(
        .request(RequestID(1), .operations(selection, after: nil, limit: 1)))
      do {
        _ = try Wire.decodeClientMessage(bytes)
        return nil
      } catch { return error.problem }
    }
    let runs = Limits.indexRunsPerSelection
    let one = IndexRun(first: 1, count: 1)
    #expect(problem(Array(repeating: one, count: runs)) == nil)
    #expect(problem(Array(repeating: one, count: runs + 1)) == .beyond(limit: runs))
    let steps = (0...UInt32(Limits.indexStepsPerSelection)).map {
      IndexRun(first: 1, count: 2, step: $0 + 2)
    }
    #expect(problem(steps.dropLast()) == nil)
    #expect(problem(steps) == .beyond(limit: Limits.indexStepsPerSelection))
  }

  // Keys in one fact of a snapshot.
  @Test(.checks("G27")) func keysOfOneFact() throws {
    func problem(_ count: Int) -> WireError.Problem? {
      let key = KeptKey(
        key: SubmissionKey("k"), graph: GraphID(1), fingerprint: 1, operations: 1, since: .unknown)
      do {
        _ = try Wire.decodeRecords(
          Wire.encode(records: [.restoredKeys(Array(repeating: key, count: count))]))
        return nil
      } catch { return error.problem }
    }
    #expect(problem(Limits.keysPerFact) == nil)
    #expect(problem(Limits.keysPerFact + 1) == .beyond(limit: Limits.keysPerFact))
  }

  @Test func counts() {
    expectLimit(Limits.labelsPerThing) { count in
      submission { $0.labels = Array(repeating: Label(key: "k", value: "v"), count: count) }
    }
    expectLimit(Limits.customResources) { count in
      let custom = (0..<count).map { number in
        Resources.NamedAmount(name: "r\(number + 100)", amount: .zero)
      }
      return submission { $0.demand = Resources(custom: custom) }
    }
    expectLimit(Limits.queuesPerGraph) { count in
      var submission = GraphSubmission(name: "g")
      submission.queues = Array(repeating: .named("q"), count: count)
      return submission
    }
    expectLimit(Limits.operationsPerGraph) { count in
      submission { $0.count = UInt32(count) }
    }
    expectLimit(Limits.templatesPerGraph) { count in
      var submission = GraphSubmission(name: "g")
      submission.templates = Array(
        repeating: OperationTemplate(name: "t", work: .nothing), count: count)
      return submission
    }
  }

  @Test func operationsOfAllTemplatesTogether() {
    var submission = submission { $0.count = UInt32(Limits.operationsPerGraph) }
    submission.templates.append(OperationTemplate(name: "one more", work: .nothing))
    #expect(refusal(submission)?.problem == .beyond(limit: Limits.operationsPerGraph))
  }

  @Test func argumentsForEveryElementOrForNone() {
    let one = submission { template in
      template.count = 2
      template.elementArguments.append([1])
    }
    #expect(refusal(one)?.problem == .unequalColumns)
  }

  @Test func outputsAndLogs() {
    let attempt = AttemptID(operation: OperationID(graph: GraphID(1), index: 0), attempt: 1)
    let conversation = Conversation(epoch: Epoch(1), session: WorkerSession(1), increment: 1)
    for (size, good) in [(Limits.outputBytes, true), (Limits.outputBytes + 1, false)] {
      var result = AttemptResult()
      result.output = Array(repeating: 1, count: size)
      let report = WorkerReport(
        conversation: conversation, number: 1, entries: [.finished(attempt, result)])
      #expect(((try? Wire.decodeWorkerMessage(Wire.encode(.report(report)))) != nil) == good)
    }
    for (size, good) in [(Limits.logChunkBytes, true), (Limits.logChunkBytes + 1, false)] {
      let chunk = LogChunk(
        number: 1, offset: 0, bytes: Array(repeating: 1, count: size), size: 0, isComplete: true)
      #expect(((try? Wire.decodeWorkerMessage(Wire.encode(.logChunk(chunk)))) != nil) == good)
    }
  }

  @Test func retriesAndRows() {
    for (maximum, good) in [(UInt32(100), true), (101, false)] {
      let submission = submission { $0.retry = RetryPolicy(maximum: maximum) }
      #expect((refusal(submission) == nil) == good)
    }
    for (count, good) in [(Limits.rowsPerReply, true), (Limits.rowsPerReply + 1, false)] {
      var generator = MessageGenerator(seed: 3)
      let row = generator.graphRow()
      let answer = ClientAnswer.reply(
        RequestID(1), .graphs(Array(repeating: row, count: count), more: false))
      #expect(
        ((try? Wire.decodeClientAnswer(Wire.encode(answer, wording: \.forShell))) != nil) == good)
    }
  }

  /// `Limits.longestRetryAfter`, as it is sent and as it is read.
  @Test func longestRetryAfter() throws {
    func answer(_ wait: Span) -> [UInt8] {
      Wire.encode(
        .reply(RequestID(1), .refused(Refusal(.busy, "b", retryAfter: wait))), wording: \.forShell)
    }
    let most = Limits.longestRetryAfter
    for wait in [most, Span(nanoseconds: most.nanoseconds + 1)] {
      guard case .reply(_, .refused(let refusal)) = try Wire.decodeClientAnswer(answer(wait)) else {
        Issue.record("not a refusal")
        return
      }
      #expect(refusal.retryAfter == most)
    }
    var late = ProtoClientAnswer()
    late.reply.request = 1
    late.reply.refused.retryAfter = most.nanoseconds + 1
    let bytes: [UInt8] = try late.serializedBytes()
    #expect(throws: WireError("refusal.retry_after", .outOfRange)) {
      try Wire.decodeClientAnswer(bytes)
    }
  }

  /// A run of the journal stands for no more operations than a graph can have.
  @Test func runsOfEvents() {
    let operation = OperationID(graph: GraphID(1), index: .max - 1)
    let event = Event(
      sequence: 1, commit: CommitIndex(1), time: .unknown,
      subject: .operation(operation, sequence: 1), kind: .isReady(true))
    for (count, good) in [(UInt32(2), true), (3, false), (.max, false)] {
      let bytes = Wire.encode(eventRuns: [EventRun(first: event, count: count)])
      #expect(((try? Wire.decodeEventRuns(bytes)) != nil) == good)
    }
  }
}
