// Conformance cases C13 to C26: dependencies, over real daemons.

import Citations
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct DependencyCases {
  /// A diamond over three workers.
  ///     A ─┬─ B ─┬─ D
  ///        └─ C ─┘
  @Test(.checks("S20", "S21", "S114", "C13")) func c13() async throws {
    let scene = try await SharedCluster.scene("c13")
    let members = try await scene.submit { plan in
      try plan.add("A", .mark)
      try plan.add("B", .mark, after: ["A"])
      try plan.add("C", .mark, after: ["A"])
      try plan.add("D", .mark, after: ["B", "C"])
    }
    try await scene.ended(members)
    #expect(scene.trace.first == "A")
    #expect(scene.trace.last == "D")
    #expect(scene.trace.sorted() == ["A", "B", "C", "D"])
  }

  /// A dependency that has ended already, in an earlier graph.
  @Test(.checks("S27", "S38", "C14")) func c14() async throws {
    let scene = try await SharedCluster.scene("c14")
    let first = try await scene.submit { try $0.add("a", .mark) }
    try await scene.ended(first)
    let second = try await scene.submit { try $0.add("b", .mark, behind: [first["a"]]) }
    try await scene.ended(second)
    #expect(scene.trace == ["a", "b"])
    #expect(try await scene.row(second["b"]).needs.map(\.id) == [first["a"]])
    #expect(try await scene.life(second, "b").first == "ready true")
  }

  /// Policies against the failure of an earlier submission.
  @Test(.checks("S22", "S23", "S27", "S29", "C15")) func c15() async throws {
    let scene = try await SharedCluster.scene("c15")
    let first = try await scene.submit { try $0.add("a", .fail) }
    try await scene.ended(first)
    let second = try await scene.submit { plan in
      try plan.add("b", .mark, behind: [first["a"]], when: .succeeded)
      try plan.add("c", .mark, behind: [first["a"]], when: .finished)
      try plan.add("d", .mark, behind: [first["a"]], when: .failed)
    }
    try await scene.ended(second)
    #expect(scene.trace.sorted() == ["c", "d"])
    let b = try await scene.row(second["b"])
    #expect(b.outcome == .skipped)
    #expect(b.reason == .dependency(first["a"], .failed))
    #expect(try await !scene.life(second, "b").contains("executing true"))
  }

  /// An id that was never issued: nothing of the batch exists.
  @Test(.checks("S28", "S58", "C16")) func c16() async throws {
    let scene = try await SharedCluster.scene("c16")
    let unknown = OperationID(graph: GraphID(999_999), index: 0)
    let before = try await scene.connection.graphs(Selection(graphs: .all)).count
    let refusal = try await scene.refusal {
      _ = try await scene.submit { plan in
        try plan.add("x", .mark)
        try plan.add("y", .mark, behind: [unknown])
      }
    }
    #expect(refusal.code == .unknownDependency)
    #expect(refusal.operations == [unknown])
    try await scene.settle()
    // The one more is what `settle` sent.
    #expect(try await scene.connection.graphs(Selection(graphs: .all)).count == before + 1)
    #expect(scene.trace.isEmpty)
  }

  /// The same edge twice is one; with two policies it is a conflict.
  @Test(.checks("S30", "C17")) func c17() async throws {
    let scene = try await SharedCluster.scene("c17")
    let members = try await scene.submit { plan in
      try plan.add("a", .mark)
      try plan.add("b", .mark, after: ["a", "a"])
    }
    try await scene.ended(members)
    #expect(scene.trace == ["a", "b"])
    #expect(try await scene.row(members["b"]).needs.map(\.id) == [members["a"]])
    let refusal = try await scene.refusal {
      _ = try await scene.submit { plan in
        let a = try plan.add("a", .mark)
        let b = try plan.add("b", .mark, after: ["a"], when: .finished)
        plan.submission.groupEdges.append(GroupEdge(from: a, to: b, policy: .succeeded))
      }
    }
    #expect(refusal.code == .conflictingEdge)
  }

  /// A cancelled operation that still runs does not release its dependents.
  @Test(.checks("S24", "S92", "S94", "C24")) func c24() async throws {
    let scene = try await SharedCluster.scene("c24")
    let members = try await scene.submit { plan in
      try plan.add("g", .deafGate)
      try plan.add("b", .mark, after: ["g"])
    }
    try await scene.traced("g+")
    #expect(try await scene.cancel(members["g"], named: "g") == [.executing])
    try await scene.settle()
    let g = try await scene.row(members["g"])
    #expect(g.isCancelled && g.isExecuting && !g.isFinished)
    #expect(try await scene.row(members["b"]).state == .waiting)
    try scene.open("g")
    try await scene.ended(members)
    #expect(scene.trace == ["g+", "g-", "b"])
    #expect(try await scene.row(members["g"]).outcome == .cancelled)
  }

  /// A dependency in a suspended queue.
  @Test(.checks("S26", "S76", "C25")) func c25() async throws {
    let scene = try await SharedCluster.scene("c25")
    let held = try await scene.queue("held", suspended: true)
    let free = try await scene.queue("free")
    let members = try await scene.submit { plan in
      try plan.add("a", .mark, queue: held)
      try plan.add("b", .mark, after: ["a"], queue: free)
    }
    try await scene.settle()
    #expect(try await scene.row(members["b"]).state == .waiting)
    #expect(scene.trace.isEmpty)
    try await scene.resume(held)
    try await scene.ended(members)
    #expect(scene.trace == ["a", "b"])
  }

  /// Skipping goes down the chain until an edge takes it.
  @Test(.checks("S23", "S109", "C26")) func c26() async throws {
    let scene = try await SharedCluster.scene("c26")
    let members = try await scene.submit { plan in
      try plan.add("a", .fail)
      try plan.add("b", .mark, after: ["a"], when: .succeeded)
      try plan.add("c", .mark, after: ["b"], when: .succeeded)
      try plan.add("d", .mark, after: ["c"], when: .finished)
    }
    try await scene.ended(members)
    #expect(scene.trace == ["d"])
    for (name, cause, outcome) in [("b", "a", Outcome.failed), ("c", "b", .skipped)] {
      let row = try await scene.row(members[name])
      #expect(row.outcome == .skipped)
      #expect(row.reason == .dependency(members[cause], outcome))
      #expect(try await !scene.life(members, name).contains("executing true"))
    }
    for name in ["a", "b", "c", "d"] {
      let completions = try await scene.events(members, name).count { $0.kind == .completion }
      #expect(completions == 1, "\(name)")
    }
  }
}
