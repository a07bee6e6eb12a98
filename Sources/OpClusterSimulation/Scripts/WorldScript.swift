// A world without randomness: its cluster, all faults with their moments, the fate of each message
// and sync that is not simply carried, and the clients' requests. Recorded from a seed, minimised
// by `Shrinking`, stored as a file and replayed: the meaning of a seed changes with every change of
// this code, that of a script does not (Simulation.md).

import OpClusterModel

public struct WorldScript: Sendable, Equatable {
  /// The seed for durations, latencies and sessions, each drawn under its own name.
  var seed: UInt64 = 0
  var plan = Plan()
  var mishaps: [Mishap] = []
  var asks: [Ask] = []
  var verdicts: [MessageVerdict] = []
  var syncs: [SyncVerdict] = []

  /// A request of a client.
  struct Ask: Sendable, Equatable {
    var at: Instant
    var client: Int
    /// The encoded request.
    var bytes: [UInt8]
  }
  struct MessageVerdict: Sendable, Equatable {
    var name: MessageName
    var verdict: Verdict
  }
  struct SyncVerdict: Sendable, Equatable {
    /// The number of the sync in its world, from 1.
    var number: Int
    var length: Span
  }

  /// The number of items that might be omitted.
  public var itemCount: Int { mishaps.count + asks.count + verdicts.count + syncs.count }
  public var workerCount: Int { plan.workers.count }
}

/// Names a message by its sender and its number, so that the name stays the same when other items
/// are omitted.
struct MessageName: Hashable, Sendable {
  var owner: Connection.Owner
  var direction: Direction
  /// From 1, over all connections of the owner.
  var number: Int
}

/// The fate of a message other than simple delivery.
struct Verdict: Sendable, Equatable {
  var isLost = false
  /// The additional delay.
  var late = Span.zero
  /// Whether it may overtake earlier messages.
  var overtakes = false
  /// The additional delay of a second copy; nil if there is none.
  var again: Span?

  static let carried = Verdict()
}

/// The verdicts of a replayed script, for look-ups by the world.
struct ScriptedVerdicts: Sendable {
  /// Looked up, never iterated.
  private var messages: [MessageName: Verdict] = [:]
  private var syncs: [Int: Span] = [:]

  init(_ script: WorldScript) {
    for entry in script.verdicts { messages[entry.name] = entry.verdict }
    for entry in script.syncs { syncs[entry.number] = entry.length }
  }
  func verdict(of name: MessageName) -> Verdict { messages[name] ?? .carried }
  func length(ofSync number: Int) -> Span? { syncs[number] }
}
