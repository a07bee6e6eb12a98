// The pool of a queue: labels that a worker must have, as a property of the queue.

import Citations
import OpCluster
import OpClusterModel
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct Pools {
    private static func zone(_ names: String...) -> [LabelRequirement] {
      [LabelRequirement(key: "zone", values: names)]
    }

    /// S146
    @Test("S146: operations go to the workers of the queue's pool, whoever adds them")
    func workers() async throws {
      let flags = [["--label", "zone=a"], ["--label", "zone=b"]]
      try await onOwnCluster(workers: 2, slots: 2, workerFlags: flags) { stage, _ in
        let queue = ClusterOperationQueue(
          name: "pooled", on: stage.cluster, pool: Self.zone("a"))
        let asking = stage.mark("asks for itself")
        asking.settings.requirements = Self.zone("a")
        try await stage.queue.addOperation(asking)
        try await stage.ended(asking)
        try await queue.addOperations((0..<10).map { stage.mark("\($0)") })
        let client = try await stage.anotherClient()
        let other = stage.sameQueue(queue, on: client)
        #expect(other.pool == Self.zone("a"))
        try await other.addOperations((10..<20).map { stage.mark("\($0)") })
        try await stage.emptied(queue)
        #expect(stage.sink.lines.count == 21)
        #expect(Set(stage.sink.lines.map(\.process)).count == 1)
        // Another program changes it for all.
        try await other.setPool(Self.zone("b"))
        try await soon("the first handle sees it") { queue.pool == Self.zone("b") }
        try await queue.addOperation(stage.mark("b"))
        try await stage.emptied(queue)
        #expect(Set(stage.sink.lines.map(\.process)).count == 2)
        await client.close()
      }
    }

    /// S146
    @Test("S146: what no worker of the pool can run waits and says so", arguments: Setting.all)
    func nobody(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("nowhere")
        try await queue.setPool(Self.zone("mars"))
        let operation = stage.mark("x")
        try await queue.addOperation(operation)
        let lines = try await operation.explanation()
        #expect(lines.contains { $0.contains("zone=mars") }, "\(lines)")
        try await operation.cancel()
        try await stage.emptied(queue)
        try await queue.setPool([])
        try await queue.addOperation(stage.mark("y"))
        try await stage.emptied(queue)
        #expect(stage.sink.trace == ["y"])
      }
    }

    /// S145, S146
    @Test("S145, S146: a pool changes only while the queue is empty", arguments: Setting.all)
    func notEmpty(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("full", isSuspended: true)
        let told = Mutex<[ClusterError.Code]>([])
        stage.cluster.setErrorHandler { error, _ in told.withLock { $0.append(error.code) } }
        try await queue.addOperation(stage.mark("a"))
        let error = await refused(.queueNotEmpty) { try await queue.setPool(Self.zone("a")) }
        #expect(error?.message.contains(queue.name) == true)
        #expect(error?.hint.contains("cancelAllOperations()") == true)
        queue.pool = Self.zone("a")
        #expect(told.withLock { $0 } == [.queueNotEmpty] && queue.pool.isEmpty)
        // What it has already is no change.
        try await queue.setPool([])
        await refused(.queueNotEmpty) { try await queue.remove() }
        try await queue.resume()
        try await stage.emptied(queue)
        #expect(stage.sink.trace == ["a"])
        queue.pool = Self.zone("b")
        #expect(queue.pool == Self.zone("b"))
      }
    }
  }
}

@Suite struct LocalPools {
  /// S146
  @Test("S146: a cluster in this process has the labels that it was given") func labels()
    async throws
  {
    let cluster = OperationCluster.local(slots: 2, labels: ["zone": "a"])
    let here = ClusterOperationQueue(
      on: cluster, pool: [LabelRequirement(key: "zone", values: ["a", "b"])])
    try await here.addOperations([ClusterOperation { () in }], waitUntilFinished: true)
    let elsewhere = ClusterOperationQueue(on: cluster)
    let changes = Mutex<[OperationQueueChange.Kind]>([])
    let pool = [LabelRequirement(key: "zone", values: ["c"])]
    try await elsewhere.addOperations([ClusterOperation { () in }], waitUntilFinished: true)
    let watch = elsewhere.observe { change in changes.withLock { $0.append(change.kind) } }
    elsewhere.pool = pool
    let operation = ClusterOperation { () in }
    try await elsewhere.addOperation(operation)
    #expect(try await !operation.waitUntilFinished(timeout: .milliseconds(50)))
    try await soon("it is told") { changes.withLock { $0.contains(.pool(pool)) } }
    watch.invalidate()
    // It may go where it is let in.
    #expect(try await operation.move(to: here))
    #expect(try await operation.waitUntilFinished(timeout: patience))
  }

  /// At `Limits.labelsPerThing` and beyond, and what says nothing.
  @Test("S145: a pool that cannot be is refused", .checks("S146")) func bounds() async throws {
    let cluster = OperationCluster.local(slots: 2)
    let queue = ClusterOperationQueue(name: "q", on: cluster)
    func pool(_ count: Int) -> [LabelRequirement] {
      (0..<count).map { LabelRequirement(key: "k\($0)", values: ["v"]) }
    }
    try await queue.resume()
    try await queue.addOperations([ClusterOperation { () in }], waitUntilFinished: true)
    try await queue.setPool(pool(Limits.labelsPerThing))
    await refused(.limitExceeded) { try await queue.setPool(pool(Limits.labelsPerThing + 1)) }
    await refused(.badRequest) {
      try await queue.setPool([LabelRequirement(key: "zone", values: [])])
    }
    #expect(queue.pool.count == Limits.labelsPerThing)
    let main = try ClusterOperationQueue.main(of: cluster)
    await refused(.badRequest) { try await main.setPool(pool(1)) }
  }
}
