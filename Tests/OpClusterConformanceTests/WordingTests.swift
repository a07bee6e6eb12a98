// What errors and explanations say to a Swift program: things by their names, and calls instead of
// commands where there are any.

import MessageGenerators
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
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
  /// What a programmer reads about the thing `q` and the number 7; nil: as at a shell, since there
  /// is no call.
  private func words(_ kind: AdviceKind) -> String? {
    switch kind {
    case .text: "q"
    case .listGraphs, .resumeGraph, .listWorkers, .findWorker, .drainWorker: nil
    case .join, .addKey, .compareKeys, .compareReleases: nil
    case .cancelGraph: "cancel it with: cancelAllOperations()"
    case .release: "release it with: release()"
    case .releaseEarly: "release it now with: release()"
    case .createQueue: "create it with: ClusterOperationQueue(name:) and its first operation"
    case .resumeQueue: "resume it with: resume()"
    case .cancelQueue: "wait for them, or cancel them with: cancelAllOperations()"
    case .removeQueues: "remove some with: remove()"
    case .raiseLimit:
      "raise the limit with: a higher maxConcurrentOperationCount, or put what is waited for into "
        + "another queue"
    case .startCluster:
      "use OperationCluster.embedded(), or start one with 'opcoord serve', or give connect(to:) "
        + "another address"
    case .changeUser:
      "run this as that user if it is their cluster that you mean, or give connect(to:) another "
        + "address; between users a coordinator serves over tcp:// with keys"
    }
  }

  @Test("S145: advice names calls", arguments: AdviceKind.allCases)
  func advice(_ kind: AdviceKind) {
    let advice = kind.advice("q", 7)
    let words = words(kind) ?? advice.forShell
    #expect(advice.forPrograms == words)
    // A command is advised only where there is no call.
    #expect(words.contains("opbatch") == (self.words(kind) == nil))
    #expect(ClusterError(Refusal(.cycle, "no", hint: advice)).hint == words)
    #expect(ClusterError(ClientError(.unreachable, "no", hint: advice)).hint == words)
    #expect(Explanation.Line("it waits", hint: advice).forPrograms == "it waits; \(words)")
  }

  /// S124
  @Test("S124: a closure is refused by a cluster of workers, by the operation's name")
  func localOnly() async throws {
    let cluster = try await OperationCluster.embedded(EmbeddedCluster.Settings(workers: 1))
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
