// The worker of the conformance cases: `opworker` with their operation types.

import ConformanceOperations
import OpClusterServing

@main
struct ConformanceWorker: WorkerProgram {
  static let types: [any RegisteredOperation.Type] =
    CommandLine.arguments.contains(Rare.label) ? conformanceTypes + [Rare.self] : conformanceTypes
}
