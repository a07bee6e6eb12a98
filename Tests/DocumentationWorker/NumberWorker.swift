// The first worker of the documentation: an operation type and a program that serves it. The text
// between the marks is what the README and the catalogue show.

// snippet: worker
import OpClusterServing

struct Sum: RegisteredOperation {
  static let typeName = "numbers.sum"
  var numbers: [Int]

  func main(_ context: OperationContext) async throws -> Int {
    numbers.reduce(0, +)
  }
}

@main struct NumberWorker: WorkerProgram {
  static let types: [any RegisteredOperation.Type] = [Sum.self]
}
// end
