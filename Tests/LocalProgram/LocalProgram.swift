// A program that runs an operation in its own process and depends on nothing else: no client, no
// messages to other machines. What it links is looked at by a test (`LinkingTests`).

import OpClusterLocal
import OpClusterModel
import OpClusterOperations

/// A registered type, as a programmer writes it.
private struct Product: RegisteredOperation {
  static let typeName = "local.product"
  var factors: [Int]

  func main(_ context: OperationContext) async throws -> NoOutput {
    print("\(context.name): \(factors.reduce(1, *))")
    return NoOutput()
  }
}

@main
struct LocalProgram {
  static func main() async {
    var registry = OperationRegistry()
    registry.add(Product.self)
    let cluster = LocalCluster(registry: registry)
    let (outcomes, continuation) = AsyncStream.makeStream(of: Outcome.self)
    cluster.observe { runs in
      for run in runs {
        run.forEach { event in
          if case .operation = event.subject, case .isFinished(let outcome) = event.kind {
            continuation.yield(outcome)
          }
        }
      }
    }
    var template = OperationTemplate(name: "product", work: .call(Product.operationType))
    template.payload = Array(#"{"factors":[6,7]}"#.utf8)
    var graph = GraphSubmission(name: "local")
    graph.templates = [template]
    cluster.send(.submit(graph)) { reply in
      guard case .failure(let refusal) = reply else { return }
      print("refused: \(refusal)")
      continuation.finish()
    }
    for await outcome in outcomes.prefix(1) { print("ended: \(outcome)") }
    await cluster.close()
  }
}
