// C1 to C12: the life of one operation, in this process and on a cluster (S4 to S19).

import Citations
import ConformanceOperations
import OpCluster
import OpClusterClient
import OpClusterModel
import OpClusterOperations
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct LifeCycle {
    /// S6, S49
    @Test("C1 fresh operation", .checks("S6", "S49"), arguments: Setting.all)
    func c1(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let operation = stage.mark("a")
        for _ in 1...2 {
          let flags = operation.flags
          #expect(flags.isReady && !flags.isExecuting && !flags.isFinished && !flags.isCancelled)
          #expect(!operation.isAsynchronous)
          #expect(operation.dependencies.isEmpty)
          #expect(operation.queuePriority == .normal)
          #expect(operation.outcome == nil)
          // The same once the cluster knows it.
          try await stage.cluster.declare([operation])
        }
        let row = try #require(try await operation.details())
        #expect(row.state == .declared)
        #expect(row.isReady && !row.isExecuting && !row.isFinished && !row.isCancelled)
        #expect(row.priority == .normal)
        // Declared and then added, it runs like any other.
        try await stage.queue.addOperation(operation)
        try await stage.ended(operation)
        #expect(stage.sink.trace == ["a"])
      }
    }

    /// S9, S106, S109, S116
    @Test("C2 normal event sequence", .checks("S9", "S106", "S109", "S116"))
    func c2() async throws {
      try await onStage(.cluster) { stage in
        let operation = stage.mark("a")
        let completions = Atomic<Int>(0)
        operation.completionBlock = { completions.add(1, ordering: .relaxed) }
        let recorder = Recorder(operation)
        try await stage.queue.addOperation(operation)
        try await stage.ended(operation)
        try await recorder.completed()
        let flags = recorder.flags.filter { !$0.hasPrefix("ready") }
        #expect(flags == ["executing true", "executing false", "finished succeeded"])
        #expect(recorder.commit("executing false") == recorder.commit("finished succeeded"))
        #expect(recorder.life.last == "completed")
        #expect(recorder.life.count { $0 == "completed" } == 1)
        let sequences = recorder.changes.map(\.sequence)
        let first = try #require(sequences.first)
        #expect(sequences == Array(first..<first + UInt32(sequences.count)))
        #expect(operation.outcome == .succeeded)
        try await soon("the completion block is called") {
          completions.load(ordering: .relaxed) > 0
        }
        try await stays("it is called once") { completions.load(ordering: .relaxed) == 1 }
      }
    }

    /// As another client sees it, and as the objects do.
    @Test("C3 flags never overlap", .checks("S8", "S9"))
    func c3() async throws {
      try await onStage(.cluster) { stage in
        let operations = (0..<200).map { stage.ret($0, name: "r\($0)") }
        try await stage.queue.suspend()
        try await stage.queue.addOperations(operations)
        let graph = try #require(operations[0].id).graph
        async let samples = stage.raw { connection in
          var finished: [OperationID: Outcome] = [:]
          var samples = 0
          while finished.count < operations.count {
            for row in try await connection.operations(.graph(graph)) {
              #expect(!(row.isExecuting && row.isFinished))
              if let old = finished[row.id] { #expect(row.isFinished && row.outcome == old) }
              if row.isFinished {
                let outcome: Outcome = try #require(row.outcome)
                finished[row.id] = outcome
              }
            }
            samples += 1
          }
          return (samples, Set(finished.values))
        }
        try await stage.queue.resume()
        var seen: Set<Int> = []
        while seen.count < operations.count {
          for (index, operation) in operations.enumerated() {
            let flags = operation.flags
            #expect(!(flags.isExecuting && flags.isFinished))
            if seen.contains(index) { #expect(flags.isFinished) }
            if flags.isFinished { seen.insert(index) }
          }
          await Task.yield()
        }
        let (count, outcomes) = try await samples
        #expect(count > 0)
        #expect(outcomes == [.succeeded])
      }
    }

    /// S11, S145
    @Test("C4 no reuse", .checks("S11", "S145"), arguments: Setting.all)
    func c4(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let operation = stage.mark("a")
        try await stage.queue.addOperation(operation)
        try await stage.ended(operation)
        let (id, flags) = (operation.id, operation.flags)
        await refused(.alreadyFinished) { try await stage.queue.addOperation(operation) }
        #expect(operation.id == id && operation.flags == flags)
        #expect(operation.outcome == .succeeded)
        #expect(stage.sink.trace == ["a"])
        let copy = operation.clone()
        #expect(copy.id == nil)
        try await stage.queue.addOperation(copy)
        try await stage.ended(copy)
        #expect(copy.id != nil && copy.id != id)
        #expect(stage.sink.trace == ["a", "a"])
      }
    }

    /// S11, S58, S145
    @Test(
      "C5 twice in one queue, in two queues, in one batch", .checks("S11", "S58", "S145"),
      arguments: Setting.all)
    func c5(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let other = stage.newQueue("q2")
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try await stage.queue.suspend()
        try await stage.queue.addOperation(a)
        await refused(.alreadyEnqueued) { try await stage.queue.addOperation(a) }
        await refused(.alreadyEnqueued) { try await other.addOperation(a) }
        await refused(.alreadyEnqueued) { try await stage.queue.addOperations([b, b]) }
        #expect(stage.queue.operationCount == 1)
        #expect(stage.queue.operations == [a])
        #expect(other.operationCount == 0 && other.operations.isEmpty)
        #expect(b.queue == nil && b.id == nil)
        // What was refused is as fresh as before.
        try await other.addOperation(b)
        try await stage.ended(b)
        try await stage.queue.resume()
        try await stage.ended(a)
        #expect(stage.sink.trace == ["b", "a"])
      }
    }

    /// A client that lost the reply sends its submission again.
    @Test("C6 same request repeated", .checks("S11"))
    func c6() async throws {
      try await onStage(.cluster) { stage in
        try await stage.makeQueue(isSuspended: true)
        var graph = RawGraph("c6-\(stage.queue.name)", queue: stage.queue.name)
        try graph.mark("a", stage)
        let replies = try await stage.raw { connection in
          let first = try await connection.request(.submit(graph.submission))
          let second = try await connection.request(.submit(graph.submission))
          // From another connection as well: the key alone says that it is the same.
          let third = try await stage.raw { try await $0.request(.submit(graph.submission)) }
          return [first, second, third]
        }
        let graphs = replies.compactMap { reply -> GraphID? in
          if case .accepted(let graph, _, _) = reply { graph } else { nil }
        }
        #expect(graphs.count == 3 && Set(graphs).count == 1)
        try await soon("one is in the queue") { stage.queue.operationCount == 1 }
        try await stays("one is in the queue") { stage.queue.operationCount == 1 }
        try await stage.queue.resume()
        try await stage.sink.waitFor("a")
        try await soon("the queue is empty") { stage.queue.operationCount == 0 }
        #expect(stage.sink.trace == ["a"])
      }
    }

    /// S10, S16, S18, S22
    @Test("C7 thrown error finishes", .checks("S10", "S16", "S18", "S22"))
    func c7() async throws {
      try await onStage(.cluster) { stage in
        let (x, y) = (stage.fail("e"), stage.mark("y"))
        try y.addDependency(x)
        let recorder = Recorder(x)
        try await stage.queue.addOperations([x, y])
        try await stage.ended(x, y)
        #expect(x.outcome == .failed)
        #expect(!x.isExecuting && !x.isCancelled)
        guard case .failed(let failure) = try await x.result() else {
          Issue.record("the result is \(try await x.result())")
          return
        }
        #expect(failure.cause == .failed)
        #expect(failure.message.contains("e"))
        try await recorder.completed()
        #expect(
          recorder.flags.suffix(3) == ["executing true", "executing false", "finished failed"])
        #expect(y.outcome == .succeeded)
        #expect(stage.sink.trace == ["y"])
      }
    }

    /// S16, S70, S147
    @Test("C8 death of the worker process, onWorkerLost: fail", .checks("S16", "S70", "S147"))
    func c8() async throws {
      try await onOwnCluster { stage, _ in
        let queue = stage.newQueue("one", limit: 1)
        let (x, y, z) = (stage.kill("x", runs: [1]), stage.mark("y"), stage.mark("z"))
        x.settings.maximumLosses = 0
        try y.addDependency(x)
        let recorder = Recorder(x)
        try await queue.addOperations([x, y])
        try await stage.ended(x, y)
        try await recorder.completed()
        #expect(x.outcome == .lost)
        guard case .lost = try await x.result() else {
          Issue.record("the result is \(try await x.result())")
          return
        }
        #expect(recorder.flags.count { $0.hasPrefix("executing") } == 2)
        #expect(y.outcome == .succeeded)
        // The only slot is free again.
        try await queue.addOperation(z)
        try await stage.ended(z)
        let lines = stage.sink.lines
        #expect(lines.map(\.text) == ["x", "y", "z"])
        #expect(lines[0].process != lines[1].process)
      }
    }

    /// S8, S12, S147
    @Test("C9 attempts are one life", .checks("S8", "S12", "S147"))
    func c9() async throws {
      try await onOwnCluster { stage, _ in
        let (x, y) = (stage.kill("x", runs: [1, 2], value: 7), stage.mark("y"))
        try y.addDependency(x)
        let completions = Atomic<Int>(0)
        x.completionBlock = { completions.add(1, ordering: .relaxed) }
        let recorder = Recorder(x)
        try await stage.queue.addOperations([x, y])
        try await stage.ended(x, y)
        try await recorder.completed()
        let flags = recorder.flags.filter { !$0.hasPrefix("ready") }
        #expect(flags == ["executing true", "executing false", "finished succeeded"])
        let attempts = recorder.life.filter { $0.hasPrefix("attempt") }
        #expect(attempts == ["attempt 1", "attempt 2", "attempt 3"])
        #expect(recorder.life.count { $0 == "completed" } == 1)
        #expect(try await x.output(of: Kill.self) == 7)
        #expect(x.run == 3)
        let lines = stage.sink.lines
        #expect(lines.map(\.description) == ["x", "x@2", "x@3", "y"])
        #expect(Set(lines[..<3].map(\.process)).count == 3)
        try await soon("the completion block is called") {
          completions.load(ordering: .relaxed) > 0
        }
        try await stays("it is called once") { completions.load(ordering: .relaxed) == 1 }
      }
    }

    ///     a ─┐
    ///     b ─┼─ j ── d
    ///     c ─┘
    /// S4, S20, S21
    @Test("C10 noop join", .checks("S4", "S20", "S21"), arguments: Setting.allCases)
    func c10(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let gates = ["a", "b", "c"].map { stage.gate($0) }
        let (join, d) = (stage.join("j"), stage.mark("d"))
        for gate in gates { try join.addDependency(gate) }
        try d.addDependency(join)
        let recorder = Recorder(join)
        try await stage.queue.addOperations(gates + [join, d])
        try await stage.sink.waitFor("a+", "b+", "c+")
        for gate in ["c", "a"] {
          stage.sink.open(gate)
          try await stage.sink.waitFor("\(gate)-")
        }
        try await stays("d waits for b") { !stage.sink.trace.contains("d") }
        #expect(!join.isReady && !join.isFinished && !d.isReady)
        stage.sink.open("b")
        try await stage.ended(d)
        #expect(stage.sink.trace.suffix(2) == ["b-", "d"])
        try await recorder.completed()
        #expect(
          recorder.flags
            == ["ready true", "executing true", "executing false", "finished succeeded"])
        #expect(try #require(try await join.details()).workerName.isEmpty)
      }
    }

    /// S5
    @Test("C11 client leaves", .checks("S5"))
    func c11() async throws {
      try await onStage(.cluster) { stage in
        let processes = try #require(stage.processes)
        let client = try processes.startClient(
          "ConformanceClient", [processes.address, stage.sink.path, stage.queue.name])
        try await stage.sink.waitFor("g+")
        try await soon("the client has its answer") {
          client.output.contains("submitted") || client.end != nil
        }
        let ids = client.output.split(separator: "\n").compactMap { line -> OperationID? in
          let numbers = line.split(separator: " ").compactMap { UInt32($0) }
          guard numbers.count == 2 else { return nil }
          return OperationID(graph: GraphID(numbers[0]), index: numbers[1])
        }
        try #require(ids.count == 2, "\(client.error)")
        client.signal(9)
        #expect(try await client.ended() == 128 + 9)
        #expect(!stage.sink.trace.contains("b"))
        stage.sink.open("g")
        try await stage.sink.waitFor("b")
        let another = try await stage.anotherClient()
        for id in ids {
          let operation = try await another.operation(id)
          try await stage.ended(operation)
          #expect(operation.outcome == .succeeded)
        }
        #expect(try await another.operation(ids[0]).output(of: Gate.self) == 5)
        await another.close()
        #expect(stage.sink.trace == ["g+", "g-", "b"])
      }
    }

    /// S5, S19
    @Test("C12 queue deletion", .checks("S5", "S19"))
    func c12() async throws {
      try await onStage(.cluster) { stage in
        let queue = stage.newQueue("doomed")
        let gate = stage.gate("g")
        try await queue.addOperation(gate)
        try await stage.sink.waitFor("g+")
        await refused(.queueNotEmpty) { try await queue.remove() }
        #expect(try await stage.knows(queue))
        stage.sink.open("g")
        try await stage.ended(gate)
        try await queue.remove()
        #expect(try await !stage.knows(queue))
        #expect(gate.outcome == .succeeded)
      }
    }
  }
}

extension Stage {
  /// Whether the cluster has the queue.
  fileprivate func knows(_ queue: ClusterOperationQueue) async throws -> Bool {
    try await raw { connection in
      guard case .queues(let rows, _) = try await connection.request(.queues()) else {
        return false
      }
      return rows.contains { $0.settings.name == queue.name }
    }
  }
}
