// Operations whose worker was lost repeatedly (G17): one of them may kill workers, the others may
// have been bystanders. Before their last permitted losses they no longer share a worker with each
// other, so that a killer does not take innocent neighbours along. Called by `assign`.

public import OpClusterModel

/// The suspicion that an operation kills its workers.
enum Doubt {
  /// Never lost.
  case none
  /// Lost, but far from its limit: kept apart from the grave ones.
  case some
  /// At most two more losses would end it: shares a worker only with operations that were never
  /// lost.
  case grave
}

extension Scheduler {
  /// The doubt about the first operation of a run; a lost operation is a run of its own.
  func doubt(about run: ReadyRun) -> Doubt {
    doubt(about: OperationID(graph: run.graph, index: run.first))
  }

  private func doubt(about id: OperationID) -> Doubt {
    let graph = id.graph.number
    guard let cell = graphs[graph].cells.stored(id.index), cell.losses > 0 else { return .none }
    let stage = graphs[graph].stageNumber(of: id.index)
    let limit = graphs[graph].stages[stage].template.maximumLosses
    return UInt32(cell.losses) + 2 >= limit ? .grave : .some
  }

  /// The workers of the pass that may take an operation with this doubt.
  func workers(_ candidates: [UInt32], admitting doubt: Doubt) -> [UInt32] {
    if doubt == .none { return candidates }
    return candidates.filter { number in
      state.operations(at: WorkerID(number)).allSatisfy { other in
        switch self.doubt(about: other) {
        case .none: true
        case .some: doubt != .grave
        case .grave: false
        }
      }
    }
  }

  /// Whether the operation is exclusive and must wait, because an attempt unknown to this journal
  /// may still run at a worker that got it under another journal (G16).
  func awaitsTheLost(_ graph: UInt32, _ stage: Int, at now: Instant) -> Bool {
    guard let exclusivesFrom, now < exclusivesFrom else { return false }
    return graphs[graph].stages[stage].template.isExclusive
  }

  /// Whether every attempt unknown to this journal has ended by now; the body notes it for the next
  /// life.
  public func isSettled(at now: Instant) -> Bool { exclusivesFrom.map { $0 <= now } ?? true }

  /// Returns operations that found no worker in the last turn to the line, in their old places.
  mutating func returnDoubtful() {
    let waiting = doubtful
    doubtful.removeAll()
    for id in waiting where graphs.contains(id.graph.number) {
      guard graphs[id.graph.number].cell(id.index).isInLine else { continue }
      state.enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
    }
  }

  /// The reason why an operation in line waits for a worker of its own; nil if it does not.
  func doubtLine(_ id: OperationID) -> String? {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    if awaitsTheLost(id.graph.number, stage, at: lastTick) {
      return "it is exclusive, and this journal was restored: what workers still run unknown to it "
        + "has to end first"
    }
    let doubt = doubt(about: id)
    let able = workers.numbers.filter { takesWork($0) }
    guard doubt != .none, !able.isEmpty, workers(able, admitting: doubt).isEmpty else { return nil }
    let losses = graphs[id.graph.number].cell(id.index).losses
    return "its worker was lost \(losses) times: it waits for a worker that holds nothing else "
      + "which may have been the cause"
  }
}
