// A world without chance: its cluster, everything that goes wrong and when, what becomes of each
// message and sync that is not simply carried, and what clients ask. Recorded from a seed, made
// smaller by `Shrinking`, kept as a file and replayed: a seed's meaning changes with every change
// of this code, a script's does not (Simulation.md).

import OpClusterModel

public struct WorldScript: Sendable, Equatable {
  /// What durations, latencies and sessions are drawn from, each by its own name.
  var seed: UInt64 = 0
  var plan = Plan()
  var mishaps: [Mishap] = []
  var asks: [Ask] = []
  var verdicts: [MessageVerdict] = []
  var syncs: [SyncVerdict] = []

  /// A client asks something.
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
    /// Which sync of the world, from 1.
    var number: Int
    var length: Span
  }

  /// How many things it could do without.
  public var itemCount: Int { mishaps.count + asks.count + verdicts.count + syncs.count }
  public var workerCount: Int { plan.workers.count }
}

/// Names a message by who says it and how many it said before, so that the name stays when other
/// things are left out.
struct MessageName: Hashable, Sendable {
  var owner: Connection.Owner
  var direction: Direction
  /// From 1, over all connections of the owner.
  var number: Int
}

/// What the network does with a message besides carrying it.
struct Verdict: Sendable, Equatable {
  var isLost = false
  /// Later than it should be by so much.
  var late = Span.zero
  /// It does not wait for those before it.
  var overtakes = false
  /// It comes a second time, later than it should by so much.
  var again: Span?

  static let carried = Verdict()
}

/// What a replayed script says, as the world asks for it.
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
