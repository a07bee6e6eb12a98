// A template of a living graph, with the place and state of its elements. Dependencies on whole
// stages are counted here, once for all elements.

import OpClusterModel

struct Stage: Sendable {
  var template: OperationTemplate
  var firstIndex: UInt32
  /// The position of its demand class in `Graph.demandClasses`. Like the queue of its template, it
  /// is known before the graph has a place in the cluster, so that placing a graph writes no stage.
  var demandPosition: Int
  /// The class of this stage alone, set once a worker could not start its operations.
  var ownClass: Int?
  /// The number of unresolved edges on whole stages.
  var gates: UInt32 = 0
  /// The state of an element without a page.
  var pristine: OperationCell
  var unfinished: UInt32
  /// The common time when elements without a page became ready; the others are in
  /// `ClusterState.timestamps`.
  var readyAt = WallTime.unknown
  /// Operations handed over or executing, for `maximumParallel`.
  var inFlight: UInt32 = 0
  var counts = StateCounts()
  var outgoing: [StageEdge] = []
  var incoming: [StageEdge] = []
  /// Ready runs that wait for `maximumParallel`.
  var parked: [LinePlace] = []

  var indices: Range<UInt32> { firstIndex..<(firstIndex + template.count) }
  func element(_ index: UInt32) -> UInt32 { index - firstIndex }

  /// `OperationTemplate.readsInputs`, which as a call to another module would copy the template.
  @inline(__always)
  var readsInputs: Bool { template.wantsInputs || !template.ownFiles.isEmpty }
}

/// An edge between stages, as seen from one of them.
struct StageEdge: Sendable {
  /// The other stage.
  var stage: Int
  var policy: EdgePolicy
  var match: GroupEdge.Match
}

/// A run that was taken out of its line, and the line to which it returns.
struct LinePlace: Sendable {
  var run: ReadyRun
  var queue: UInt32
  var level: Int
}

/// Neighbouring operations of one stage that stand in a queue's line together.
struct ReadyRun: Comparable, Sendable {
  /// The place in line of the first; the others follow it (S51).
  var place: UInt64
  var graph: GraphID
  var first: UInt32
  var count: UInt32
  static func < (a: Self, b: Self) -> Bool { a.place < b.place }
  /// The run without its first `taken` operations.
  func dropping(_ taken: UInt32) -> ReadyRun {
    ReadyRun(
      place: place + UInt64(taken), graph: graph, first: first + taken, count: count - taken)
  }
}
