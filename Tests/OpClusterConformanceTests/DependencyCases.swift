// C13 to C21: dependencies, given before and after the operations were added (S20 to S38).

import Citations
import ConformanceOperations
import OpCluster
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

extension Conformance {
  @Suite struct Dependencies {
    ///      ┌─ B ─┐
    ///   A ─┤     ├─ D
    ///      └─ C ─┘
    /// S20, S21, S114
    @Test("C13 diamond", .checks("S20", "S21", "S114"), arguments: Setting.allCases)
    func c13(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let operations = ["A", "B", "C", "D"].map(stage.mark)
        for (from, to) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
          try operations[to].addDependency(operations[from])
        }
        // Against the order of the dependencies, so that it is they that decide.
        try await stage.queue.addOperations(operations.reversed())
        try await stage.ended(operations[3])
        let trace = stage.sink.trace
        #expect(trace == ["A", "B", "C", "D"] || trace == ["A", "C", "B", "D"])
        #expect(operations.allSatisfy { $0.outcome == .succeeded })
      }
    }

    /// S27, S38
    @Test("C14 dependency already finished", .checks("S27", "S38"), arguments: Setting.all)
    func c14(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try await stage.queue.addOperation(a)
        try await stage.ended(a)
        try b.addDependency(a)
        #expect(b.isReady)
        try await stage.queue.suspend()
        try await stage.queue.addOperation(b)
        #expect(b.isReady)
        try await stage.queue.resume()
        try await stage.ended(b)
        #expect(b.dependencies == [a])
        #expect(stage.sink.trace == ["a", "b"])
      }
    }

    /// S22, S23, S27, S29
    @Test(
      "C15 earlier submission, failed outcome, policy succeeded",
      .checks("S22", "S23", "S27", "S29"))
    func c15() async throws {
      try await onStage(.cluster) { stage in
        let a = stage.fail("e", name: "a")
        try await stage.queue.addOperation(a)
        try await stage.ended(a)
        let (b, c, d) = (stage.mark("b"), stage.mark("c"), stage.mark("d"))
        try b.addDependency(a, when: .succeeded)
        try c.addDependency(a, when: .finished)
        try d.addDependency(a, when: .failed)
        let recorder = Recorder(b)
        try await stage.queue.addOperations([b, c, d])
        try await stage.ended(b, c, d)
        try await recorder.completed()
        #expect(b.isCancelled && b.isFinished)
        // The word for an operation that was cancelled by a dependency is `skipped`.
        #expect(b.outcome == .skipped)
        #expect(b.cancelReason == .dependency(try #require(a.id), .failed))
        #expect(!recorder.flags.contains { $0.hasPrefix("executing") })
        #expect(c.outcome == .succeeded && d.outcome == .succeeded)
        #expect(Set(stage.sink.trace) == ["c", "d"])
      }
    }

    /// S28, S58
    @Test("C16 unknown id", .checks("S28", "S58"))
    func c16() async throws {
      try await onStage(.cluster) { stage in
        try await stage.makeQueue()
        let unknown = OperationID(graph: GraphID(4_000_000_000), index: 3)
        var graph = RawGraph("c16-\(stage.queue.name)", queue: stage.queue.name)
        try graph.mark("x", stage)
        let y = try graph.mark("y", stage)
        graph.edge(from: unknown, to: y)
        let refusal = try await stage.raw { connection -> Refusal? in
          try await whyRefused { _ = try await connection.request(.submit(graph.submission)) }
        }
        #expect(refusal?.code == .unknownDependency)
        #expect(refusal?.operations == [unknown])
        try await stays("neither exists") {
          stage.queue.operationCount == 0 && stage.sink.trace.isEmpty
        }
        // Nor does the library make an object of it.
        await refused(.unknownOperation) { _ = try await stage.cluster.operation(unknown) }
      }
    }

    /// S30
    @Test("C17 duplicate edge", .checks("S30"), arguments: Setting.all)
    func c17(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try b.addDependency(a)
        try b.addDependency(a)
        #expect(b.dependencies == [a])
        await refused(.conflictingEdge) { try b.addDependency(a, when: .succeeded) }
        try await stage.queue.suspend()
        try await stage.queue.addOperations([b, a])
        try b.addDependency(a)
        await refused(.conflictingEdge) { try b.addDependency(a, when: .failed) }
        #expect(b.dependencies == [a])
        let row = try #require(try await b.details())
        #expect(row.needs.map(\.id) == [try #require(a.id)])
        try await stage.queue.resume()
        try await stage.ended(b)
        #expect(stage.sink.trace == ["a", "b"])
      }
    }

    /// The coordinator itself refuses, whoever asks.
    @Test("C17 duplicate edge with two policies in one message", .checks("S30"))
    func c17Raw() async throws {
      try await onStage(.cluster) { stage in
        try await stage.makeQueue()
        var graph = RawGraph("c17-\(stage.queue.name)", queue: stage.queue.name)
        let (a, b) = (try graph.mark("a", stage), try graph.mark("b", stage))
        graph.edge(from: a, to: b, when: .finished)
        graph.edge(from: a, to: b, when: .succeeded)
        let refusal = try await stage.raw { connection -> Refusal? in
          try await whyRefused { _ = try await connection.request(.submit(graph.submission)) }
        }
        #expect(refusal?.code == .conflictingEdge)
        try await stays("nothing runs") { stage.sink.trace.isEmpty }
      }
    }

    /// S31
    @Test("C18 self edge", .checks("S31"), arguments: Setting.all)
    func c18(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let a = stage.mark("a")
        await refused(.selfDependency) { try a.addDependency(a) }
        try await stage.queue.suspend()
        try await stage.queue.addOperation(a)
        await refused(.selfDependency) { try a.addDependency(a) }
        #expect(a.dependencies.isEmpty && a.isReady)
        try await stage.queue.resume()
        try await stage.ended(a)
        #expect(a.outcome == .succeeded)
      }
    }

    /// S32
    @Test("C19 cycle refused", .checks("S32"))
    func c19() async throws {
      try await onStage(.cluster) { stage in
        let (a, b, c) = (stage.mark("a"), stage.mark("b"), stage.mark("c"))
        try b.addDependency(a)
        try c.addDependency(b)
        try a.addDependency(c)
        let error = await refused(.cycle) { try await stage.queue.addOperations([a, b, c]) }
        // A refused batch has no numbers: the path names them.
        let path = error?.message.components(after: ": ", separatedBy: " ← ") ?? []
        #expect(path.count == 4 && path.first == path.last && Set(path) == ["a", "b", "c"])
        #expect(stage.queue.operationCount == 0)
        #expect([a, b, c].allSatisfy { $0.id == nil && $0.queue == nil })

        let (p, r) = (stage.mark("p"), stage.mark("r"))
        try r.addDependency(p)
        try await stage.queue.suspend()
        try await stage.queue.addOperations([p, r])
        let second = await refused(.cycle) { try p.addDependency(r) }
        #expect(Set(second?.operations ?? []) == Set([p.id, r.id].compactMap(\.self)))
        #expect(p.dependencies.isEmpty && p.isReady)
        try await stage.queue.resume()
        try await stage.ended(p, r)
        #expect(stage.sink.trace == ["p", "r"])
      }
    }

    /// S37
    @Test("C20 remove the last unfinished edge", .checks("S37"), arguments: Setting.all)
    func c20(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (x, b) = (stage.mark("x"), stage.mark("b"))
        try b.addDependency(x)
        try await stage.queue.addOperation(b)
        try await stays("b waits") { !b.isReady && stage.sink.trace.isEmpty }
        #expect(try b.removeDependency(x))
        #expect(b.isReady)
        #expect(b.dependencies.isEmpty)
        try await stage.ended(b)
        #expect(stage.sink.trace == ["b"])
        // What nobody waits for any more, and nobody has added.
        #expect(!x.isFinished)
        try await stage.queue.addOperation(x)
        try await stage.ended(x)
      }
    }

    /// S34
    @Test("C21 edge added before start", .checks("S34"), arguments: Setting.all)
    func c21(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try await stage.queue.suspend()
        try await stage.queue.addOperation(b)
        #expect(b.isReady)
        #expect(try b.addDependency(a))
        #expect(!b.isReady)
        try await stage.queue.resume()
        try await stays("b waits for a") { !b.isReady && stage.sink.trace.isEmpty }
        try await stage.queue.addOperation(a)
        try await stage.ended(b)
        #expect(stage.sink.trace == ["a", "b"])
      }
    }
  }
}

extension String {
  /// The parts of what follows the last of these marks.
  fileprivate func components(after mark: String, separatedBy separator: String) -> [String] {
    guard let range = ranges(of: mark).last else { return [] }
    return self[range.upperBound...].split(separator: separator).map(String.init)
  }
}
