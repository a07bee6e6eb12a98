// The operations that end, in order, and what follows from their ends.

import DequeModule
import OpClusterModel

/// A list of ends that grows at one end while it is worked off at the other. Neighbours that end
/// alike are one entry, whether their cells were equal or not: else what is named as a cause would
/// depend on that.
struct EndList: Sendable {
  /// Neighbours of one stage that end at this moment; mostly one operation.
  struct End: Sendable {
    var graph: GraphID
    var range: Range<UInt32>
    var stage: Int
    var ending: OperationCell.Ending
    /// Why they are skipped; nil: they are not.
    var reason: CancelReason?
    /// The worker that saw the end of a single one; 0 if the coordinator decided it. Known after it
    /// finished.
    var worker: UInt32 = 0
    /// Whether the worker of a single one, if it has any, takes it for ended.
    var isSeen = true

    init(_ span: OperationSpan, _ ending: OperationCell.Ending, _ reason: CancelReason? = nil) {
      graph = span.graph
      range = span.range
      stage = span.stage
      self.ending = ending
      self.reason = reason
    }

    /// The end of one of them, for what follows from it alone.
    func cause(_ index: UInt32) -> Cause {
      Cause(id: OperationID(graph: graph, index: index), ending: ending, worker: worker)
    }
    /// The end that is named as the cause of what follows from all of them.
    var cause: Cause { cause(range.lowerBound) }
  }

  /// An end that decides edges.
  struct Cause: Sendable {
    var id: OperationID
    var ending: OperationCell.Ending
    var worker: UInt32 = 0

    func satisfies(_ policy: EdgePolicy) -> Bool {
      ending.outcome.map { policy.isSatisfied(by: $0) } ?? false
    }
  }

  /// The edges of an operation that has ended, to single others, that are yet to be resolved.
  struct OpenEdges: Sendable {
    var cause: Cause
    /// Positions in `Graph.dependents`.
    var positions: Range<Int>
    /// Of other graphs and late edges, the lowest last.
    var others: [Graph.ExternalDependent]
    /// The dependents whose edge had been removed before the end; mostly none. What is removed
    /// after it comes too late.
    var removed: Set<UInt32> = []

    var isEmpty: Bool { positions.isEmpty && others.isEmpty }
  }

  enum Entry: Sendable {
    case end(End)
    case edges(OpenEdges)
    /// What was cancelled while this queue was suspended.
    case members(queue: UInt32)
    /// Stages of a new graph that were not placed with it.
    case stages(LaterStages)
  }

  private var entries: Deque<Entry> = []
  /// Stages of which all that could be skipped is in the list, or has been.
  private var stages: Set<StageKey> = []
  private struct StageKey: Hashable {
    var graph: UInt32
    var number: Int
  }

  var isEmpty: Bool { entries.isEmpty }

  /// Notes that all of a stage is to be skipped; false if it was noted before. Whoever is not
  /// skipped for the first reason is not for a later one: else a wide edge would be gone through
  /// for each of many causes.
  mutating func note(stage number: Int, of graph: UInt32) -> Bool {
    stages.insert(StageKey(graph: graph, number: number)).inserted
  }

  mutating func append(_ end: End) {
    if case .end(var last)? = entries.last, last.range.upperBound == end.range.lowerBound,
      last.graph == end.graph, last.stage == end.stage, last.ending == end.ending,
      last.reason == end.reason
    {
      last.range = last.range.lowerBound..<end.range.upperBound
      entries[entries.count - 1] = .end(last)
    } else {
      entries.append(.end(end))
    }
  }

  mutating func append(cancelled span: OperationSpan) {
    append(End(span, OperationCell.Ending(.cancelled)))
  }

  mutating func append(_ stages: LaterStages) { entries.append(.stages(stages)) }

  mutating func append(membersOf queue: UInt32) { entries.append(.members(queue: queue)) }

  /// Puts what is left of another list before all others.
  mutating func putBack(_ other: EndList) {
    if entries.isEmpty {
      self = other
      return
    }
    entries.prepend(contentsOf: other.entries)
    stages.formUnion(other.stages)
  }

  mutating func popFirst() -> Entry? { entries.popFirst() }

  /// Puts an entry before all others: the rest of one for which the turn had no room.
  mutating func putBack(_ entry: Entry) { entries.prepend(entry) }
}
