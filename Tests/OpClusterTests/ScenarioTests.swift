// One scenario that other settings have, too (house habit 18): a diamond with a failure, a retry,
// an array and an allowed failure; here with real processes, from a manifest to what is shown.

import OpClusterClient
import OpClusterModel
import Testing

@Suite(.sharedCluster) struct ScenarioTests {
  ///     make ─┬─ left[1-4] (second tries only) ──────┬─ join ─ after (join failed: compensates)
  ///           └─ right (fails, and is allowed to) ───┘
  @Test func diamondWithAFailureARetryAnArrayAndAnAllowedFailure() async throws {
    let scene = try await SharedCluster.scene("diamond")
    let path = "\(scene.folder)/diamond.yaml"
    let setup = scene.preamble.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
    try write(
      """
      version: 1
      name: diamond
      x-words: &words |
      \(setup)
      operations:
        make: {run: 'eval "$WORDS"; mark make', env: {WORDS: *words}}
        left:
          needs: make
          array: 1-4
          retry: 2
          env: {WORDS: *words}
          run: 'eval "$WORDS"; mark left-$OP_INDEX; test $OP_ATTEMPT -ge 2'
        right:
          needs: make
          allow_failure: true
          env: {WORDS: *words}
          run: 'eval "$WORDS"; mark right; exit 4'
        join:
          needs: {left: succeeded, right: finished}
          env: {WORDS: *words}
          run: 'eval "$WORDS"; mark join; exit 5'
        never: {needs: join, run: 'true'}
        after:
          needs: {join: failed}
          env: {WORDS: *words}
          run: 'eval "$WORDS"; mark after'

      """, to: path)
    let ran = try await scene.cluster.opbatch("run", "-m", path)
    #expect(ran.status == 1, "\(ran.error)")
    let graph = try #require(
      try await scene.connection.graphs(Selection(graphs: .last(back: 0))).first)
    #expect(graph.state == .failed)
    #expect(graph.allowedFailures == 1)
    let rows = try await scene.connection.operations(.graph(graph.graph))
    let outcomes = rows.map { "\($0.name) \($0.outcome.map { "\($0)" } ?? "") \($0.attempt)" }
    #expect(
      outcomes == [
        "make succeeded 1", "left succeeded 2", "left succeeded 2", "left succeeded 2",
        "left succeeded 2", "right failed 1", "join failed 1", "never skipped 0",
        "after succeeded 1",
      ])
    let trace = scene.trace
    #expect(trace.first == "make")
    #expect(trace.suffix(2) == ["join", "after"])
    for element in 1...4 { #expect(trace.count { $0 == "left-\(element)" } == 2) }
    #expect(trace.count { $0 == "right" } == 1)
  }
}
