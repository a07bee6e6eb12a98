// The samples of "The life of an operation", "Queues and order" and "Cancellation", as they are
// run.

import Citations
import OpCluster
import Testing

@testable import DocumentationWorker

@Suite struct LifeSamples {
  let cluster = OperationCluster.local()
  let queue: ClusterOperationQueue

  init() { queue = ClusterOperationQueue(on: cluster) }

  @Test func observing() async throws {
    var seen: [OperationChange.Kind] = []
    // snippet: observing
    let operation = ClusterOperation { _ in }
    let changes = operation.changes
    try await queue.addOperation(operation)
    for try await change in changes {
      print(change.sequence, change.kind)
      // end
      seen.append(change.kind)
      // snippet: observing
    }
    // end
    #expect(seen.last == .completed)
    #expect(seen.contains(.isFinished(.succeeded)))
  }

  @Test func retrying() async throws {
    // snippet: retrying
    let flaky = ClusterOperation { context in
      if context.run < 3 { throw BadWeather() }
    }
    flaky.settings.retry = RetryPolicy(maximum: 5, backoff: .milliseconds(10))
    flaky.settings.timeout = .seconds(60)
    // end
    try await queue.addOperation(flaky)
    try await flaky.waitUntilFinished()
    #expect(flaky.outcome == .succeeded && flaky.run == 3)
  }

  @Test func results() async throws {
    let operation = ClusterOperation(Sum(numbers: [1, 2]))
    try await queue.addOperation(operation)
    try await operation.waitUntilFinished()
    // snippet: results
    switch try await operation.result() {
    case .pending: print("not yet")
    case .value(let output): print(try output.decode(Int.self))
    case .void: print("nothing to say")
    case .cancelled(let reason): print("cancelled: \(reason.map { "\($0)" } ?? "")")
    case .failed(let failure): print(failure.cause, failure.message)
    case .lost: print("its workers were lost")
    }
    // end
    #expect(try await operation.output(of: Sum.self) == 3)
  }

  @Test func order() async throws {
    // snippet: order
    let downloads = ClusterOperationQueue(
      name: "downloads", on: cluster, maxConcurrentOperationCount: 1, isSuspended: true)
    let index = ClusterOperation(name: "index") { _ in }
    let picture = ClusterOperation(name: "picture") { _ in }
    index.queuePriority = .high
    try await downloads.addOperations([picture, index])
    try await downloads.addBarrier(ClusterOperation(name: "tidy up") { _ in })
    try await downloads.resume()  // index, picture, tidy up
    try await downloads.waitUntilAllOperationsAreFinished()
    // end
    let first = try #require(try await index.details())
    let second = try #require(try await picture.details())
    #expect(first.finishedAt <= second.startedAt)
  }

  // S150
  @Test(.checks("S150")) func scheduling() async throws {
    // snippet: schedule
    let report = ClusterOperation(name: "report") { _ in }
    report.notBefore = .delay(.milliseconds(100))
    try await queue.addOperation(report)

    let look = try await queue.schedule(every: .milliseconds(50)) {
      ClusterOperation(name: "look") { _ in }
    }
    try await report.waitUntilFinished()
    try await look.cancel()
    // end
    #expect(report.outcome == .succeeded && look.isCancelled && look.error == nil)
  }

  @Test func progress() async throws {
    // snippet: progress
    queue.progress.totalUnitCount = 3
    try await queue.addOperations((1...3).map { _ in ClusterOperation(name: "step") { _ in } })
    try await queue.waitUntilAllOperationsAreFinished()
    print(queue.progress.completedUnitCount, queue.progress.isFinished)  // 3 true
    // end
    #expect(queue.progress.completedUnitCount == 3 && queue.progress.isFinished)
  }

  @Test func cancelling() async throws {
    // snippet: cancelling
    let poller = ClusterOperation(name: "poller") { context in
      while !context.isCancelled { await Task.yield() }
    }
    let next = ClusterOperation(name: "next") { _ in }
    try next.addDependency(poller)
    try await queue.addOperations([poller, next])

    let verdict = try await poller.cancel(reason: "out of time")
    // end
    try await next.waitUntilFinished()
    #expect(verdict == .cancelled || verdict == .executing)
    #expect(poller.isCancelled && poller.outcome == .cancelled && next.outcome == .succeeded)
  }

  @Test func cancellingMany() async throws {
    queue.isSuspended = true
    let operation = ClusterOperation { _ in }
    operation.settings.labels = ["batch": "7"]
    try await queue.addOperation(operation)
    // snippet: cancelling-many
    let verdicts = try await cluster.cancelOperations(labelled: ["batch": "7"])
    for verdict in verdicts where verdict.verdict == .executing {
      print("\(verdict.operation) goes on until it looks at its flag")
    }
    try await queue.cancelAllOperations(reason: "the user left")
    // end
    #expect(verdicts.map(\.verdict) == [.cancelled])
    #expect(operation.isCancelled)
  }
}

struct BadWeather: Error {}
