// G39 with real daemons: an operation has its secret values in its environment, and nothing that
// anybody is shown, nor any log of a daemon, has them.

import Citations
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct SecretCommandTests {
  private let first = "sesame-31-first"
  private let second = "sesame-31-second"

  private func expectNone(_ said: (status: Int32, output: String, error: String), _ what: String) {
    #expect(!(said.output + said.error).contains("sesame-31"), "\(what) shows a secret")
    #expect(!(said.output + said.error).isEmpty, "\(what) says nothing")
  }

  @Test(.checks("G39")) func onlyTheOperationHasThem() async throws {
    let scene = try await SharedCluster.scene("secrets")
    let cluster = scene.cluster
    try write("FIRST=\(first)\n", to: "\(scene.folder)/secrets.env")
    try write("\(second)\n", to: "\(scene.folder)/second.txt")
    let path = "\(scene.folder)/graph.yaml"
    try write(
      """
      version: 1
      name: secretive
      env_file: secrets.env
      operations:
        a:
          env: {SECOND: {secret: {file: second.txt}}}
          workdir: .
          run: 'printf %s "$FIRST/$SECOND" > "seen-$OP_GRAPH"'
        b: {needs: a, workdir: ., run: 'test -e go && printf %s "$FIRST" > "late-$OP_GRAPH"'}

      """, to: path)
    expectNone(try await cluster.opbatch("check", path), "check")
    expectNone(try await cluster.opbatch("check", path, "-o", "json"), "check -o json")
    let said = try await cluster.opbatch("submit", path, "--wait", "-o", "name")
    let graph = String(said.output.prefix { $0 != "\n" })
    #expect(try text("\(scene.folder)/seen-\(graph)") == "\(first)/\(second)", "\(said.error)")
    for words in [
      ["show", graph], ["show", graph, "-o", "json"], ["show", "\(graph)/a", "-o", "json"],
      ["show", "\(graph)/b"], ["ls", graph, "-o", "json"], ["ls", "-a", "-o", "json"],
      ["why", "\(graph)/b"],
    ] {
      let program = try cluster.startOpbatch(words)
      let status = try await program.ended()
      expectNone((status, program.output, program.error), words.joined(separator: " "))
    }
    let events = try await scene.connection.backlog(.graph(GraphID(UInt32(graph) ?? 0)))
    #expect(!events.isEmpty && !"\(events)".contains("sesame-31"))
    let reply = try await scene.connection.request(.submission(GraphID(UInt32(graph) ?? 0)))
    #expect(!"\(reply)".contains("sesame-31"))
    // Done again without being told again.
    try write("", to: "\(scene.folder)/go")
    let again = try await cluster.opbatch("retry", graph, "--failed", "--wait", "-o", "name")
    #expect(again.status == 0, "\(again.error)")
    let next = String(again.output.prefix { $0 != "\n" })
    #expect(try text("\(scene.folder)/late-\(next)") == first)
    for name in ["opcoord", "w1", "w2", "w3"] {
      guard let daemon = cluster.daemon(name) else { continue }
      #expect(!(daemon.output + daemon.error).contains("sesame-31"), "the log of \(name)")
    }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self)
  }
}
