// What a running registered operation may know and say. Made by the worker for each attempt, used
// on whatever thread the operation runs on.

public import OpClusterModel
import Synchronization

/// One attempt, as the operation sees it.
public final class OperationContext: Sendable {
  public let attempt: AttemptID
  /// The operation's name in its graph; elements of an array share it.
  public let name: String
  public let graphName: String
  /// The number that people see for an array's element; nil for a plain operation.
  public let index: UInt32?
  /// What its direct dependencies left, in order of addition (S135).
  public let inputs: [DependencyInput]
  private let scratchPath: String
  private let say: @Sendable (AttemptID, Double, String) -> Void
  private let flag = Atomic<Bool>(false)
  private let hasScratch = Mutex(false)

  init(
    attempt: AttemptID, name: String, graphName: String, index: UInt32?,
    inputs: [DependencyInput], scratchPath: String,
    say: @escaping @Sendable (AttemptID, Double, String) -> Void
  ) {
    self.attempt = attempt
    self.name = name
    self.graphName = graphName
    self.index = index
    self.inputs = inputs
    self.scratchPath = scratchPath
    self.say = say
  }

  /// Whether it has been asked to stop. Local memory: look as often as you like (S87).
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }

  func cancel() { flag.store(true, ordering: .relaxed) }

  /// Says how far it is, 0…1, with a word for people. Only the newest is told, once a second.
  public func reportProgress(_ fraction: Double, _ text: String = "") {
    guard fraction.isFinite else { return }
    say(attempt, min(max(fraction, 0), 1), text)
  }

  /// A folder of its own, made at the first call and removed when the attempt has ended.
  public func scratchFolder() throws -> String {
    try hasScratch.withLock { made in
      if !made { try Folders.make(scratchPath) }
      made = true
    }
    return scratchPath
  }

  var madeScratch: Bool { hasScratch.withLock { $0 } }
}
