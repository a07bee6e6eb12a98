// The command `opworker`: a worker program without types of its own.

import OpClusterServing

@main
struct Opworker: WorkerProgram {
  static let name = "opworker"
  static let types: [any RegisteredOperation.Type] = []
}
