// The worker of the examples: `opworker` with their operation types. This is all that a worker of
// one's own takes.

import OpClusterExamples
import OpClusterServing

@main
struct ExampleWorker: WorkerProgram {
  static let types = exampleTypes
}
