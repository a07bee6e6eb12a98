// A graph in somebody's trace: operations find their span in the environment, and `opbatch trace`
// writes the same numbers down.

import Citations
import OpClusterModel
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct TraceCommandTests {
  private let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test func operationsKnowTheirSpans() async throws {
    let scene = try await SharedCluster.scene("trace")
    let cluster = scene.cluster
    let path = "\(scene.folder)/graph.yaml"
    try write(
      """
      version: 1
      operations:
        one:
          retry: {max: 1, reasons: [failed]}
          run: |
            echo $TRACEPARENT > \(scene.folder)/span-$OP_ATTEMPT
            test $OP_ATTEMPT = 2
        two: {needs: one, run: "true"}

      """, to: path)
    let variables = ["OPBATCH_COORDINATOR=\(cluster.address)", "TRACEPARENT=\(parent)"]
    // The same key: whoever submits again is in another span, and gets the same graph.
    let key = "trace-\(scene.folder)"
    let said = try await cluster.opbatch(
      "submit", path, "--key", key, "--wait", "-o", "name", variables: variables)
    #expect(said.status == 0, "\(said.error)")
    let graph = String(said.output.prefix { $0 != "\n" })
    let again = try await cluster.opbatch("submit", path, "--key", key, "-o", "name")
    #expect(again.output == "\(graph)\n")
    let trace = try await cluster.opbatch("trace", graph, "--format", "otlp")
    let spans = try JSONValue(trace.output)["resourceSpans"].elements[0]["scopeSpans"]
      .elements[0]["spans"].elements
    #expect(spans.count == 1 + 2 + 3)
    #expect(spans.allSatisfy { $0["traceId"].text == "0af7651916cd43dd8448eb211c80319c" })
    #expect(spans.first { $0["parentSpanId"].text == "b7ad6b7169203331" } != nil)
    for attempt in 1...2 {
      let span = try #require(spans.first { $0["name"].text == "one attempt \(attempt)" })
      let told = text(of: "\(scene.folder)/span-\(attempt)")
      #expect(told == "00-0af7651916cd43dd8448eb211c80319c-\(span["spanId"].text ?? "")-01\n")
    }
  }

  /// Who has no trace gives none.
  @Test func othersHaveNone() async throws {
    let scene = try await SharedCluster.scene("trace-none")
    let said = try await scene.cluster.opbatch(
      "run", "--", "sh", "-c", "echo ${TRACEPARENT-none}")
    #expect(said.output == "none\n", "\(said.error)")
    let wrong = try await scene.cluster.opbatch(
      "run", "--", "sh", "-c", "echo ${TRACEPARENT-none}",
      variables: ["OPBATCH_COORDINATOR=\(scene.cluster.address)", "TRACEPARENT=00-zz-1-01"])
    #expect(wrong.output == "none\n", "\(wrong.error)")
  }
}
