// Shows cancellation, which is a question that a running operation asks itself: a loop that looks
// at each turn whether anybody still wants its result.

public import OpCluster

/// Adds up numbers, over and over again.
struct Sum: RegisteredOperation {
  static let typeName = "example.sum"
  var numbers: [Int]
  /// A large number of turns makes it last.
  var turns = 1

  func main(_ context: OperationContext) async throws -> Int {
    var sum = 0
    for turn in 0..<turns {
      for number in numbers {
        // Cheap enough for every turn: it reads a flag in this process.
        try context.checkCancellation()
        sum &+= number
      }
      if turn % 1_024 == 0 { context.reportProgress(Double(turn) / Double(turns)) }
    }
    return sum
  }
}

/// Adds up numbers.
///
/// - Parameter cancelsInTheMiddle: cancel it as soon as it is executing.
/// - Returns: nil if it was cancelled.
public func sum(
  of numbers: [Int], turns: Int = 1, cancelsInTheMiddle: Bool = false, on cluster: OperationCluster
) async throws -> Int? {
  let queue = ClusterOperationQueue(on: cluster)
  let operation = ClusterOperation(Sum(numbers: numbers, turns: turns))
  let changes = operation.changes
  try await queue.addOperation(operation)
  if cancelsInTheMiddle {
    for try await change in changes where change.kind == .isExecuting(true) {
      // Asks it to stop; it stops when it looks.
      try await operation.cancel()
      break
    }
  }
  try await operation.waitUntilFinished()
  if operation.isCancelled { return nil }
  return try await operation.output(of: Sum.self)
}
