// Somebody is told of a graph by a real command and a real HTTP server: by who follows it, and in
// the background by who submits and leaves.

import Citations
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct NotifyCommandTests {
  private func manifest(_ scene: Scene, _ notify: String) throws -> String {
    let path = "\(scene.folder)/graph.yaml"
    try write(
      """
      version: 1
      name: told
      operations:
        fails: {run: "echo no tile >&2; exit 3"}
        after:
          needs: {fails: finished}
          run: "while [ ! -e \(scene.folder)/go ]; do sleep 0.1; done"
      notify:
      \(notify)

      """, to: path)
    return path
  }

  /// Submits; the graph's number.
  private func submitted(_ path: String, _ scene: Scene) async throws -> String {
    let said = try await scene.cluster.opbatch("submit", path, "-o", "name")
    try #require(said.status == 0, "\(said.error)")
    return try #require(said.output.split(separator: "\n").first.map { String($0) })
  }

  /// What a file holds once it is there.
  private func appeared(_ path: String) async throws -> String {
    try await eventually("\(path) appears") {
      let text = text(of: path)
      return text.isEmpty ? nil : text
    }
  }

  /// Who leaves at once is told by a process that stays; the first failure before the end. A server
  /// that is busy is asked again.
  @Test func inTheBackground() async throws {
    let scene = try await SharedCluster.scene("notify")
    let server = try WebhookServer(answers: [503])
    defer { server.end() }
    try write("t0ken\n", to: "\(scene.folder)/token")
    let path = try manifest(
      scene,
      """
        - webhook: http://127.0.0.1:\(server.port)/hook
          token: {file: token}
        - run: |
            cd \(scene.folder)
            cat > $OP_EVENT.new
            mv $OP_EVENT.new $OP_EVENT-$OP_GRAPH_NAME-$OP_GRAPH_STATE
      """)
    let said = try await scene.cluster.opbatch("submit", path)
    #expect(said.status == 0, "\(said.error)")
    #expect(said.error.contains("2 notifications will be sent from this machine"))
    let failure = try JSONValue(
      try await appeared("\(scene.folder)/failure-told-running"))
    #expect(failure["event"].text == "failure")
    #expect(failure["failures"].elements[0]["exit_code"].number == 3)
    try write("", to: "\(scene.folder)/go")
    let end = try JSONValue(try await appeared("\(scene.folder)/end-told-failed"))
    #expect(end["graph"]["state"].text == "failed")
    #expect(end["graph"]["counts"]["succeeded"].number == 1)
    try await eventually("the webhook is told of both", holds: { server.received.count >= 3 })
    let events = try server.received.map { try JSONValue($0.body)["event"].text }
    #expect(events[0] == "failure" && Set(events) == ["failure", "end"])
    for request in server.received {
      #expect(request.head.hasPrefix("POST /hook HTTP/1.1\r\n"))
      #expect(request.head.contains("Authorization: Bearer t0ken"))
      #expect(request.head.contains("Content-Type: application/json"))
    }
  }

  /// Who watches waits until all are told; a command that fails at first is run again; what cannot
  /// be told changes no status.
  @Test func whileWatching() async throws {
    let scene = try await SharedCluster.scene("notify-watch")
    try write("", to: "\(scene.folder)/go")
    let path = try manifest(scene, "  []")
    let graph = try await submitted(path, scene)
    let script = "mkdir \(scene.folder)/first 2>/dev/null && exit 1; cat > \(scene.folder)/told"
    let said = try await scene.cluster.opbatch(
      "watch", graph, "--notify", script, "--notify", "/no/such/program", "--notify-on", "end")
    #expect(said.status == 1)
    #expect(said.error.contains("could not tell /no/such/program: graph \(graph), end"))
    #expect(said.error.contains("told mkdir"))
    #expect(try await appeared("\(scene.folder)/told").contains("\"event\":\"end\""))
  }

  /// A graph of very many operations is counted, not followed one by one: its first failure is
  /// told before its end all the same, and its end is exact.
  @Test func veryManyOperations() async throws {
    let scene = try await SharedCluster.scene("notify-many")
    let path = "\(scene.folder)/graph.yaml"
    try write(
      """
      version: 1
      operations:
        many: {call: {type: noop}, array: 0-2999}
        fails: {run: "exit 3"}
        last: {run: "while [ ! -e \(scene.folder)/go ]; do sleep 0.1; done"}

      """, to: path)
    let graph = try await submitted(path, scene)
    let script = "cat > \(scene.folder)/new; mv \(scene.folder)/new \(scene.folder)/$OP_EVENT"
    let watch = try scene.cluster.startOpbatch(["watch", graph, "--notify", script])
    try await eventually("the failure is told, or nobody watches") {
      watch.end != nil || !text(of: "\(scene.folder)/failure").isEmpty
    }
    let told = text(of: "\(scene.folder)/failure")
    try #require(!told.isEmpty, "\(watch.output) \(watch.error)")
    let failure = try JSONValue(told)
    #expect(failure["event"].text == "failure")
    #expect(failure["graph"]["state"].text == "running")
    try write("", to: "\(scene.folder)/go")
    #expect(try await watch.ended() == 1, "\(watch.error)")
    let end = try JSONValue(try await appeared("\(scene.folder)/end"))
    #expect(end["graph"]["state"].text == "failed")
    #expect(watch.output.contains("failed, 3,002 of 3,002 done, 1 failed"), "\(watch.output)")
  }

  /// One that succeeds has no failures to tell of.
  @Test func successes() async throws {
    let scene = try await SharedCluster.scene("notify-success")
    let path = "\(scene.folder)/graph.yaml"
    try write(
      """
      version: 1
      operations: {a: {run: "true"}}
      notify: [{run: "cat > \(scene.folder)/new; mv \(scene.folder)/new \(scene.folder)/told"}]

      """, to: path)
    let said = try await scene.cluster.opbatch("submit", path)
    #expect(said.status == 0, "\(said.error)")
    let told = try JSONValue(try await appeared("\(scene.folder)/told"))
    #expect(told["event"].text == "end" && told["graph"]["state"].text == "succeeded")
    #expect(told["failures"].elements.isEmpty)
    let run = try await scene.cluster.opbatch("run", "-m", path)
    #expect(run.status == 0 && run.error.contains(", end"), "\(run.error)")
  }
}
