// Advice by chance, and one of each kind.

package import OpClusterModel

/// The cases of `Advice`, for tests that go through all of them.
package enum AdviceKind: CaseIterable, Sendable {
  case text
  case listGraphs, cancelGraph, resumeGraph, release, releaseEarly
  case createQueue, resumeQueue, cancelQueue, removeQueues, raiseLimit
  case listWorkers, findWorker, drainWorker
  case startCluster, changeUser, join, addKey, compareKeys, compareReleases

  /// A new case of `Advice` does not compile until it is one here.
  package init(_ advice: Advice) {
    self =
      switch advice {
      case .text: .text
      case .listGraphs: .listGraphs
      case .cancelGraph: .cancelGraph
      case .resumeGraph: .resumeGraph
      case .release: .release
      case .releaseEarly: .releaseEarly
      case .createQueue: .createQueue
      case .resumeQueue: .resumeQueue
      case .cancelQueue: .cancelQueue
      case .removeQueues: .removeQueues
      case .raiseLimit: .raiseLimit
      case .listWorkers: .listWorkers
      case .findWorker: .findWorker
      case .drainWorker: .drainWorker
      case .startCluster: .startCluster
      case .changeUser: .changeUser
      case .join: .join
      case .addKey: .addKey
      case .compareKeys: .compareKeys
      case .compareReleases: .compareReleases
      }
  }

  /// The advice of this kind about these things.
  package func advice(_ name: String, _ number: UInt32) -> Advice {
    switch self {
    case .text: .text(name)
    case .listGraphs: .listGraphs
    case .cancelGraph: .cancelGraph(GraphID(number))
    case .resumeGraph: .resumeGraph(GraphID(number))
    case .release: .release(name)
    case .releaseEarly: .releaseEarly(name)
    case .createQueue: .createQueue(name)
    case .resumeQueue: .resumeQueue(name)
    case .cancelQueue: .cancelQueue(name)
    case .removeQueues: .removeQueues
    case .raiseLimit: .raiseLimit(queue: name, limit: number)
    case .listWorkers: .listWorkers
    case .findWorker: .findWorker
    case .drainWorker: .drainWorker(name)
    case .startCluster: .startCluster
    case .changeUser: .changeUser
    case .join: .join
    case .addKey: .addKey
    case .compareKeys: .compareKeys
    case .compareReleases: .compareReleases
    }
  }
}

extension MessageGenerator {
  package mutating func advice() -> Advice {
    member(AdviceKind.self).advice(text(), number())
  }
}
