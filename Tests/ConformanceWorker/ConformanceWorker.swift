// The worker of the conformance cases: `opworker` with their operation types.

import ConformanceOperations
import OpClusterServing

@main
struct ConformanceWorker: WorkerProgram {
  static let types: [any RegisteredOperation.Type] = conformanceTypes
}
