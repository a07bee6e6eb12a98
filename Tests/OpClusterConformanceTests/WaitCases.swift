// Conformance cases C59 and C60: waits, and the progress of a queue.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct Waits {
    /// S142 (a): what waits for itself is told so, and goes on.
    @Test("C59a an operation waits for itself", .checks("S142"), arguments: Setting.all)
    func c59a(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let waiter = stage.steer("waiter", .waitForItself)
        try await stage.queue.addOperation(waiter)
        try await stage.ended(waiter)
        #expect(waiter.outcome == .succeeded)
        #expect(stage.sink.trace == ["waiter+", "waiter wouldDeadlock"])
      }
    }

    /// S142 (b): its dependent cannot end before it does.
    @Test("C59b an operation waits for its dependent", .checks("S142"), arguments: Setting.all)
    func c59b(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (waiter, between) = (stage.steer("waiter", .waitForMember(2)), stage.join("between"))
        let last = stage.mark("last")
        try between.addDependency(waiter)
        try last.addDependency(between)
        try await stage.queue.addOperations([waiter, between, last])
        try await stage.ended(waiter, last)
        #expect(waiter.outcome == .succeeded)
        #expect(stage.sink.trace == ["waiter+", "waiter wouldDeadlock", "last"])
      }
    }

    /// S142 (c): its own queue is not empty as long as it is in it.
    @Test("C59c an operation waits for its own queue", .checks("S142"), arguments: Setting.all)
    func c59c(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let waiter = stage.steer("waiter", .waitForOwnQueue)
        try await stage.queue.addOperation(waiter)
        try await stage.ended(waiter)
        #expect(waiter.outcome == .succeeded)
        #expect(stage.sink.trace == ["waiter+", "waiter wouldDeadlock"])
      }
    }

    /// S141, S142 (d): a client may wait for what will not come; its time runs out, nothing else.
    @Test(
      "C59d a client waits for a suspended queue", .checks("S141", "S142"), arguments: Setting.all)
    func c59d(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("suspended", isSuspended: true)
        let mark = stage.mark("a")
        try await queue.addOperation(mark)
        #expect(try await !queue.waitUntilAllOperationsAreFinished(timeout: .seconds(1)))
        #expect(try await !mark.waitUntilFinished(timeout: .milliseconds(10)))
        #expect(queue.isSuspended && queue.operations == [mark] && !mark.isCancelled)
        try await queue.resume()
        try await stage.ended(mark)
        #expect(stage.sink.trace == ["a"])
      }
    }

    /// S141 (e): what an executing operation adds is waited for, too.
    @Test(
      "C59e a client waits while an operation adds a child", .checks("S141"), arguments: Setting.all
    )
    func c59e(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        // Limit 1: the child cannot begin before its parent has ended.
        let queue = stage.newQueue("one", limit: 1)
        let parent = stage.steer("parent", .addMark("child"), gate: "g")
        try await queue.addOperation(parent)
        try await stage.sink.waitFor("parent+")
        let trace = Task {
          try await stage.emptied(queue)
          return stage.sink.trace
        }
        stage.sink.open("g")
        #expect(try await trace.value == ["parent+", "parent done", "child"])
        #expect(queue.operationCount == 0)
      }
    }

    /// Mains that ended count once each, whatever came of them; a barrier never does.
    @Test("C60 progress", .checks("S143", "S144"), arguments: Setting.all)
    func c60(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (queue, progress) = (stage.queue, stage.queue.progress)
        progress.totalUnitCount = 5
        let seen = Mutex<[Int]>([])
        let watch = queue.observe { _ in
          seen.withLock { $0.append(progress.completedUnitCount) }
        }
        let (success, failure, poll) = (stage.mark("success"), stage.fail("no"), stage.poll("p"))
        let (unstarted, second) = (stage.mark("unstarted"), stage.flaky("second", failures: 1))
        second.settings.retry = RetryPolicy(maximum: 1)
        try unstarted.addDependency(poll)
        try await queue.addOperations([success, failure, unstarted, poll, second])
        try await stage.sink.waitFor("p+")
        try await unstarted.cancel()
        #expect(try await poll.cancel() == .executing)
        try await queue.addBarrier(stage.mark("barrier"))
        try await stage.emptied(queue)
        #expect(second.run == 2 && second.outcome == .succeeded)
        #expect(progress.completedUnitCount == 4 && progress.cancelledUnstartedCount == 1)
        #expect(progress.failedCount == 1 && progress.lostCount == 0)
        #expect(progress.totalUnitCount == 5 && progress.isFinished)
        #expect(stage.sink.trace.last == "barrier")
        // Raised by what is added, in the same step; what was completed stays.
        try await queue.addOperation(stage.mark("sixth"))
        #expect(progress.totalUnitCount == 6)
        try await stage.emptied(queue)
        #expect(progress.completedUnitCount == 5)
        watch.invalidate()
        let counts = seen.withLock { $0 }
        #expect(counts == counts.sorted())
      }
    }
  }
}
