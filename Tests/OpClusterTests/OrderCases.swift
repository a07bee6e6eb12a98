// Conformance cases C29 to C36: who is next, over real daemons.

import Citations
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct OrderCases {
  /// Limit 1 does not make a queue first in, first out for what is not ready.
  @Test(.checks("S46", "C29")) func c29() async throws {
    let scene = try await SharedCluster.scene("c29")
    let queue = try await scene.queue(limit: 1)
    let n = try await scene.declared("n")
    let members = try await scene.submit { plan in
      try plan.add("one", .mark, queue: queue)
      try plan.add("two", .mark, behind: [n])
      try plan.add("three", .mark)
    }
    try await scene.finished(members["one"], members["three"])
    try await scene.settle()
    #expect(scene.trace == ["one", "three"])
    #expect(try await scene.row(members["two"]).state == .waiting)
    #expect(try await scene.row(ofQueue: queue).operationCount == 1)
    _ = try await scene.connection.request(.enqueue([n], queue: "default"))
    try await scene.ended(members)
    #expect(scene.trace == ["one", "three", "n", "two"])
  }

  /// Five levels, and the order of addition inside each.
  @Test(.checks("S47", "C30")) func c30() async throws {
    let scene = try await SharedCluster.scene("c30")
    let queue = try await scene.queue(limit: 1, suspended: true)
    let levels = Priority.allCases.sorted()
    let members = try await scene.submit { plan in
      for level in levels {
        for twin in ["a", "b"] {
          try plan.add("\(level)-\(twin)", .mark, queue: queue, priority: level)
        }
      }
    }
    try await scene.settle()
    #expect(scene.trace.isEmpty)
    try await scene.resume(queue)
    try await scene.ended(members)
    #expect(scene.trace == levels.reversed().flatMap { ["\($0)-a", "\($0)-b"] })
  }

  /// One that is not ready stalls nobody, however high.
  @Test(.checks("S46", "S53", "C32")) func c32() async throws {
    let scene = try await SharedCluster.scene("c32")
    let queue = try await scene.queue(limit: 1)
    let n = try await scene.declared("n")
    let members = try await scene.submit { plan in
      try plan.add("g", .gate, queue: queue)
      try plan.add("H", .mark, behind: [n], priority: .veryHigh)
      try plan.add("L", .mark, priority: .veryLow)
    }
    try await scene.traced("g+")
    try scene.open("g")
    try await scene.finished(members["L"])
    try await scene.settle()
    #expect(scene.trace == ["g+", "g-", "L"])
    #expect(try await scene.row(members["H"]).state == .waiting)
    _ = try await scene.connection.request(.enqueue([n], queue: "default"))
    try await scene.ended(members)
  }

  /// Priority is not handed on to dependencies.
  @Test(.checks("S54", "C33")) func c33() async throws {
    let scene = try await SharedCluster.scene("c33")
    let queue = try await scene.queue(limit: 1, suspended: true)
    let members = try await scene.submit { plan in
      try plan.add("L", .mark, queue: queue, priority: .low)
      try plan.add("N", .mark, priority: .normal)
      try plan.add("H", .mark, after: ["L"], priority: .veryHigh)
    }
    try await scene.resume(queue)
    try await scene.ended(members)
    #expect(scene.trace == ["N", "L", "H"])
  }

  /// Quality of service sets the class of the job, not its place in the queue.
  @Test(.checks("S55", "S56", "C34"), arguments: [false, true]) func c34(oneSlot: Bool) async throws
  {
    let scene = try await SharedCluster.scene("c34-\(oneSlot)")
    let queue = try await scene.queue(limit: oneSlot ? 2 : 1, suspended: true)
    let own = try await scene.ordinaryNiceness()
    let members = try await scene.submit { plan in
      let kinds: [(String, QualityOfService?)] = [
        ("background", .background), ("none", nil), ("interactive", .userInteractive),
      ]
      for (name, qos) in kinds {
        try plan.add(
          name, .shell("mark \(name):$(nice)"), queue: queue, qos: qos,
          demand: oneSlot ? .solo : Resources())
      }
    }
    try await scene.resume(queue)
    try await scene.ended(members)
    #expect(
      scene.trace == ["background:\(min(own + 10, 19))", "none:\(own)", "interactive:\(own)"])
    let rows = try await scene.connection.operations(.graph(members.graph))
    #expect(rows.allSatisfy { $0.priority == .normal })
  }

  /// What no worker can take is passed over and explained, and runs when one can.
  /// A resource stands for the function: workers that are started here have no others.
  @Test(.checks("S61", "S128", "C36")) func c36() async throws {
    let scene = try await SharedCluster.scene("c36")
    let queue = try await scene.queue(limit: 1)
    let rare = Resources(
      cpus: .zero, custom: [.init(name: "rare", amount: ResourceAmount(1))])
    let members = try await scene.submit { plan in
      try plan.add("x", .mark, queue: queue, demand: rare)
      try plan.add("f", .call("nobody.has.it"))
      try plan.add("y", .mark)
    }
    try await scene.finished(members["y"])
    try await scene.settle()
    #expect(scene.trace == ["y"])
    guard
      case .explanations(let why, _) = try await scene.connection.request(
        .explain(.graph(members.graph)))
    else { throw Trouble("explain?") }
    for id in [members["x"], members["f"]] {
      #expect(try await scene.row(id).state == .ready)
      let lines = try #require(why.first { $0.operation == id }).lines
      #expect(lines.contains { $0.text.contains("worker") }, "\(lines)")
    }
    try scene.cluster.startWorker("extra", ["--resource", "rare=1"])
    try await scene.finished(members["x"])
    #expect(try await scene.row(members["x"]).workerName == "extra")
    #expect(try await scene.cancel(members["f"], named: "f") == [.cancelled])
    try await scene.ended(members)
    scene.cluster.daemon("extra")?.signal(15)
    try await scene.cluster.daemon("extra")?.ended()
  }
}

extension Scene {
  /// The niceness that workers have without any quality of service.
  func ordinaryNiceness() async throws -> Int {
    let members = try await submit { plan in
      try plan.add("own", .shell("nice > '\(folder)/nice'"), queue: "default")
    }
    try await ended(members)
    return Int(text(of: "\(folder)/nice").prefix { $0 != "\n" }) ?? 0
  }
}
