// Workers that are killed: what becomes of their processes and of their operations (C8, C9, F7,
// G17, G22, G25).

import Citations
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite struct WorkerLossTests {
  /// With no restarts allowed, the loss ends the operation, and the slot is free.
  @Test(.checks("S12", "S70", "S147", "C8")) func c8() async throws {
    try await Cluster.with(Cluster.Shape().losingSoon) { cluster in
      let scene = try await Scene("c8", on: cluster)
      for gate in ["go", "hang"] { try scene.makeGate(gate) }
      let queue = try await scene.queue(limit: 1)
      let members = try await scene.submit { plan in
        try plan.add("x", .shell("gate go; kill -9 $PPID; gate hang"), queue: queue) {
          $0.maximumLosses = 0
        }
        try plan.add("y", .mark, after: ["x"])
      }
      try await scene.executes(members, "x", attempt: 1)
      try scene.open("go")
      try await scene.ended(members)
      let (x, y) = (try await scene.row(members["x"]), try await scene.row(members["y"]))
      #expect(x.outcome == .lost)
      #expect(try await scene.life(members, "x").count { $0.hasPrefix("executing") } == 2)
      #expect(y.outcome == .succeeded)
      #expect(y.workerName != x.workerName)
      #expect(scene.trace == ["go+", "go-", "hang+", "y"])
      #expect(try await scene.row(ofQueue: queue).executing == 0)
    }
  }

  /// Attempts are one life.
  @Test(.checks("S8", "S12", "S147", "C9")) func c9() async throws {
    try await Cluster.with(Cluster.Shape().losingSoon) { cluster in
      let scene = try await Scene("c9", on: cluster)
      let work = """
        gate go$OP_ATTEMPT
        [ $OP_ATTEMPT = 3 ] || { kill -9 $PPID; gate hang; }
        echo v=7 >> "$OP_OUTPUT"
        """
      for gate in ["go1", "go2", "go3", "hang"] { try scene.makeGate(gate) }
      let members = try await scene.submit { plan in
        try plan.add("x", .shell(work))
        try plan.add("y", .mark, after: ["x"])
      }
      for attempt: UInt32 in 1...3 {
        try await scene.executes(members, "x", attempt: attempt)
        try scene.open("go\(attempt)")
      }
      try await scene.ended(members)
      let begun = scene.lines.filter { $0.what.hasPrefix("go") && $0.what.hasSuffix("+") }
      #expect(begun.map(\.attempt) == [1, 2, 3])
      #expect(scene.trace.last == "y")
      let life = try await scene.life(members, "x")
      #expect(life == ["ready true", "executing true", "executing false", "succeeded"])
      let events = try await scene.events(members, "x")
      let starts = events.compactMap { event -> UInt32? in
        if case .attemptStarted(let attempt, _) = event.kind { attempt } else { nil }
      }
      #expect(starts == [1, 2, 3])
      #expect(events.count { $0.kind == .completion } == 1)
      #expect(try await scene.row(members["x"]).outcome == .succeeded)
      let shown = try await cluster.opbatch("show", "\(members.graph.number)/x", "-o", "json")
      #expect(try JSONValue(shown.output)["operations"].elements[0]["output"]["v"].text == "7")
    }
  }

  /// Nothing of an operation outlives its killed worker by 2 s, wherever it has moved; the
  /// operation runs again elsewhere after the lease.
  @Test(.checks("G22", "G25", "F7")) func childrenEndWithTheirWorker() async throws {
    try await Cluster.with(Cluster.Shape().losingSoon) { cluster in
      let scene = try await Scene("f7", on: cluster)
      let work = """
        note parent
        report='echo "$0 $OP_ATTEMPT $$ $OP_FENCE" >> \(scene.folder)/trace; sleep 1000'
        if [ $OP_ATTEMPT = 1 ]; then
          setsid sh -c "$report" session &
          (setsid nohup sh -c "$report" double &)
          gate hang
        fi
        """
      try scene.makeGate("hang")
      let members = try await scene.submit { try $0.add("x", .shell(work)) }
      try await scene.traced("parent", "session", "double", "hang+")
      let processes = Set(scene.lines.map(\.process))
      #expect(processes.count == 3)
      #expect(processes.allSatisfy(isAlive))
      let first = try await scene.row(members["x"]).workerName
      try await cluster.kill(first)
      try await eventually("its processes are gone") {
        !processes.contains(where: isAlive)
      }
      try await scene.ended(members)
      let shown = try await cluster.opbatch("show", "\(members.graph.number)/x", "-o", "json")
      let operation = try #require(try JSONValue(shown.output)["operations"].elements.first)
      let attempts = operation["attempts"].elements
      // One that a loaded machine gave back before it began has a number, and is not listed.
      #expect(attempts.count == 2)
      #expect(attempts.map { $0["worker"].text == first } == [true, false])
      #expect(attempts.first?["reason"].text == "lost")
      #expect(attempts.map { $0["attempt"].number } == [1, 2])
      #expect(operation["attempt"].number == 2)
      #expect(operation["state"].text == "succeeded")
    }
  }

  /// A worker that comes back under its name before its lease is over gives its operations free at
  /// once: its new life does not know them.
  @Test(.checks("S147")) func aRestartedWorkerDoesNotWaitForTheLease() async throws {
    var shape = Cluster.Shape()
    shape.workers = 1
    shape.timing = ["--heartbeat", "0.2", "--suspect", "200", "--lost", "300", "--grace", "3"]
    try await Cluster.with(shape) { cluster in
      let scene = try await Scene("restart", on: cluster)
      try scene.makeGate("hang")
      let work = "note x; [ $OP_ATTEMPT = 2 ] || gate hang"
      let members = try await scene.submit { try $0.add("x", .shell(work)) }
      try await scene.traced("hang+")
      try await cluster.kill("w1")
      try cluster.startWorker("w1")
      try await scene.ended(members)
      #expect(try await scene.row(members["x"]).attempt == 2)
    }
  }
}
