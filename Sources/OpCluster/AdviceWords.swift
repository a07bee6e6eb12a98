// The words of advice for Swift programs: the call, where there is one. The other steps are
// commands that a person must enter.

import OpClusterModel
import OpClusterPresentation

extension Advice {
  /// The advice for programmers.
  var forPrograms: String {
    switch self {
    // The same words for everybody, or commands that a person must enter.
    case .text, .listGraphs, .resumeGraph, .listWorkers, .findWorker, .drainWorker, .join, .addKey,
      .compareKeys, .compareReleases:
      forShell
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
}

extension Explanation.Line {
  /// The sentence and its advice, for programmers.
  var forPrograms: String { hint.isEmpty ? text : "\(text); \(hint.forPrograms)" }
}
