// The operations that end, in order, and what follows from their ends.

import OpClusterModel

/// A list of ends that grows at one end while it is worked off at the other. Neighbours that end
/// alike are one entry, whether their cells were equal or not: else what is named as a cause would
/// depend on that.
struct EndList {
  /// Neighbours of one stage that end at this moment; mostly one operation.
  struct End {
    var graph: GraphID
    var range: Range<UInt32>
    var stage: Int
    var ending: OperationCell.Ending
    /// Why they are skipped; nil: they are not.
    var reason: CancelReason?
    /// The worker that saw the end of a single one; 0 if the coordinator decided it. Known after it
    /// finished.
    var worker: UInt32 = 0

    /// The end of one of them, for what follows from it alone.
    func cause(_ index: UInt32) -> Cause {
      Cause(id: OperationID(graph: graph, index: index), ending: ending, worker: worker)
    }
    /// The end that is named as the cause of what follows from all of them.
    var cause: Cause { cause(range.lowerBound) }
  }

  /// An end that decides edges.
  struct Cause {
    var id: OperationID
    var ending: OperationCell.Ending
    var worker: UInt32 = 0

    func satisfies(_ policy: EdgePolicy) -> Bool {
      ending.outcome.map { policy.isSatisfied(by: $0) } ?? false
    }
  }

  private var ends: [End] = []
  private var next = 0
  /// Stages of which all that could be skipped is in the list, or has been.
  private var stages: Set<StageKey> = []
  private struct StageKey: Hashable {
    var graph: UInt32
    var number: Int
  }

  /// Notes that all of a stage is to be skipped; false if it was noted before. Whoever is not
  /// skipped for the first reason is not for a later one: else a wide edge would be gone through
  /// for each of many causes.
  mutating func note(stage number: Int, of graph: UInt32) -> Bool {
    stages.insert(StageKey(graph: graph, number: number)).inserted
  }

  mutating func append(
    _ span: OperationSpan, _ ending: OperationCell.Ending, _ reason: CancelReason?
  ) {
    if let last = ends.indices.last, last >= next, ends[last].range.upperBound == span.first,
      ends[last].graph == span.graph, ends[last].stage == span.stage,
      ends[last].ending == ending, ends[last].reason == reason
    {
      ends[last].range = ends[last].range.lowerBound..<span.range.upperBound
    } else {
      ends.append(
        End(
          graph: span.graph, range: span.range, stage: span.stage, ending: ending,
          reason: reason))
    }
  }

  /// Takes the oldest entry. What was taken is dropped when it is the larger part, so that a
  /// cascade through millions keeps a short list.
  mutating func popFirst() -> End? {
    if next > 4_096, next * 2 > ends.count {
      ends.removeFirst(next)
      next = 0
    }
    if next == ends.count { return nil }
    next += 1
    return ends[next - 1]
  }
}
