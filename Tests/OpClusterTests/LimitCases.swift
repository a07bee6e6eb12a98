// Conformance cases C37 to C44: limits and suspension, over real daemons.

import Citations
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct LimitCases {
  /// How many have begun and not ended, after each line of the trace.
  static func running(_ trace: [String]) -> [Int] {
    var count = 0
    return trace.map { line in
      count += line.hasSuffix("+") ? 1 : line.hasSuffix("-") ? -1 : 0
      return count
    }
  }

  /// A limit holds over all workers, and is reached.
  @Test(.checks("S63", "S68", "C37")) func c37() async throws {
    let scene = try await SharedCluster.scene("c37")
    let queue = try await scene.queue(limit: 3)
    let names = (1...30).map { "g\($0)" }
    let members = try await scene.submit { plan in
      for name in names { try plan.add(name, .gate, queue: queue) }
    }
    for at in names.indices {
      // Those that may run begin before the next gate opens.
      try await eventually("\(min(at + 3, 30)) have begun", details: { "\(scene.trace)" }) {
        scene.trace.count { $0.hasSuffix("+") } == min(at + 3, 30)
      }
      let open = try #require(
        scene.trace.first { line in
          line.hasSuffix("+") && !scene.trace.contains(line.dropLast() + "-")
        })
      try scene.open(String(open.dropLast()))
      try await scene.traced(open.dropLast() + "-")
    }
    try await scene.ended(members)
    #expect(Self.running(scene.trace).max() == 3)
  }

  /// A limit raised and lowered while operations run.
  @Test(.checks("S66", "C38")) func c38() async throws {
    let scene = try await SharedCluster.scene("c38")
    let queue = try await scene.queue(limit: 1)
    let names = (1...8).map { "g\($0)" }
    let members = try await scene.submit { plan in
      for name in names { try plan.add(name, .gate, queue: queue) }
    }
    try await scene.traced("g1+")
    try await scene.settle()
    #expect(scene.trace == ["g1+"])
    try await scene.change(queue, limit: 4)
    try await scene.traced("g2+", "g3+", "g4+")
    try await scene.change(queue, limit: 1)
    for (at, name) in names.enumerated() {
      try await scene.traced("\(name)+")
      try await scene.settle()
      #expect(scene.trace.count { $0.hasSuffix("+") } == max(4, at + 1))
      try scene.open(name)
      try await scene.traced("\(name)-")
    }
    try await scene.ended(members)
    #expect(Self.running(scene.trace).max() == 4)
  }

  /// Nothing starts at 0; a limit that is none is refused and changes nothing.
  @Test(.checks("S65", "S145", "C39")) func c39() async throws {
    let scene = try await SharedCluster.scene("c39")
    let queue = try await scene.queue(limit: 0)
    let members = try await scene.submit { plan in
      try plan.add("a", .mark, queue: queue)
      try plan.add("b", .mark)
    }
    try await scene.settle()
    #expect(scene.trace.isEmpty)
    try await scene.change(queue, limit: 2)
    try await scene.ended(members)
    #expect(scene.trace.sorted() == ["a", "b"])
    let wrong = try await scene.cluster.opbatch("queue", "set", queue, "--max-concurrent", "-5")
    #expect(wrong.status == 64)
    #expect(try await scene.row(ofQueue: queue).settings.maximumConcurrent == 2)
  }

  /// What is cancelled needs no slot to end.
  @Test(.checks("S69", "C41")) func c41() async throws {
    let scene = try await SharedCluster.scene("c41")
    let queue = try await scene.queue(limit: 1)
    let members = try await scene.submit { plan in
      try plan.add("g", .gate, queue: queue)
      try plan.add("b", .mark)
      try plan.add("c", .mark, after: ["b"], queue: "default")
    }
    try await scene.traced("g+")
    #expect(try await scene.cancel(members["b"], named: "b") == [.cancelled])
    try await scene.finished(members["c"])
    #expect(try await scene.row(members["b"]).outcome == .cancelled)
    #expect(scene.trace == ["g+", "c"])
    try scene.open("g")
    try await scene.ended(members)
  }

  /// After the answer to a suspension nothing starts; what ran goes on; nothing is lost or
  /// repeated.
  @Test(.checks("S71", "S72", "C42")) func c42() async throws {
    let scene = try await SharedCluster.scene("c42")
    let queue = try await scene.queue(limit: 6)
    let names = (1...100).map { "m\($0)" }
    let members = try await scene.submit { plan in
      for name in names { try plan.add(name, .mark, queue: queue) }
    }
    try await eventually("some have run") { scene.trace.count >= 20 }
    try await scene.suspend(queue)
    let answered = try await scene.commit()
    try await eventually("what executes ends") {
      try await scene.row(ofQueue: queue).executing == 0
    }
    let told = scene.trace.count
    try await scene.settle()
    #expect(scene.trace.count == told)
    #expect(told < 100)
    let resuming = try await scene.commit()
    try await scene.resume(queue)
    try await scene.ended(members)
    #expect(scene.trace.sorted() == names.sorted())
    let starts = try await scene.connection.backlog(.graph(members.graph))
      .filter { $0.kind == .isExecuting(true) }.map(\.commit)
    #expect(starts.count == 100)
    #expect(!starts.contains { $0 > answered && $0 <= resuming })
  }

  /// What is cancelled in a suspended queue stays until it is resumed.
  @Test(.checks("S75", "C43")) func c43() async throws {
    let scene = try await SharedCluster.scene("c43")
    let queue = try await scene.queue(suspended: true)
    let members = try await scene.submit { plan in
      try plan.add("b", .mark, queue: queue)
      try plan.add("c", .mark, after: ["b"], queue: "default")
    }
    _ = try await scene.cancel(members["b"], named: "b")
    try await scene.settle()
    let b = try await scene.row(members["b"])
    #expect(b.isCancelled && b.isReady && !b.isFinished)
    #expect(try await scene.row(ofQueue: queue).operationCount == 1)
    #expect(try await scene.row(members["c"]).state == .waiting)
    try await scene.resume(queue)
    try await scene.ended(members)
    #expect(scene.trace == ["c"])
  }

  /// A suspended queue takes every change before it goes on.
  @Test(.checks("S47", "S52", "S73", "C44")) func c44() async throws {
    let scene = try await SharedCluster.scene("c44")
    let queue = try await scene.queue(suspended: true)
    let first = try await scene.submit { plan in
      for name in ["a", "b", "c"] { try plan.add(name, .mark, queue: queue) }
    }
    let second = try await scene.submit { try $0.add("d", .mark, queue: queue) }
    let connection = scene.connection
    _ = try await connection.request(.setPriority(.operations([first["c"]]), .veryHigh))
    try await scene.change(queue, limit: 1)
    _ = try await scene.cancel(first["b"], named: "b")
    // "add c←a": a waits for c.
    _ = try await connection.request(.addDependency(from: first["c"], to: first["a"], .finished))
    try await scene.resume(queue)
    try await scene.ended(first)
    try await scene.ended(second)
    // a is not ready while c runs, and is before d by its addition when c has ended.
    #expect(scene.trace == ["c", "a", "d"])
    #expect(try await scene.row(first["b"]).outcome == .cancelled)
  }
}
