// Scripts that fail somewhere in the middle, run by real shells of a real cluster: none of them may
// be told as succeeded, unless that was asked for.

import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct ScriptFailureTests {
  @Test func whatFailsIsToldAsFailed() async throws {
    let scene = try await SharedCluster.scene("scripts")
    let path = "\(scene.folder)/graph.yaml"
    try write(
      """
      version: 1
      on_failure: continue
      operations:
        first: {run: "no_such_program\\necho after"}
        middle: {run: "echo a\\nfalse\\necho b"}
        piped: {shell: bash, run: "no_such_program | sort"}
        unset: {shell: bash, run: 'echo "$NOBODY_SETS_THIS"'}
        late: {shell: {name: bash}, run: "true | false | true\\necho after"}
        lenient: {shell: {name: bash, strict: false}, run: "no_such_program | sort\\nfalse\\ntrue"}
        loose: {shell: {name: sh, strict: false}, run: "false\\ntrue"}
        tested: {run: "if false; then echo x; fi\\nfalse || true\\necho fine"}

      """, to: path)
    let said = try await scene.cluster.opbatch("submit", path, "--wait", "-o", "name")
    let graph = try #require(UInt32(said.output.prefix { $0.isNumber }))
    #expect(said.status == 1, "\(said.error)")
    let rows = try await scene.connection.operations(.graph(GraphID(graph)))
    let failed = rows.filter { $0.state != .succeeded }.map(\.name).sorted()
    #expect(failed == ["first", "late", "middle", "piped", "unset"], "\(said.error)")
    #expect(rows.count == 8)
  }
}
