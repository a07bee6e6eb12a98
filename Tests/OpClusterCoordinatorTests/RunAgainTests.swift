// Graphs that are run again, and runs as people count them, through the body: history, logs, and
// what a worker is told.

import Citations
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Testing

@Suite struct RunAgainTests {
  //  a ──► b (fails)
  private var half: GraphSubmission {
    var submission = GraphSubmission(name: "half")
    submission.templates = ["a", "b"].map { OperationTemplate(name: $0, work: .command) }
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    return submission
  }

  // Living and ended graphs come back as they were submitted, and run again without what
  // succeeded; the history knows both lives.
  @Test(.checks("S11")) func whatFailedRunsAgain() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder)
    var client = try TestClient(service)
    var worker = try TestWorker(service)
    let first = try client.submit(half)
    #expect(
      try client.ask(.submission(first)) == .submission(half, outcomes: [0, 0]))
    var output = AttemptResult.done
    output.output = [7]
    try worker.work(through: 1, result: output)
    try worker.work(through: 1, result: .failed(3))
    _ = try client.awaitEnd(of: first)
    let outcomes = [Outcome.succeeded.rawValue, Outcome.failed.rawValue]
    #expect(try client.ask(.submission(first)) == .submission(half, outcomes: outcomes))

    var again = half
    again.templates[1].wantsInputs = true
    var reused = OperationRuns(graph: first)
    reused.append(0)
    again.continued = ContinuedGraph(graph: first, reused: reused)
    let second = try client.submit(again)
    service.stop()
    service = try Service(.disk, in: folder)
    client = try TestClient(service)
    worker = try TestWorker(service, session: 2)
    let dispatch = try worker.awaitDispatches(1)[0]
    #expect(dispatch.attempt.operation == OperationID(graph: second, index: 1))
    #expect(dispatch.inputs.map(\.output) == [[7]])
    try worker.awaitAcknowledgement(of: worker.report([.finished(dispatch.attempt, .done)]))
    let row = try client.awaitEnd(of: second)
    #expect(row.state == .succeeded && row.counts[.succeeded] == 2)
    #expect(
      try client.ask(.submission(second)) == .submission(again, outcomes: [1, 1]))
    let rows = try client.operations(.graph(second))
    #expect(rows.map(\.state) == [.succeeded, .succeeded])
    #expect(rows.map(\.attempt) == [0, 1])
    guard case .refused(let refusal) = try client.ask(.submission(GraphID(9))) else {
      Issue.record("a submission of nothing")
      return
    }
    #expect(refusal.code == .unknownGraph)
  }

  // A recall and a loss on the way; history, rows and logs count runs.
  @Test(.checks("S12", "C9")) func runsAreCountedNotLeases() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    var submission = arrayGraph("g", 1)
    submission.templates[0].retry.maximum = 1
    let graph = try client.submit(submission)
    let id = OperationID(graph: graph, index: 0)
    _ = try worker.awaitDispatches(1)
    // Taken for unstarted: it comes back, and the next lease is still the first run.
    try worker.awaitAcknowledgement(
      of: worker.report([.recalled(AttemptID(operation: id, attempt: 1))]))
    let second = try worker.awaitDispatches(1)[0]
    #expect(second.attempt.attempt == 2 && second.run == 1)
    try worker.awaitAcknowledgement(of: worker.report([.finished(second.attempt, .failed(1))]))
    let third = try worker.awaitDispatches(1)[0]
    #expect(third.attempt.attempt == 3 && third.run == 2)
    #expect(try client.operations(.graph(graph)).map(\.attempt) == [1])
    try worker.awaitAcknowledgement(of: worker.report([.started(third.attempt)]))
    #expect(try client.operations(.graph(graph)).map(\.attempt) == [2])

    // The log of each run is that of its lease: of the living one, and of the one before it.
    for (run, lease) in [(2, third), (1, second)] as [(UInt32, Dispatch)] {
      let asked = worker.logRequests.count
      _ = try client.send(
        .log(
          AttemptSelection(operation: id, attempt: run), .standardOutput, offset: 0,
          maximumBytes: 10))
      while worker.logRequests.count == asked { try #require(try worker.takeNext()) }
      #expect(worker.logRequests.last?.attempt == lease.attempt)
    }
    try worker.awaitAcknowledgement(of: worker.report([.finished(third.attempt, .done)]))
    _ = try client.awaitEnd(of: graph)
    let row = try #require(try client.operations(.graph(graph)).first)
    #expect(row.attempt == 2 && row.attempts.map(\.run) == [1, 2])
    #expect(row.attempts.map(\.attempt.attempt) == [2, 3])
  }

  // What an operation's context needs comes with the welcome and the template.
  @Test(.checks("S146")) func aWorkerIsToldWhatTheContextNeeds() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    #expect(worker.welcome?.clientEndpoint == service.ready.clientEndpoint.address)
    var submission = arrayGraph("g", 1)
    submission.queues = [.own(QueueSettings(name: "own"))]
    submission.templates[0].timeout = .seconds(5)
    submission.templates[0].grace = .seconds(1)
    let graph = try client.submit(submission)
    let dispatch = try worker.awaitDispatches(1)[0]
    let template = try #require(worker.templates.first)
    #expect(template.queueName == "\(graph.number)/own")
    #expect(template.timeout == .seconds(5) && template.grace == .seconds(1))

    // Progress is shown while it runs.
    try worker.awaitAcknowledgement(
      of: worker.report([
        .started(dispatch.attempt), .progress(dispatch.attempt, fraction: 0.5, text: "half"),
      ]))
    let rows = try client.operations(.graph(graph))
    #expect(rows.map(\.progress) == [OperationRow.Progress(fraction: 0.5, text: "half")])
  }
}
