// What errors and explanations say to a Swift program: things by their names, and calls instead of
// commands where there are any.

import FoundationEssentials
import OpClusterModel
import RealCluster
import Testing

@testable import OpCluster

extension Conformance {
  @Suite struct Hints {
    /// S145
    @Test("S145: hints name calls", arguments: Setting.all) func hints(_ setting: Setting)
      async throws
    {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("q", isSuspended: true)
        let held = stage.mark("held")
        held.settings.isHeld = true
        try await queue.addOperations([stage.mark("a"), held])
        let error = await refused(.queueNotEmpty) { try await queue.remove() }
        #expect(error?.hint == "wait for them, or cancel them with: cancelAllOperations()")
        let lines = try await queue.operations[0].explanation() + held.explanation()
        #expect(lines.contains("it is held; release it with: release()"), "\(lines)")
        #expect(
          lines.contains { $0.hasSuffix("is suspended; resume it with: resume()") }, "\(lines)")
        #expect(!lines.joined().contains("opbatch"))
      }
    }
  }
}

@Suite struct Wording {
  @Test func sentences() {
    let starving =
      "raise the limit with: opbatch queue set q --max-concurrent 3, or put what is waited for "
      + "into another queue"
    #expect(
      SwiftWording.of(starving)
        == "raise the limit with: a higher maxConcurrentOperationCount, or put what is waited for "
        + "into another queue")
    #expect(
      SwiftWording.of(
        "start one with 'opbatch up' or 'opcoord serve', or name another with --coordinator or "
          + "OPBATCH_COORDINATOR")
        == "use OperationCluster.embedded(), or start one with 'opcoord serve', or give "
        + "connect(to:) another address")
    #expect(SwiftWording.of("see them with: opbatch ls -a") == "see them with: opbatch ls -a")
  }

  /// Every command that the scheduler and the client advise is known here.
  @Test func noCommandIsForgotten() throws {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/")
    let known = SwiftWording.calls.map(\.command) + SwiftWording.withoutCall
    var count = 0
    for module in ["OpClusterScheduling", "OpClusterClient", "OpClusterLocal", "OpCluster"] {
      let folder = "\(root)/Sources/\(module)"
      for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
      where path.hasSuffix(".swift") && path != "SwiftWording.swift" {
        let text = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
        for line in text.split(separator: "\n") {
          for part in ["with: opbatch ", "'opbatch "] {
            guard let start = line.firstRange(of: part) else { continue }
            let command = line[start.upperBound...]
            count += 1
            let isKnown =
              known.contains { "opbatch \(command)".hasPrefix($0) }
              || SwiftWording.advice.contains { line.contains($0.toPeople) }
            #expect(isKnown, "\(path): opbatch \(command)")
          }
        }
      }
    }
    #expect(count >= 10)
  }

  /// S124
  @Test("S124: a closure is refused by a cluster of workers, by the operation's name")
  func localOnly() async throws {
    // Beside everything else of a loaded machine.
    let cluster = try await OperationCluster.embedded(
      EmbeddedCluster.Settings(workers: 1, deadline: .seconds(60)))
    let queue = ClusterOperationQueue(on: cluster)
    let named = ClusterOperation(name: "resize") {}
    let error = await refused(.localOnly) { try await queue.addOperation(named) }
    #expect(error?.message.contains("'resize'") == true)
    #expect(error?.hint.contains("RegisteredOperation") == true)
    await refused(.localOnly) { try await queue.addOperation {} }
    await refused(.localOnly) { try await queue.addBarrierBlock {} }
    await refused(.localOnly) { try await queue.addOperation(ClusterOperation(returning: { 3 })) }
    let blocks = ClusterOperation.blocks()
    try blocks.addExecutionBlock {}
    await refused(.localOnly) { try await queue.addOperation(blocks) }
    await refused(.localOnly) { try ClusterOperation().start(on: cluster) }
    await refused(.localOnly) { _ = try ClusterOperationQueue.main(of: cluster) }
    // Nothing of it is there, and it can go elsewhere.
    #expect(named.id == nil && named.queue == nil)
    try await ClusterOperationQueue(on: .local(slots: 2)).addOperations(
      [named], waitUntilFinished: true)
    // One that is added later is refused as well.
    let suspended = ClusterOperationQueue(on: cluster, isSuspended: true)
    let later = ClusterOperation.blocks()
    try await suspended.addOperation(later)
    await refused(.localOnly) { try later.addExecutionBlock {} }
    try await suspended.cancelAllOperations()
    await cluster.close()
  }

  @Test("what has no name is called what it is") func names() async throws {
    #expect("\(ClusterOperation())" == "operation")
    #expect("\(ClusterOperation {})" == "block operation")
    #expect("\(ClusterOperation.blocks())" == "blocks")
    let queue = ClusterOperationQueue(on: .local(slots: 2), isSuspended: true)
    let operation = ClusterOperation {}
    try await queue.addOperation(operation)
    let error = await refused(.alreadyEnqueued) { try await queue.addOperation(operation) }
    #expect(error?.message == "'block operation' is in a queue already")
    try await queue.cancelAllOperations()
  }
}
