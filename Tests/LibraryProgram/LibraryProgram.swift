// A program of the library whose operations want processes of their own, as a user writes one: the
// tests start it. Its main opens the door for them, unless its only argument is `without`. It says
// on standard output what became of each operation. With the argument `idle` it says instead how
// much processor time clusters take in which nothing goes on.

import FoundationEssentials
import Glibc
import OpCluster

/// Returns the number of the process that it runs in, and the number it was given.
struct Where: RegisteredOperation {
  static let typeName = "library.where"
  static let isolation = OperationIsolation.child
  @Input var before: [Int32]?

  func main(_ context: OperationContext) async throws -> [Int32] {
    print("a line that is not the program's")
    context.reportProgress(0.5)
    return [getpid()] + (before ?? [])
  }
}

/// Crashes.
struct Trap: RegisteredOperation {
  static let typeName = "library.trap"
  static let isolation = OperationIsolation.child

  func main(_ context: OperationContext) async throws -> NoOutput { fatalError("on purpose") }
}

/// Heeds nothing.
struct Deaf: RegisteredOperation {
  static let typeName = "library.deaf"
  static let isolation = OperationIsolation.child
  /// Appears when it runs.
  var file: String

  func main(_ context: OperationContext) async throws -> NoOutput {
    _ = FileManager.default.createFile(atPath: file, contents: nil)
    while true { sleep(1) }
  }
}

/// Not in the list that main gives.
struct Stranger: RegisteredOperation {
  static let typeName = "library.stranger"
  static let isolation = OperationIsolation.child

  func main(_ context: OperationContext) async throws -> NoOutput { NoOutput() }
}

@main
struct LibraryProgram {
  static func main() async throws {
    if CommandLine.arguments.last == "idle" { return try await Idleness.measure() }
    if CommandLine.arguments.last != "without" {
      OperationCluster.runAsChildIfAsked(types: [Where.self, Trap.self, Deaf.self])
    }
    let queue = ClusterOperationQueue(name: "isolated", maxConcurrentOperationCount: 1)
    let (first, second) = (ClusterOperation(Where()), ClusterOperation(Where()))
    do {
      try second.addDependency(first)
      try await queue.addOperations([first, second])
    } catch {
      print("refused: \(error)")
      return
    }
    let processes = try await second.output(of: Where.self)
    print("a child:", processes[0] != getpid(), "used again:", processes[0] == processes[1])
    try await crash(queue)
    try await kill(queue)
    try await blocks(queue)
    await refusal(queue)
    let byHand = ClusterOperation(Where())
    try byHand.start()
    print("by hand in a child:", try await byHand.output(of: Where.self) != [getpid()])
    await queue.cluster.close()
  }

  private static func crash(_ queue: ClusterOperationQueue) async throws {
    let trap = ClusterOperation(Trap())
    try await queue.addOperations([trap], waitUntilFinished: true)
    if case .failed(let failure) = try await trap.result() {
      print("crashed:", failure.cause, failure.message.contains("on purpose"))
    }
  }

  private static func kill(_ queue: ClusterOperationQueue) async throws {
    let file = "\(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString)"
    let deaf = ClusterOperation(Deaf(file: file))
    deaf.settings.cancelGrace = .milliseconds(50)
    try await queue.addOperation(deaf)
    while !FileManager.default.fileExists(atPath: file) {
      try await Task.sleep(for: .milliseconds(2))
    }
    try await deaf.cancel()
    try await deaf.waitUntilFinished()
    try FileManager.default.removeItem(atPath: file)
    let result = try await deaf.details()?.result
    print("killed:", result?.wasForced ?? false, deaf.isCancelled)
  }

  private static func blocks(_ queue: ClusterOperationQueue) async throws {
    let blocks = ClusterOperation.blocks()
    try blocks.addBlock(Where())
    try await queue.addOperations([blocks], waitUntilFinished: true)
    let output = try await blocks.blockResults()
    print("in a block:", output.count)
  }

  private static func refusal(_ queue: ClusterOperationQueue) async {
    do {
      try await queue.addOperation(ClusterOperation(Stranger()))
    } catch {
      print("refused: \(error)")
    }
  }
}
