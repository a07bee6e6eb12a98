// Conformance cases C37 to C44: the limit of a queue, and its suspension.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct Limits {
    /// Over all workers together, never more, and in the end as many.
    @Test("C37 peak over workers", .checks("S63", "S68")) func c37() async throws {
      try await onStage(.cluster) { stage in
        let queue = stage.newQueue("three", limit: 3)
        try await queue.addOperations((1...30).map { stage.gate("g\($0)") })
        for ended in 0..<30 {
          let expected = min(ended + 3, 30)
          try await stage.sink.waitUntil("\(expected) have begun") { $0.begun.count >= expected }
          let gate = try #require(stage.sink.lines.running.first)
          stage.sink.open(gate)
          try await stage.sink.waitFor("\(gate)-")
        }
        try await stage.emptied(queue)
        #expect(stage.sink.lines.peak == 3)
      }
    }

    /// Raising starts more at once; lowering stops nothing, and holds back what comes next.
    @Test("C38 raise and lower while running", .checks("S66"), arguments: Setting.all)
    func c38(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("q", limit: 1)
        let sink = stage.sink
        try await queue.addOperations((1...8).map { stage.gate("g\($0)") })
        try await sink.waitFor("g1+")
        try await stays("one runs") { sink.trace == ["g1+"] }
        try await queue.setMaxConcurrentOperationCount(4)
        try await sink.waitFor("g1+", "g2+", "g3+", "g4+")
        try await queue.setMaxConcurrentOperationCount(1)
        try await stays("four go on") { Set(sink.lines.running) == ["g1", "g2", "g3", "g4"] }
        for number in 1...3 {
          sink.open("g\(number)")
          try await sink.waitFor("g\(number)-")
        }
        try await stays("nothing starts while one runs") { sink.lines.running == ["g4"] }
        for number in 4...8 {
          sink.open("g\(number)")
          try await sink.waitFor("g\(number)-")
          if number < 8 {
            try await sink.waitFor("g\(number + 1)+")
            #expect(sink.lines.running == ["g\(number + 1)"])
          }
        }
        try await stage.emptied(queue)
        #expect(sink.lines.peak == 4)
      }
    }

    /// Nothing starts at zero; what is below −1 is refused and changes nothing.
    @Test("C39 zero and negative", .checks("S65", "S145"), arguments: Setting.all)
    func c39(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("none", limit: 0)
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try await queue.addOperations([a, b])
        try await stays("nothing starts") { stage.sink.trace.isEmpty && !a.isExecuting }
        #expect(a.isReady && b.isReady)
        try await queue.setMaxConcurrentOperationCount(2)
        try await stage.ended(a, b)
        await refused(.badLimit) { try await queue.setMaxConcurrentOperationCount(-5) }
        #expect(queue.maxConcurrentOperationCount == 2)
      }
    }

    /// What has returned and not finished keeps its slot.
    @Test("C40 asynchronous op keeps its slot", .checks("S59", "S67", "S131"))
    func c40() async throws {
      try await onStage(.cluster) { stage in
        let queue = stage.newQueue("one", limit: 1)
        let (gate, mark) = (stage.asyncGate("g", value: 3), stage.mark("b"))
        let (gateTold, markTold) = (Recorder(gate), Recorder(mark))
        try await queue.addOperations([gate, mark])
        try await stage.sink.waitFor("g+")
        try await stage.began(gate)
        try await stays("b is queued") { gate.isExecuting && !mark.isExecuting }
        #expect(stage.sink.trace == ["g+"])
        stage.sink.open("g")
        try await stage.ended(gate, mark)
        #expect(try await gate.output(of: AsyncGate.self) == 3)
        try await gateTold.completed()
        try await markTold.completed()
        let ended = try #require(gateTold.commit("finished succeeded"))
        let began = try #require(markTold.commit("executing true"))
        #expect(ended < began)
      }
    }

    /// It finishes in the commit that cancels it.
    @Test("C41 cancelled op needs no slot", .checks("S69")) func c41() async throws {
      try await onStage(.cluster) { stage in
        let queue = stage.newQueue("one", limit: 1)
        let other = stage.newQueue("other")
        let (gate, b, c) = (stage.gate("g"), stage.mark("b"), stage.mark("c"))
        try c.addDependency(b)
        try await queue.addOperations([gate, b])
        try await other.addOperation(c)
        try await stage.sink.waitFor("g+")
        try await stage.began(gate)
        #expect(try await b.cancel() == .cancelled)
        #expect(b.isFinished && b.outcome == .cancelled)
        try await stage.ended(c)
        #expect(gate.isExecuting && !gate.isFinished)
        #expect(stage.sink.trace == ["g+", "c"])
      }
    }
  }

  @Suite struct Suspension {
    /// After the answer nothing starts; what it lists as executing ends. Repeated
    /// where everything had run before the suspension came.
    @Test("C42 suspend closes the gap", .checks("S71", "S72")) func c42() async throws {
      for turn in 1...50 {
        let wasInTheMiddle = Mutex(false)
        try await onStage(.cluster) { stage in
          let isInTheMiddle = try await suspendInTheMiddle(stage)
          wasInTheMiddle.withLock { $0 = isInTheMiddle }
        }
        if wasInTheMiddle.withLock({ $0 }) { return }
        if turn == 50 { Issue.record("no suspension came in the middle") }
      }
    }

    private func suspendInTheMiddle(_ stage: Stage) async throws -> Bool {
      let queue = stage.newQueue("six", limit: 6)
      let marks = (1...100).map { stage.mark("m\($0)") }
      let told = marks.map(Recorder.init)
      try await queue.addOperations(marks)
      try await stage.sink.waitUntil("some have run") { $0.count >= 10 }
      let executing = Set(try await queue.suspend())
      let traced = Set(stage.sink.lines.map(\.operation))
      let connection = try await #require(stage.processes).connect()
      let suspended = try await connection.commit()
      try await soon("what executed ends") {
        marks.filter { executing.contains($0.id ?? OperationID(graph: GraphID(0), index: 0)) }
          .allSatisfy(\.isFinished)
      }
      let known = traced.union(executing)
      try await stays("nothing starts") {
        stage.sink.lines.allSatisfy { known.contains($0.operation) }
      }
      let isInTheMiddle = stage.sink.lines.count < 100
      let resuming = try await connection.commit()
      await connection.close()
      try await queue.resume()
      try await stage.emptied(queue)
      #expect(stage.sink.trace.sorted() == marks.compactMap(\.name).sorted())
      for record in told {
        try await record.completed()
        let began = try #require(record.commit("executing true"))
        #expect(began <= suspended || began > resuming)
      }
      return isInTheMiddle
    }

    /// Cancelled and ready, but neither finished nor gone.
    @Test("C43 suspended: cancelled op stays", .checks("S75"), arguments: Setting.all)
    func c43(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("suspended", isSuspended: true)
        let other = stage.newQueue("other")
        let (b, c) = (stage.mark("b"), stage.mark("c"))
        try c.addDependency(b)
        try await queue.addOperation(b)
        try await other.addOperation(c)
        #expect(try await b.cancel() == .cancelled)
        #expect(b.isCancelled && b.isReady)
        try await soon("it is counted") { queue.operationCount == 1 }
        try await stays("b and c stay") {
          !b.isFinished && !c.isReady && queue.operationCount == 1
        }
        try await queue.resume()
        try await stage.ended(b, c)
        #expect(b.outcome == .cancelled && c.outcome == .succeeded)
        #expect(stage.sink.trace == ["c"])
      }
    }

    /// Everything can be changed, and selection happens afresh.
    @Test(
      "C44 reconfigure while suspended", .checks("S47", "S52", "S73", "S74"), arguments: Setting.all
    )
    func c44(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("suspended", isSuspended: true)
        let (a, b, c) = (stage.mark("a"), stage.mark("b"), stage.mark("c"))
        try await queue.addOperations([a, b, c])
        let d = stage.mark("d")
        try await queue.addOperation(d)
        #expect(try await c.setQueuePriority(.veryHigh))
        try await queue.setMaxConcurrentOperationCount(1)
        #expect(try await b.cancel() == .cancelled)
        #expect(try a.addDependency(c))
        #expect(stage.sink.trace.isEmpty && !b.isFinished)
        try await queue.resume()
        try await stage.ended(a, b, c, d)
        #expect(stage.sink.trace == ["c", "a", "d"])
        #expect(b.outcome == .cancelled)
      }
    }
  }
}
