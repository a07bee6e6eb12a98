// Conformance cases C2 to C16 that concern the life of single operations, over real daemons.

import Citations
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct LifeCycleCases {
  /// The normal sequence of events.
  @Test(.checks("S9", "S106", "S109", "S116", "C2")) func c2() async throws {
    let scene = try await SharedCluster.scene("c2")
    let since = try await scene.connection.lastEvent()
    let members = try await scene.submit { try $0.add("a", .mark) }
    var own: [(UInt32, Event.Kind)] = []
    let all = EventSubscription(number: 1, selection: .graph(members.graph), since: since)
    reading: for try await batch in scene.connection.events(all) {
      for event in batch.events {
        if case .operation(members["a"], let sequence) = event.subject {
          own.append((sequence, event.kind))
        }
        if case .graphFinished = event.kind { break reading }
      }
    }
    #expect(own.map(\.0) == Array(1...UInt32(own.count)))
    let kinds = own.map(\.1)
    let flags = kinds.filter { if case .isExecuting = $0 { true } else { $0.isEnd } }
    #expect(flags == [.isExecuting(true), .isExecuting(false), .isFinished(.succeeded)])
    #expect(kinds.count { $0 == .completion } == 1)
    #expect(kinds.last == .completion)
    #expect(try await scene.row(members["a"]).outcome == .succeeded)
  }

  /// No sample shows executing and finished both, nothing leaves finished.
  @Test(.checks("S8", "S9", "C3")) func c3() async throws {
    let scene = try await SharedCluster.scene("c3")
    let members = try await scene.submit { plan in
      for number in 1...200 { try plan.add("n\(number)", .call("noop")) }
    }
    var ended: Set<OperationID> = []
    try await eventually("all have ended") {
      for row in try await scene.connection.operations(.graph(members.graph)) {
        #expect(!(row.isExecuting && row.isFinished))
        #expect(row.isFinished || !ended.contains(row.id))
        if row.isFinished { ended.insert(row.id) }
      }
      return ended.count == 200
    }
  }

  /// The same request twice is one graph with one answer.
  @Test(.checks("S11", "G19", "C6")) func c6() async throws {
    let scene = try await SharedCluster.scene("c6")
    let queue = try await scene.queue(suspended: true)
    var plan = Plan(scene)
    plan.submission.key = SubmissionKey("c6")
    try plan.add("a", .mark, queue: queue)
    let request = ClientRequest.submit(plan.submission)
    let first = try await scene.connection.request(request)
    let second = try await scene.connection.request(request)
    guard case .accepted(let graph, 1, false) = first, case .accepted(graph, 1, true) = second
    else {
      Issue.record("\(first), then \(second)")
      return
    }
    #expect(try await scene.row(ofQueue: queue).operationCount == 1)
    try await scene.resume(queue)
    try await scene.ended(Members(graph, plan.submission))
    #expect(scene.trace == ["a"])
    // The same key with another content is a conflict, and changes nothing.
    plan.submission.name = "another"
    let refusal = try await scene.refusal { _ = try await scene.submit(plan.submission) }
    #expect(refusal.code == .conflict)
  }

  /// A failure finishes, and `finished` edges go on.
  @Test(.checks("S10", "S16", "S18", "S22", "C7")) func c7() async throws {
    let scene = try await SharedCluster.scene("c7")
    let members = try await scene.submit { plan in
      try plan.add("x", .fail)
      try plan.add("y", .mark, after: ["x"])
    }
    try await scene.ended(members)
    let x = try await scene.row(members["x"])
    #expect(x.outcome == .failed)
    #expect(x.result?.exitStatus == 3)
    #expect(!x.isExecuting && x.isFinished)
    #expect(scene.trace == ["y"])
  }

  /// A join point waits for all and needs no worker.
  @Test(.checks("S4", "S20", "S21", "C10")) func c10() async throws {
    let scene = try await SharedCluster.scene("c10")
    let members = try await scene.submit { plan in
      for name in ["a", "b", "c"] { try plan.add(name, .gate) }
      try plan.add("j", .nothing, after: ["a", "b", "c"])
      try plan.add("d", .mark, after: ["j"])
    }
    try await scene.traced("a+", "b+", "c+")
    for name in ["c", "a"] {
      try scene.open(name)
      try await scene.finished(members[name])
    }
    try await scene.settle()
    #expect(!scene.trace.contains("d"))
    try scene.open("b")
    try await scene.ended(members)
    #expect(scene.trace.last == "d")
    let life = try await scene.life(members, "j")
    #expect(life == ["ready true", "executing true", "executing false", "succeeded"])
    #expect(try await scene.row(members["j"]).workerName.isEmpty)
  }

  /// Nothing depends on the client.
  @Test(.checks("S5", "C11")) func c11() async throws {
    let scene = try await SharedCluster.scene("c11")
    try scene.makeGate("g")
    let lines = scene.preamble.split(separator: "\n").map { "      \($0)\n" }.joined()
    let manifest = "\(scene.folder)/c11.yaml"
    try write(
      """
      version: 1
      name: c11
      operations:
        g:
          run: |
      \(lines)      gate g
        b:
          needs: g
          run: |
      \(lines)      mark b

      """, to: manifest)
    let client = try scene.cluster.startOpbatch(["submit", "--wait", manifest])
    try await eventually("g begins", details: { client.error }) { scene.trace.contains("g+") }
    client.signal(9)
    try await client.ended()
    try scene.open("g")
    try await scene.traced("b")
    let shown = try await scene.cluster.opbatch("wait", "last")
    #expect(shown.status == 0)
    let rows = try await scene.connection.operations(Selection(graphs: .last(back: 0)))
    #expect(rows.map(\.outcome) == [.succeeded, .succeeded])
  }

  /// Any number is pulled to one of the five levels.
  @Test(.checks("S48", "C31")) func c31() async throws {
    let scene = try await SharedCluster.scene("c31")
    let queue = try await scene.queue(suspended: true)
    let given = [10_000, 5, 3, -3, -6, -9]
    let members = try await scene.submit { plan in
      for (at, number) in given.enumerated() {
        try plan.add("n\(at)", .mark, queue: queue, priority: Priority(normalising: number))
      }
    }
    let rows = try await scene.connection.operations(.graph(members.graph))
    #expect(rows.map(\.priority.rawValue) == [8, 4, 0, 0, -4, -8])
    try await scene.resume(queue)
    try await scene.ended(members)
  }
}

extension Event.Kind {
  var isEnd: Bool { if case .isFinished = self { true } else { false } }
}
