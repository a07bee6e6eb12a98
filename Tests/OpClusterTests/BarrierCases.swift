// Conformance cases C45 to C55: barriers and cancellation, over real daemons.

import Citations
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct BarrierCases {
  /// A barrier waits for all before it and holds all behind it.
  @Test(.checks("S39", "S77", "S78", "S81", "C45")) func c45() async throws {
    let scene = try await SharedCluster.scene("c45")
    let queue = try await scene.queue()
    let members = try await scene.submit { plan in
      for name in ["a", "b", "c"] { try plan.add(name, .gate, queue: queue) }
      try plan.add("B", .gate, barrier: true)
      try plan.add("H", .mark, priority: .veryHigh)
      try plan.add("N", .mark)
    }
    try await scene.traced("a+", "b+", "c+")
    #expect(try await scene.row(ofQueue: queue).operationCount == 5)
    #expect(try await !scene.row(members["H"]).isReady)
    for name in ["a", "b", "c"] {
      try await scene.settle()
      #expect(!scene.trace.contains("B+"))
      try scene.open(name)
      try await scene.traced("\(name)-")
    }
    try await scene.traced("B+")
    try await scene.settle()
    #expect(scene.trace.last == "B+")
    try scene.open("B")
    try await scene.ended(members)
    #expect(scene.trace.suffix(2).sorted() == ["H", "N"])
    #expect(try scene.place("B-") < (try scene.place("H")))
    for name in ["H", "N"] { #expect(try await scene.row(members[name]).needs.isEmpty) }
  }

  /// A barrier concerns its own queue only.
  @Test(.checks("S79", "C46")) func c46() async throws {
    let scene = try await SharedCluster.scene("c46")
    let (one, two) = (try await scene.queue("one"), try await scene.queue("two"))
    let first = try await scene.submit { try $0.add("B", .gate, queue: one, barrier: true) }
    try await scene.traced("B+")
    let second = try await scene.submit { plan in
      for name in ["x", "y", "z"] { try plan.add(name, .mark, queue: two) }
    }
    try await scene.ended(second)
    #expect(scene.trace.first == "B+")
    #expect(scene.trace.dropFirst().sorted() == ["x", "y", "z"])
    try scene.open("B")
    try await scene.ended(first)
  }

  /// Two barriers keep everything in line.
  @Test(.checks("S80", "C47")) func c47() async throws {
    let scene = try await SharedCluster.scene("c47")
    let queue = try await scene.queue()
    let members = try await scene.submit { plan in
      for name in ["p1", "B1", "p2", "B2", "p3"] {
        try plan.add(name, .mark, queue: queue, barrier: name.hasPrefix("B"))
      }
    }
    try await scene.ended(members)
    #expect(scene.trace == ["p1", "B1", "p2", "B2", "p3"])
  }

  /// Added while the barrier runs: behind it.
  @Test(.checks("S83", "C48")) func c48() async throws {
    let scene = try await SharedCluster.scene("c48")
    let queue = try await scene.queue()
    let first = try await scene.submit { plan in
      try plan.add("B", .gate, queue: queue, barrier: true)
      try plan.add("H", .mark, priority: .veryHigh)
    }
    try await scene.traced("B+")
    let second = try await scene.submit { try $0.add("N", .mark, queue: queue) }
    try await scene.change(queue, limit: 1)
    try await scene.settle()
    #expect(scene.trace == ["B+"])
    try scene.open("B")
    try await scene.ended(first)
    try await scene.ended(second)
    #expect(scene.trace == ["B+", "B-", "H", "N"])
  }

  /// A follower that is cancelled ends at once, the barrier still waits.
  @Test(.checks("S85", "C50a")) func c50a() async throws {
    let scene = try await SharedCluster.scene("c50a")
    let queue = try await scene.queue()
    let members = try await scene.submit { plan in
      try plan.add("g", .gate, queue: queue)
      try plan.add("B", .mark, barrier: true)
      try plan.add("f", .mark)
    }
    try await scene.traced("g+")
    _ = try await scene.cancel(members["f"], named: "f")
    try await scene.finished(members["f"])
    #expect(scene.trace == ["g+"])
    try scene.open("g")
    try await scene.ended(members)
    #expect(scene.trace == ["g+", "g-", "B"])
  }

  /// All of a queue is cancelled, its barrier too: it holds nobody any more.
  @Test(.checks("S84", "S95", "C50b")) func c50b() async throws {
    let scene = try await SharedCluster.scene("c50b")
    let queue = try await scene.queue()
    let members = try await scene.submit { plan in
      try plan.add("g", .deafGate, queue: queue)
      try plan.add("B", .mark, barrier: true)
      try plan.add("f", .mark)
    }
    try await scene.traced("g+")
    _ = try await scene.connection.request(.cancelQueue(queue, reason: "test"))
    let later = try await scene.submit { try $0.add("n", .mark, queue: queue) }
    try await scene.ended(later)
    #expect(scene.trace == ["g+", "n"])
    try scene.open("g")
    try await scene.ended(members)
    #expect(scene.trace == ["g+", "n", "g-"])
  }

  /// A waiting operation is cancelled: no execution, one completion.
  @Test(.checks("S90", "S103", "S107", "C51")) func c51() async throws {
    let scene = try await SharedCluster.scene("c51")
    let members = try await scene.submit { plan in
      try plan.add("g", .gate)
      try plan.add("b", .mark, after: ["g"])
    }
    try await scene.traced("g+")
    #expect(try await scene.cancel(members["b"], named: "b") == [.cancelled])
    try await scene.finished(members["b"])
    #expect(
      try await scene.life(members, "b") == ["isCancelled", "ready true", "cancelled"])
    #expect(try await scene.events(members, "b").count { $0.kind == .completion } == 1)
    try await eventually("g executes") { try await scene.row(members["g"]).isExecuting }
    #expect(try await scene.row(members["b"]).outcome == .cancelled)
    try scene.open("g")
    try await scene.ended(members)
    #expect(scene.trace == ["g+", "g-"])
  }

  /// What has ended cannot be cancelled, and nothing is cancelled twice.
  @Test(.checks("S88", "S89", "C52")) func c52() async throws {
    let scene = try await SharedCluster.scene("c52")
    let queue = try await scene.queue(suspended: true)
    let done = try await scene.submit { try $0.add("z", .mark, queue: "default") }
    try await scene.ended(done)
    let members = try await scene.submit { plan in
      try plan.add("a", .mark, queue: "default")
      try plan.add("b", .mark, queue: queue)
    }
    try await scene.finished(members["a"])
    #expect(try await scene.cancel(members["a"], named: "a") == [.alreadyFinished])
    #expect(try await !scene.row(members["a"]).isCancelled)
    // The same where the whole graph has ended.
    let refusal = try await scene.refusal { _ = try await scene.cancel(.graph(done.graph)) }
    #expect(refusal.code == .alreadyFinished)
    #expect(try await scene.cancel(members["b"], named: "b") == [.cancelled])
    #expect(try await scene.cancel(members["b"], named: "b") == [.alreadyCancelled])
    try await scene.resume(queue)
    try await scene.ended(members)
    #expect(try await scene.life(members, "b").count { $0 == "isCancelled" } == 1)
  }

  /// A group by its label, in whatever state its members are.
  @Test(.checks("S97", "C55")) func c55() async throws {
    let scene = try await SharedCluster.scene("c55")
    let queue = try await scene.queue()
    let tag = Label(key: "tag", value: "x")
    let members = try await scene.submit { plan in
      try plan.add("early", .mark, queue: queue) { $0.labels = [tag] }
      try plan.add("running", .gate) { $0.labels = [tag] }
    }
    try await scene.finished(members["early"])
    try await scene.traced("running+")
    try await scene.suspend(queue)
    let others = try await scene.submit { plan in
      try plan.add("queued", .mark, queue: queue) { $0.labels = [tag] }
      try plan.add("u1", .mark)
      try plan.add("u2", .mark)
    }
    let selection = Selection(graphs: .all, labels: [tag])
    let verdicts = try await scene.cancel(selection)
    #expect(verdicts == [.alreadyFinished, .executing, .cancelled])
    for name in ["u1", "u2"] { #expect(try await !scene.row(others[name]).isCancelled) }
    try scene.open("running")
    try await scene.resume(queue)
    try await scene.ended(members)
    try await scene.ended(others)
    #expect(scene.trace.suffix(2).sorted() == ["u1", "u2"])
  }
}
