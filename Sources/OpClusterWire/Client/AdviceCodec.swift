// Converts advice ⇄ its code on the wire. The words beside it are for peers that do not know the
// code.
// Two readers put a code into words: people at a shell get commands of `opbatch`, a Swift program
// calls of the library. A code keeps the coordinator from naming either.

import OpClusterModel

/// The exhaustive switches below are both directions of one table; a new case needs a number in
/// `proto/` first.
extension Advice {
  /// The words that travel beside the code.
  ///
  /// - Parameter wording: The words for people at a shell, which the program that answers brings
  /// along.
  func words(_ wording: (Advice) -> String) -> String {
    if case .text(let text) = self { return text }
    return wording(self)
  }

  /// The code with its parameters; nil if the words say all.
  /// A text that says all has no code, and neither has advice with a name that is too long.
  var code: ProtoAdvice? {
    switch self {
    case .text: nil
    case .listGraphs: ProtoAdvice(.listGraphs)
    case .cancelGraph(let graph): ProtoAdvice(.cancelGraph, number: graph.number)
    case .resumeGraph(let graph): ProtoAdvice(.resumeGraph, number: graph.number)
    case .release(let operation): ProtoAdvice(.release, operation)
    case .releaseEarly(let operation): ProtoAdvice(.releaseEarly, operation)
    case .createQueue(let name): ProtoAdvice(.createQueue, name)
    case .resumeQueue(let name): ProtoAdvice(.resumeQueue, name)
    case .cancelQueue(let name): ProtoAdvice(.cancelQueue, name)
    case .removeQueues: ProtoAdvice(.removeQueues)
    case .raiseLimit(let queue, let limit): ProtoAdvice(.raiseLimit, queue, number: limit)
    case .listWorkers: ProtoAdvice(.listWorkers)
    case .findWorker: ProtoAdvice(.findWorker)
    case .drainWorker(let name): ProtoAdvice(.drainWorker, name)
    case .startCluster: ProtoAdvice(.startCluster)
    case .changeUser: ProtoAdvice(.changeUser)
    case .join: ProtoAdvice(.join)
    case .addKey: ProtoAdvice(.addKey)
    case .compareKeys: ProtoAdvice(.compareKeys)
    case .compareReleases: ProtoAdvice(.compareReleases)
    }
  }

  /// nil if there is no code, or one that is not known here: the words beside it say all (G32).
  /// Throws only for a name beyond its limit. The code decides whether name and number count.
  init?(code proto: ProtoAdvice) throws(WireError) {
    let name = try OpClusterWire.text(
      proto.name, WireLimits.advisedNameBytes, "advice.name")
    switch proto.code {
    case .unspecified, .UNRECOGNIZED: return nil
    case .listGraphs: self = .listGraphs
    case .cancelGraph: self = .cancelGraph(GraphID(proto.number))
    case .resumeGraph: self = .resumeGraph(GraphID(proto.number))
    case .release: self = .release(name)
    case .releaseEarly: self = .releaseEarly(name)
    case .createQueue: self = .createQueue(name)
    case .resumeQueue: self = .resumeQueue(name)
    case .cancelQueue: self = .cancelQueue(name)
    case .removeQueues: self = .removeQueues
    case .raiseLimit: self = .raiseLimit(queue: name, limit: proto.number)
    case .listWorkers: self = .listWorkers
    case .findWorker: self = .findWorker
    case .drainWorker: self = .drainWorker(name)
    case .startCluster: self = .startCluster
    case .changeUser: self = .changeUser
    case .join: self = .join
    case .addKey: self = .addKey
    case .compareKeys: self = .compareKeys
    case .compareReleases: self = .compareReleases
    }
  }
}

extension ProtoAdvice {
  /// nil if the name is too long to travel: clipped it would be that of another thing.
  ///
  /// - Parameter number: A graph, or a limit; 0 where the code needs none.
  fileprivate init?(_ code: ProtoAdviceCode, _ name: String = "", number: UInt32 = 0) {
    if name.utf8.count > WireLimits.advisedNameBytes { return nil }
    self.init()
    self.code = code
    self.name = name
    self.number = number
  }
}
