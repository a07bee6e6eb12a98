// A client program of its own, for cases in which the client leaves (C11): submits `gate(g)` and
// `mark(b)`, which waits for it, says their numbers on standard output, and stays until it is
// killed.

import ConformanceOperations
import Glibc
import OpCluster
import OpClusterModel
import OpClusterOperations

@main
struct ConformanceClient {
  /// Arguments: the coordinator's address, the path of the sink, the name of the queue.
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4 else { fatalError("ADDRESS SINK QUEUE") }
    let cluster = try await OperationCluster.connect(to: arguments[1])
    let queue = ClusterOperationQueue(name: arguments[3], on: cluster)
    let gate = ClusterOperation(Gate(sink: arguments[2], name: "g", value: 5), name: "g")
    let mark = ClusterOperation(Mark(sink: arguments[2], text: "b"), name: "b")
    try mark.addDependency(gate)
    try await queue.addOperations([gate, mark])
    for operation in [gate, mark] {
      guard let id = operation.id else { fatalError("'\(operation)' has no number") }
      print(id.graph.number, id.index)
    }
    // It does not leave by itself while the test lives.
    print("submitted")
    fflush(nil)
    while readLine() != nil {}
    await cluster.close()
  }
}
