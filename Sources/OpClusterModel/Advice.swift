// The next step after a refusal or an error, or for an operation that waits: a code. Each reader
// has words of its own for it: `OpClusterPresentation` for people at a shell, `OpCluster` for Swift
// programs.

/// The next step that a refusal, an error or an explanation advises. A step that is a command of
/// `opbatch`, or a call of the library, is a case with what its words need.
public enum Advice: Hashable, Sendable {
  /// Reads the same for everybody; may be empty.
  case text(String)

  // Graphs and operations.
  case listGraphs
  case cancelGraph(GraphID)
  case resumeGraph(GraphID)
  /// Names the held operation: `12/align/3`.
  case release(String)
  /// Release it before its time has come.
  case releaseEarly(String)

  // Queues.
  case createQueue(String)
  case resumeQueue(String)
  /// Wait for its operations, or cancel them.
  case cancelQueue(String)
  /// The asker has too many queues.
  case removeQueues
  /// `limit` is large enough. What is waited for may be put into another queue instead.
  case raiseLimit(queue: String, limit: UInt32)

  // Workers.
  case listWorkers
  /// See whether the worker of the message is connected.
  case findWorker
  case drainWorker(String)

  // Clusters and keys.
  /// Start a cluster, or name another.
  case startCluster
  /// Run as the user whose cluster it is, or name another.
  case changeUser
  /// Redeem the invitation by a key of one's own.
  case join
  /// Have an administrator add the key.
  case addKey
  /// Check the address, and compare the coordinator's key with the one that is known here.
  case compareKeys
  /// Check the address, and compare the releases.
  case compareReleases

  public var isEmpty: Bool { self == .text("") }
}

extension Advice: ExpressibleByStringInterpolation {
  /// A text that reads the same for everybody.
  public init(stringLiteral text: String) { self = .text(text) }
}
