// Shows an asynchronous operation: `start` hands the work to somebody else and returns, the answer
// comes later, and a token ends the operation then. What depends on it waits for the answer.

import Dispatch
public import OpCluster

/// Has two numbers added by a service that takes its time.
struct AddLater: AsynchronousOperation {
  static let typeName = "example.add-later"
  var first: Int
  var second: Int

  func start(_ context: OperationContext, _ completion: CompletionToken<Int>) throws {
    SlowCalculator.add(first, second) { sum in
      completion.finish(sum)
    }
    // Nothing has been added yet, and this thread is free.
  }
}

/// Adds up what its dependencies left.
struct Total: RegisteredOperation {
  static let typeName = "example.total"

  func main(_ context: OperationContext) async throws -> Int {
    try context.outputs(of: "pair", as: Int.self).reduce(0, +)
  }
}

/// The sums of the pairs, each calculated by an operation of its own, and the sum of these.
public func sumOfPairs(
  _ pairs: [(Int, Int)], on cluster: OperationCluster
) async throws -> (sums: [Int], total: Int) {
  let queue = ClusterOperationQueue(on: cluster)
  let additions = pairs.map { pair in
    ClusterOperation(AddLater(first: pair.0, second: pair.1), name: "pair")
  }
  let total = ClusterOperation(Total())
  for addition in additions { try total.addDependency(addition, when: .succeeded) }
  try await queue.addOperations(additions + [total])

  var sums: [Int] = []
  for addition in additions { sums.append(try await addition.output(of: AddLater.self)) }
  return (sums, try await total.output(of: Total.self))
}

/// Stands for a service of somebody else, which calls back.
private enum SlowCalculator {
  static func add(_ first: Int, _ second: Int, _ answer: @escaping @Sendable (Int) -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) {
      answer(first + second)
    }
  }
}
