// The steering commands of `opbatch` against real daemons: running again, holding, moving,
// barriers, dependents, calls, and what rows say about blocks.

import Citations
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct SteeringCommandTests {
  private func scene(_ name: String) async throws -> Scene {
    try await SharedCluster.scene(name)
  }

  /// Submits a manifest; its number.
  private func submit(_ scene: Scene, _ text: String, _ options: String...) async throws -> String {
    let path = "\(scene.folder)/graph.yaml"
    try write(text + "\n", to: path)
    let program = try scene.cluster.startOpbatch(["submit", path, "-o", "name"] + options)
    _ = try await program.ended()
    return String(program.output.prefix { $0 != "\n" })
  }

  private func operations(_ scene: Scene, _ selector: String) async throws -> [JSONValue] {
    let said = try await scene.cluster.opbatch("ls", selector, "-o", "json")
    return try JSONValue(said.output)["operations"].elements
  }

  /// What succeeded is taken over with its outputs, the rest runs.
  @Test(.checks("S11")) func retryRunsWhatIsAskedFor() async throws {
    let scene = try await scene("retry")
    let ok = "\(scene.folder)/ok"
    let graph = try await submit(
      scene,
      """
      version: 1
      name: again
      operations:
        a: {run: "echo n=$$ >> \\"$OP_OUTPUT\\""}
        b: {needs: a, run: "echo m=${{ needs.a.outputs.n }} >> \\"$OP_OUTPUT\\"; test -e \(ok)"}
        c: {needs: b, run: "true"}
        d: {run: "true"}
      """, "--wait")
    try write("", to: ok)
    let said = try await scene.cluster.opbatch("retry", graph, "--failed", "--wait", "-o", "json")
    #expect(said.status == 0, "\(said.error)")
    let json = try JSONValue(said.output)["graph"]
    #expect(json["continued_from"].number.map { String(Int($0)) } == graph)
    #expect(json["reused"].number == 2)
    let again = String(Int(json["id"].number ?? 0))
    let before = try await operations(scene, "\(graph)/a")
    let rows = try await operations(scene, again)
    #expect(rows.allSatisfy { $0["state"].text == "succeeded" })
    #expect(rows[1]["output"]["m"].text == before[0]["output"]["n"].text)
    #expect(rows[0].keys.contains("started_at") == false)
    let part = try await scene.cluster.opbatch("retry", "\(again)/b", "-o", "json")
    #expect(try JSONValue(part.output)["graph"]["reused"].number == 2)
    let nothing = try await scene.cluster.opbatch("retry", again, "--failed")
    #expect(nothing.status == 4)
    #expect(nothing.error.contains("succeeded"))
  }

  /// S44, S97; and moving between queues.
  @Test(.checks("S44", "S97")) func operationsAreHeldMovedAndReleased() async throws {
    let scene = try await scene("hold")
    let cluster = scene.cluster
    let queue = "moved-\(scene.folder.split(separator: "/").last ?? "")"
    #expect(try await cluster.opbatch("queue", "create", queue).status == 0)
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        gate: {call: {type: sleep, input: 100}}
        one: {needs: {gate: finished}, run: "true", labels: {kind: x}}
        once: {needs: {gate: finished}, run: "true"}
        other: {needs: {gate: finished}, run: "true"}
      """)
    let held = try await cluster.opbatch("hold", "\(graph)/on*", "-o", "json")
    #expect(try JSONValue(held.output)["held"].elements[0]["changed"].number == 2)
    let names = try await cluster.opbatch("ls", graph, "--state", "held", "-o", "name").output
    #expect(names == "\(graph)/one\n\(graph)/once\n")
    let set = try await cluster.opbatch(
      "set", "\(graph)/other", "queue=\(queue)", "priority=very-high")
    #expect(set.status == 0, "\(set.error)")
    let other = try await operations(scene, "\(graph)/other")
    #expect(other[0]["queue"].text == queue)
    #expect(other[0]["priority"].text == "very-high")
    let wrong = try await cluster.opbatch("set", "\(graph)/other", "queue=\(queue)x")
    #expect(wrong.status == 4)
    #expect(wrong.error.contains("did you mean '\(queue)'?"), "\(wrong.error)")
    #expect(try await cluster.opbatch("release", graph, "-l", "kind=x").status == 0)
    #expect(try await cluster.opbatch("cancel", "\(graph)/gate").status == 0)
    #expect(try await cluster.opbatch("wait", "\(graph)/one", "\(graph)/other").status == 0)
    #expect(try await operations(scene, "\(graph)/once")[0]["state"].text == "held")
    #expect(try await cluster.opbatch("release", "\(graph)/once").status == 0)
    #expect(try await cluster.opbatch("wait", graph).status == 2)
    #expect(try await cluster.opbatch("queue", "rm", queue).status == 0)
  }

  /// What was done for earlier selectors is told also where a later one is refused.
  @Test func whatHasHappenedIsToldBeforeAFailure() async throws {
    let scene = try await scene("told")
    let cluster = scene.cluster
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        a: {call: {type: sleep, input: 100}}
        b: {needs: a, run: "true"}
      """)
    let held = try await cluster.opbatch("hold", "\(graph)/b", "999999", "-o", "name")
    #expect(held.status == 4 && held.output == "\(graph)/b\n", "\(held)")
    #expect(held.error.contains("999999"), "\(held.error)")
    let ended = try await cluster.opbatch("cancel", graph, "999999", "-o", "name")
    #expect(ended.status == 4 && ended.output == "\(graph)\n", "\(ended)")
    #expect(try await cluster.opbatch("wait", graph).status == 2)
    let again = try await cluster.opbatch("cancel", "999999", graph)
    #expect(again.status == 4 && again.output.isEmpty, "\(again)")
  }

  /// What a queue requires of workers is made, shown, changed while it is empty, and
  /// obeyed.
  @Test(.checks("S145", "S146")) func aQueueKeepsToItsWorkers() async throws {
    let scene = try await scene("require")
    let cluster = scene.cluster
    let queue = "kept-\(scene.folder.split(separator: "/").last ?? "")"
    let made = try await cluster.opbatch(
      "queue", "create", queue, "--require", "disk=none", "--require", "zone=z")
    #expect(made.status == 0, "\(made.error)")
    let shown = try await cluster.opbatch("queue", "show", queue)
    #expect(shown.output.contains("WORKERS WITH"), "\(shown.output)")
    #expect(shown.output.contains("disk=none,zone=z"), "\(shown.output)")
    let row = try JSONValue(try await cluster.opbatch("queue", "show", queue, "-o", "json").output)
    let required = row["queues"].elements[0]["require"]
    #expect(required["disk"].elements.map(\.text) == ["none"])
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        a: {queue: \(queue), run: "true"}
      """)
    let why = try await cluster.opbatch("why", "\(graph)/a").output
    #expect(why.contains("disk"), "\(why)")
    let early = try await cluster.opbatch("queue", "set", queue, "--no-require")
    #expect(early.status != 0 && early.error.contains("only while it is empty"), "\(early.error)")
    #expect(try await cluster.opbatch("cancel", graph).status == 0)
    #expect(try await cluster.opbatch("wait", graph).status == 2)
    let both = try await cluster.opbatch(
      "queue", "set", queue, "--no-require", "--require", "a=b")
    #expect(both.status == 64, "\(both.error)")
    #expect(try await cluster.opbatch("queue", "set", queue, "--no-require").status == 0)
    let again = try await submit(
      scene,
      """
      version: 1
      operations:
        a: {queue: \(queue), run: "true"}
      """)
    #expect(try await cluster.opbatch("wait", again).status == 0)
    #expect(try await cluster.opbatch("queue", "rm", queue).status == 0)
  }

  /// Letting operations go does not let a suspended graph go, and says so.
  @Test func releasingInASuspendedGraphIsExplained() async throws {
    let scene = try await scene("suspended")
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        a: {run: "true"}
      """, "--hold")
    let released = try await scene.cluster.opbatch("release", "\(graph)/a")
    #expect(released.status == 0)
    #expect(released.error.contains("graph \(graph) is suspended as a whole: opbatch resume"))
    #expect(try await scene.cluster.opbatch("resume", graph).status == 0)
    #expect(try await scene.cluster.opbatch("wait", graph).status == 0)
  }

  /// All that depends on it, not itself.
  @Test(.checks("S97")) func dependentsAreCancelled() async throws {
    let scene = try await scene("dependents")
    let cluster = scene.cluster
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        a: {call: {type: sleep, input: 100}}
        b: {needs: a, run: "true"}
        c: {needs: {b: finished}, run: "true"}
        d: {run: "true"}
      """)
    let said = try await cluster.opbatch("cancel", "\(graph)/a", "--dependents", "-o", "json")
    #expect(try JSONValue(said.output)["cancelled"].elements[0]["cancelled"].number == 2)
    let states = try await operations(scene, graph).map { $0["state"].text ?? "" }
    #expect(states[1...2] == ["cancelled", "cancelled"])
    #expect(!["cancelled", "stopping"].contains(states[0]))
    #expect(try await cluster.opbatch("cancel", graph, "--grace", "100ms").status == 0)
    #expect(try await cluster.opbatch("wait", graph).status == 2)
  }

  /// S77, S86.
  @Test(.checks("S77", "S86")) func aBarrierWaitsForWhatIsInItsQueue() async throws {
    let scene = try await scene("barrier")
    let cluster = scene.cluster
    let queue = "barred-\(scene.folder.split(separator: "/").last ?? "")"
    #expect(try await cluster.opbatch("queue", "create", queue).status == 0)
    let graph = try await submit(
      scene,
      "version: 1\noperations: {a: {call: {type: sleep, input: 100}, queue: \(queue)}}")
    let name = try await cluster.opbatch(
      "queue", "barrier", queue, "-o", "name", "--", "sh", "-c", "exit 3"
    ).output
    let barrier = String(name.prefix { $0 != "\n" })
    let row = try await operations(scene, "\(barrier)/barrier")
    #expect(row[0]["blocked_by"].elements.count == 1)
    #expect(try await cluster.opbatch("cancel", graph, "--grace", "100ms").status == 0)
    #expect(try await cluster.opbatch("wait", barrier).status == 1)
    #expect(try await cluster.opbatch("queue", "barrier", queue, "--wait").status == 0)
    let wrong = try await cluster.opbatch("queue", "barrier", queue + "x")
    #expect(wrong.status == 4)
    #expect(wrong.error.contains("did you mean '\(queue)'?"))
    #expect(try await cluster.opbatch("queue", "rm", queue).status == 0)
  }

  /// S125 to S129.
  @Test(.checks("S125", "S126", "S128", "S129")) func aCallGivesItsOutput() async throws {
    let scene = try await scene("call")
    let cluster = scene.cluster
    let said = try await cluster.opbatch("run", "--call", "noop")
    #expect(said.status == 0, "\(said.error)")
    #expect(said.output == "null\n")
    let cases: [(Int32, [String])] = [
      (0, ["sleep", "--input", "{\"milliseconds\": 1}"]), (1, ["sleep", "--input", "\"x\""]),
      (3, ["sleep", "--input", "100", "--timeout", "500ms"]), (65, ["noop", "--input", "{a: 1}"]),
      (65, ["noop", "--input", "@\(scene.folder)/none"]), (64, ["noop@x"]),
      (3, ["noop@9", "--timeout", "500ms"]), (64, ["noop", "--timeout", "0"]),
    ]
    for (status, arguments) in cases {
      let program = try cluster.startOpbatch(["run", "--call"] + arguments)
      #expect(try await program.ended() == status, "\(arguments): \(program.error)")
    }
  }

  /// S118 to S123, and a time for a call.
  @Test(.checks("S118", "S123"))
  func manifestsRunBlocksGroupsAndTimedCalls() async throws {
    let scene = try await scene("blocks")
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        good:
          resources: {cpus: 2}
          env: {A: env}
          blocks:
            - "echo k=$A-$OP_INDEX >> \\"$OP_OUTPUT\\""
            - call: {type: noop}
          array: 7-7
        bad: {blocks: ["true", [sh, -c, "exit 3"]]}
        g: {group: {max_concurrent: 1, operations: {x: {run: "true"}, y: {needs: x, run: "true"}}}}
        after: {needs: g, run: "true"}
        slow: {call: {type: sleep, input: 100}, timeout: 300ms}
      """, "--wait")
    let rows = try await operations(scene, graph)
    let states = Dictionary(
      rows.map { ($0["id"].text ?? "", $0["state"].text ?? "") }, uniquingKeysWith: { a, _ in a })
    #expect(
      states == [
        "\(graph)/good/7": "succeeded", "\(graph)/bad": "failed", "\(graph)/g.x": "succeeded",
        "\(graph)/g.y": "succeeded", "\(graph)/g": "succeeded", "\(graph)/after": "succeeded",
        "\(graph)/slow": "timed-out",
      ])
    let good = rows[0]["block_results"].elements
    #expect(good.map { $0["state"].text } == ["succeeded", "succeeded"])
    #expect(good[0]["output"]["k"].text == "env-7")
    let bad = rows[1]["block_results"].elements
    #expect(bad.map { $0["state"].text } == ["succeeded", "failed"])
    let page = try await scene.cluster.opbatch("show", "\(graph)/bad")
    #expect(page.output.contains("BLOCK"), "\(page.output)")
  }

  /// A delay and a time in a manifest; the words of `why`, `show` and `ls`.
  @Test(.checks("S44", "S150")) func whatMayNotStartYet() async throws {
    let scene = try await scene("not-before")
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        a: {run: "true", not_before: 300ms}
        b: {run: "true", not_before: 1h}
        c: {run: "true", not_before: "2020-02-02T02:02:02Z"}
        d: {needs: b, run: "true"}
      """)
    let first = try await scene.cluster.opbatch("wait", "\(graph)/a", "\(graph)/c")
    #expect(first.status == 0, "\(first.error)")
    let row = try await operations(scene, "\(graph)/b")[0]
    #expect(row["state"].text == "held")
    #expect(row["not_before"].text?.hasSuffix("Z") == true)
    let why = try await scene.cluster.opbatch("why", "\(graph)/b")
    #expect(why.output.contains("not_before") && why.output.contains("opbatch release"))
    let show = try await scene.cluster.opbatch("show", "\(graph)/b")
    #expect(show.output.contains("not before"))
    let release = try await scene.cluster.opbatch("release", "\(graph)/b")
    #expect(release.status == 0)
    let rest = try await scene.cluster.opbatch("wait", graph)
    #expect(rest.status == 0, "\(rest.error)")
  }

  /// Outputs of a command in the input of a call, of the kind that they are; what is not
  /// there fails the call without a retry.
  @Test(.checks("S138")) func outputsInTheInputOfACall() async throws {
    let scene = try await scene("call-input")
    let graph = try await submit(
      scene,
      """
      version: 1
      operations:
        make: {run: "echo pause=0.01 >> \\"$OP_OUTPUT\\"; echo word=x >> \\"$OP_OUTPUT\\""}
        good: {needs: make, call: {type: sleep, input: "${{ needs.make.outputs.pause }}"}}
        bad: {needs: make, retry: 3, call: {type: sleep, input: "${{ needs.make.outputs.word }}"}}
        none: {needs: make, retry: 3, call: {type: sleep, input: "${{ needs.make.outputs.n }}"}}
        side:
          needs: make
          blocks: [{call: {type: sleep, input: "${{ needs.make.outputs.pause }}"}}]
      """)
    let end = try await scene.cluster.opbatch("wait", graph)
    #expect(end.status == 1)
    let rows = try await operations(scene, graph)
    func state(_ name: String) -> String? {
      rows.first { $0["name"].text == name }?["state"].text
    }
    #expect(state("good") == "succeeded" && state("side") == "succeeded", "\(rows)")
    #expect(state("bad") == "failed" && state("none") == "failed")
    let none = try await scene.cluster.opbatch("show", "\(graph)/none")
    #expect(none.output.contains("needs.make.outputs.n is not there"), "\(none.output)")
    #expect(rows.allSatisfy { $0["attempt"].number == 1 })
    try write(
      "version: 1\noperations: {a: {run: x, outputs: [k]}, b: {needs: a, call: {type: t, "
        + "input: '${{ needs.a.outputs.kk }}'}}}\n", to: "\(scene.folder)/wrong.yaml")
    let check = try await scene.cluster.opbatch("check", "\(scene.folder)/wrong.yaml")
    #expect(check.status == 65 && check.error.contains("has no output 'kk'"))
  }
}
