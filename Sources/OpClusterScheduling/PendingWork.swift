// Work for a later turn that is no fact: gates that open by themselves, and what failure policies
// have yet to end.

import OpClusterModel

/// The moment at which the gates of a stage open.
struct Alarm: Comparable, Sendable {
  var until: Instant
  var graph: GraphID
  var stage: Int
  /// The number of first elements that do not wait for the moment any more.
  var passed: UInt32 = 0
  static func < (a: Self, b: Self) -> Bool {
    (a.until, a.graph, a.stage) < (b.until, b.graph, b.stage)
  }
}

/// A member that a failure policy ends once no dependent is held ahead of time for its end.
struct Lingering: Sendable {
  var id: OperationID
  /// Whether the policy also ends it if it runs by then.
  var cancelsRunning: Bool
}

/// A graph, or a part of it, that a failure policy is ending.
struct PolicyProgress: Sendable {
  let graph: GraphID
  let cancelsRunning: Bool
  /// From here on the members, except the lingering ones, were marked in an earlier life. A member
  /// that was left to run then and is retried now does not end.
  let markedFrom: UInt32
  /// Whether operations that run at the end of the graph are left out.
  let sparesFinal: Bool
  /// The operations that are still to be looked at.
  var rest: Range<UInt32>
}
