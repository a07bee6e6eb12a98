// The samples of the README, "Getting started" and "From one machine to many", as they are run.

// snippet: import
import OpCluster
// end
import Testing

@testable import DocumentationWorker

@Suite struct FirstSamples {
  @Test func firstQueue() async throws {
    // snippet: first-queue
    let queue = ClusterOperationQueue(name: "numbers", maxConcurrentOperationCount: 2)
    let load = ClusterOperation(name: "load", returning: { _ in [3, 1, 2] })
    let sort = ClusterOperation(
      name: "sort",
      returning: { context in
        (context.output([Int].self) ?? []).sorted()
      })
    try sort.addDependency(load)
    try await queue.addOperations([load, sort])
    print(try await sort.output(as: [Int].self))  // [1, 2, 3]
    // end
    #expect(try await sort.output() == [1, 2, 3])
  }

  // snippet: sum-anywhere
  func sum(_ numbers: [Int], on cluster: OperationCluster) async throws -> Int {
    let queue = ClusterOperationQueue(name: "sums", on: cluster)
    let sum = ClusterOperation(Sum(numbers: numbers))
    try await queue.addOperation(sum)
    return try await sum.output(of: Sum.self)
  }
  // end

  @Test func sumsHere() async throws {
    #expect(try await sum([1, 2, 3], on: .local()) == 6)
  }

  // snippet: three-clusters
  func clusters() async throws -> [OperationCluster] {
    let here = OperationCluster.local()
    let own = try await OperationCluster.embedded(
      EmbeddedCluster.Settings(workers: 2, workerExecutable: "/opt/numbers/NumberWorker"))
    let shared = try await OperationCluster.connect(to: "tcp://127.0.0.1:7420")
    return [here, own, shared]
  }
  // end

  @Test func aClosureStaysHere() async throws {
    // snippet: inside
    let parent = ClusterOperation(name: "parent") { context in
      let queue = try await context.queue()
      let child = ClusterOperation(name: "child") { _ in }
      try await queue.addOperation(child)
    }
    // end
    let queue = ClusterOperationQueue(on: .local())
    try await queue.addOperation(parent)
    try await queue.waitUntilAllOperationsAreFinished()
    #expect(parent.outcome == .succeeded)
  }

  @Test func placement() async throws {
    // snippet: placement
    let operation = ClusterOperation(ClusterCommand(["ffmpeg", "-version"]))
    operation.settings.resources = Resources(
      cpus: ResourceAmount(4), memoryBytes: 2_000_000_000)
    operation.settings.requirements = [LabelRequirement(key: "disk", values: ["ssd"])]
    operation.settings.maximumLosses = 0  // never run again where its worker is lost or stopped
    // end
    #expect(operation.settings.resources.memoryBytes == 2_000_000_000)
  }
}
