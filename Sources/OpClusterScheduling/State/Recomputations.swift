// Graphs that run one operation of another graph again, because what that left is lost (S153). They
// are submitted, journaled and ended as any graph. What is special follows from the field
// `recomputes` of their submission alone, so that a replay finds the same.

import OpClusterModel

/// How often an operation ran again.
struct Recomputations: Hashable, Sendable {
  /// Since what it left was last of use: a long graph on bad machines may need many, but not
  /// without end.
  private(set) var count: UInt8 = 0
  /// Since its graph last came further.
  private(set) var total: UInt8 = 0
  /// What was unfinished of its graph at the last one.
  private(set) var unfinished: UInt32 = .max
  /// It did not succeed when it ran again: there is no other try.
  private(set) var areInVain = false

  mutating func countOne(unfinished now: UInt32) {
    if now < unfinished { (count, total) = (0, 0) }
    count = min(count, .max - 1) + 1
    total = min(total, .max - 1) + 1
    unfinished = now
  }

  /// Somebody has read what it left, who ran again as well.
  mutating func wasOfUse() { count = 0 }

  mutating func giveUp() { areInVain = true }

  /// Whether it may not run again, as long as nothing else of its graph has ended.
  func areTooMany(unfinished now: UInt32) -> Bool {
    now >= unfinished
      && (count >= Limits.recomputations || total >= Limits.recomputationsInAll)
  }

  /// As a snapshot has it.
  var bytes: [UInt8] {
    [areInVain ? 1 : 0, count, total]
      + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: unfinished >> $0) }
  }

  init() {}
  /// nil: it is damaged.
  init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    areInVain = bytes[0] != 0
    (count, total) = (bytes[1], bytes[2])
    unfinished = bytes[3...].reduce(0) { $0 << 8 | UInt32($1) }
  }
  static let byteCount = 7
}

extension ClusterState {
  /// What runs again takes its old place: no barrier that waits for somebody who waits for it may
  /// stand before it.
  func basePlace(of submission: GraphSubmission) -> UInt64 {
    guard let origin = submission.recomputes, let graph = graphs.find(origin.graph.number),
      origin.index < graph.operationCount
    else { return counters.lastPlace + 1 }
    return graph.enqueuePlace(of: origin.index)
  }

  /// Counts one time more that an operation runs again.
  mutating func countRecomputation(of id: OperationID) {
    guard graphs.contains(id.graph.number), id.index < graphs[id.graph.number].operationCount
    else { return }
    let unfinished = graphs[id.graph.number].unfinished
    graphs[id.graph.number].recomputations[id.index, default: Recomputations()].countOne(
      unfinished: unfinished)
  }

  /// Notes that a graph runs an operation of another one again, which lives until it has ended: its
  /// inputs are those of the operation.
  mutating func noteRecomputation(by id: GraphID) {
    guard let origin = graphs[id.number].submission.recomputes,
      graphs.contains(origin.graph.number),
      origin.index < graphs[origin.graph.number].operationCount
    else { return }
    recomputations[origin] = id
    graphs[origin.graph.number].recomputing += 1
  }

  /// Lets the other graph end if it waited for this one alone.
  mutating func endRecomputation(by graph: Graph, _ outcome: GraphOutcome) {
    guard let origin = graph.submission.recomputes, recomputations[origin] == graph.id else {
      return
    }
    recomputations[origin] = nil
    endedRecomputations.append(origin)
    let number = origin.graph.number
    if outcome == .succeeded {
      noteUse(of: origin)
    } else {
      graphs[number].recomputations[origin.index, default: Recomputations()].giveUp()
    }
    graphs[number].recomputing -= 1
    if graphs[number].recomputing == 0, graphs[number].unfinished == 0 {
      justEnded.append(origin.graph)
    }
  }

  /// What ran again for an operation that has run again itself was of use. Costs its dependencies,
  /// and for those on whole stages what ran again of the graph.
  private mutating func noteUse(of id: OperationID) {
    let graph = id.graph.number
    var read: [OperationID] = []
    graphs[graph].forEachDependency(of: id.index) { on, _ in read.append(on) }
    let stage = graphs[graph].stageNumber(of: id.index)
    for edge in graphs[graph].stages[stage].incoming where edge.match == .all {
      for index in graphs[graph].recomputations.keys
      where graphs[graph].stageNumber(of: index) == edge.stage {
        read.append(graphs[graph].operation(index))
      }
    }
    for on in read where graphs.contains(on.graph.number) {
      graphs[on.graph.number].recomputations[on.index]?.wasOfUse()
    }
  }

  mutating func takeEndedRecomputations() -> [OperationID] {
    defer { if !endedRecomputations.isEmpty { endedRecomputations = [] } }
    return endedRecomputations
  }

  /// Sets what an operation left when it ran again in place of what it had left.
  mutating func replaceOutput(of id: OperationID, _ output: [UInt8]) {
    guard graphs.contains(id.graph.number), id.index < graphs[id.graph.number].operationCount else {
      return
    }
    keep(output, of: id)
    guard let key = graphs[id.graph.number].reuseKeys[id.index] else { return }
    reusable.note(ReusableOutcome(key: key, operation: id, output: output))
  }
}
