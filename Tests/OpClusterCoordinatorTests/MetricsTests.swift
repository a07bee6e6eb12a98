// What the coordinator tells monitoring.

import Citations
import OpClusterHTTP
import OpClusterJournal
import OpClusterMetrics
import OpClusterModel
import RealCluster
import Testing

@testable import OpClusterCoordinator

@Suite struct MetricsTests {
  /// The number of a sample; nil: there is none.
  private func number(_ text: String, _ sample: String) -> Double? {
    text.split(separator: "\n").first { $0.hasPrefix("\(sample) ") }
      .flatMap { Double($0.dropFirst(sample.count + 1)) }
  }

  private func read(_ service: Service) throws -> String {
    let address = try #require(service.ready.metrics)
    let text = try PlainHTTP.get("/metrics", from: address.port)
    try #require(text.hasPrefix("HTTP/1.1 200"), "\(text.prefix(200))")
    return text
  }

  @Test func countsWhatHappens() {
    var figures = CoordinatorFigures(unfinished: 5)
    let graph = GraphID(1)
    func run(_ kind: Event.Kind, _ count: UInt32 = 1) -> EventRun {
      EventRun(
        first: Event(
          sequence: 1, commit: CommitIndex(1), time: .unknown,
          subject: .operation(OperationID(graph: graph, index: 0), sequence: 1), kind: kind),
        count: count)
    }
    var attempt = AttemptHistory(
      attempt: AttemptID(operation: OperationID(graph: graph, index: 0), attempt: 1),
      outcome: .succeeded, reason: nil, workerName: "w", result: .success)
    attempt.readyAt = WallTime(milliseconds: 1_000)
    attempt.result.startedAt = WallTime(milliseconds: 3_000)
    attempt.result.endedAt = WallTime(milliseconds: 2_000)
    figures.note(
      [
        run(.graphSubmitted(operations: 10)), run(.attemptStarted(1, WorkerID(1)), 4),
        run(.attemptEnded(1, .signal), 2), run(.isFinished(.succeeded), 7),
        run(.isFinished(.skipped), 20), run(.graphFinished(.failed)), run(.workerLost),
      ], [attempt])
    #expect(figures.unfinished == 0, "never below, whatever is told")
    #expect(figures.submitted == 10 && figures.started == 4 && figures.lostWorkers == 1)
    #expect(figures.retried == [.signal: 2] && figures.finishedGraphs == [.failed: 1])
    #expect(figures.finished == [.succeeded: 7, .skipped: 20])
    #expect(figures.waited.sum == 2 && figures.waited.counts.reduce(0, +) == 1)
    #expect(figures.ran.sum == 0, "a clock that went back")
    // Another run of it did not wait since then.
    attempt.run = 2
    figures.note([], [attempt])
    #expect(figures.waited.counts.reduce(0, +) == 1)
    #expect(figures.ran.counts.reduce(0, +) == 2)
  }

  /// The figures agree with what was done, also in the next life.
  @Test(.checks("G32")) func served() throws {
    let (disk, folder) = (MemoryDisk(), try TestFolder())
    func serve() throws -> Service {
      try Service(.memory(disk), in: folder) { $0.metrics = HTTPAddress("127.0.0.1:0") }
    }
    var service = try serve()
    do {
      let client = try TestClient(service)
      var submission = chainGraph("g")
      submission.templates[0].isHeld = true
      _ = try client.submit(submission)
      let count = submission.operationCount
      let text = try read(service)
      #expect(number(text, "opcluster_operations{state=\"waiting\"}") == Double(count))
      #expect(number(text, "opcluster_operations_submitted_total") == Double(count))
      #expect(number(text, "opcluster_graphs") == 1)
      #expect(number(text, "opcluster_connections{peer=\"client\"}") == 1)
      #expect(
        number(text, "opcluster_messages_total{peer=\"client\",direction=\"received\"}") ?? 0 >= 2)
      #expect(number(text, "opcluster_journal_commits_total") ?? 0 >= 1)
      let queue = "opcluster_queue_operations{queue=\"default\",state=\"waiting\"}"
      #expect(number(text, queue) == Double(count))
      #expect(service.ready.line.contains(" metrics=127.0.0.1:"))
    }
    service.stop()
    service = try serve()
    let text = try read(service)
    #expect(number(text, "opcluster_epoch") == 2)
    #expect(number(text, "opcluster_graphs") == 1)
    #expect(number(text, "opcluster_operations_submitted_total") == 0, "since the start")
    #expect(number(text, "opcluster_operations{state=\"waiting\"}") ?? 0 > 0)
    service.stop()
  }

  @Test func anAddressThatIsTakenEndsTheStart() throws {
    let first = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.metrics = HTTPAddress("127.0.0.1:0")
    }
    let error = #expect(throws: Service.NotServing.self) {
      _ = try Service(.memory(MemoryDisk()), in: TestFolder()) { $0.metrics = first.ready.metrics }
    }
    guard case .failed(let reason)? = error?.end else {
      Issue.record("it serves")
      return
    }
    #expect(reason.status == 74 && reason.description.contains("--metrics: 127.0.0.1:"))
  }

  @Test func limits() {
    #expect(CoordinatorLimits.queuesInMetrics <= CoordinatorLimits.queuesLookedAtForMetrics)
  }
}
