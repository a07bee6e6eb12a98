// The sample of "Writing a worker" that tests a type without a cluster. Without `import OpCluster`,
// whose `cancel` of a context asks the cluster.

// snippet: testing
import OpClusterOperations
import Testing

// end
@testable import DocumentationWorker

// snippet: testing
@Test func aCancelledSumStops() async {
  let operation = OperationID(graph: GraphID(1), index: 0)
  let attempt = AttemptID(operation: operation, attempt: 1)
  let context = OperationContext(attempt: attempt, name: "sum")
  context.deliverCancellation()
  await #expect(throws: CancellationError.self) {
    try await PatientSum(numbers: [1]).main(context)
  }
}
// end
