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

/// What keeps one operation from workers that others of its class may have.
struct Restrictions {
  var doubt: Doubt
  /// The workers that could not start it.
  var unable: [UInt32]
  /// The workers where it failed, and that it avoids.
  var avoided: [UInt32]
  /// The workers that cannot read what it needs.
  var outOfReach: Set<UInt32>

  var isEmpty: Bool {
    doubt == .none && unable.isEmpty && avoided.isEmpty && outOfReach.isEmpty
  }
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

  /// What restricts the first operation of a run.
  func restrictions(of run: ReadyRun) -> Restrictions {
    let graph = run.graph.number
    let (unable, avoided) = (graphs[graph].unable, graphs[graph].avoided)
    return Restrictions(
      doubt: doubt(about: run), unable: unable.isEmpty ? [] : unable[run.first] ?? [],
      avoided: avoided.isEmpty ? [] : avoided[run.first] ?? [],
      outOfReach: workersWithoutReach(of: OperationID(graph: run.graph, index: run.first)))
  }

  /// The workers that may take the first operation of a run. Costs the candidates.
  func workers(
    _ candidates: [UInt32], admittedBy restrictions: Restrictions, _ run: ReadyRun
  ) -> [UInt32] {
    let id = OperationID(graph: run.graph, index: run.first)
    let outOfReach = restrictions.outOfReach
    let reaching =
      outOfReach.isEmpty ? candidates : candidates.filter { !outOfReach.contains($0) }
    let others = workers(reaching, besides: restrictions.avoided, notAvoidedBy: id)
    return workers(others, besides: restrictions.unable, ableToStart: id)
      .filter { admits($0, restrictions.doubt) }
  }

  /// Whether a worker may take an operation with this doubt. Visits what it has.
  func admits(_ worker: UInt32, _ doubt: Doubt) -> Bool {
    if doubt == .none { return true }
    return state.operations(at: WorkerID(worker)).allSatisfy { other in
      switch self.doubt(about: other) {
      case .none: true
      case .some: doubt != .grave
      case .grave: false
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

  /// Returns operations that found no worker to the line, in their old places: those that have
  /// waited longest, a bounded number in a turn. Where any of them finds a worker, the rest is due
  /// at once.
  mutating func returnDoubtful() {
    let waiting = doubtful.prefix(Limits.doubtfulPerTurn)
    doubtful.removeFirst(waiting.count)
    doubtfulUntried -= min(waiting.count, doubtfulUntried)
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
    guard doubt != .none, workers.firstNumber(where: { takesWork($0) }) != nil,
      workers.firstNumber(where: { takesWork($0) && admits($0, doubt) }) == nil
    else { return nil }
    let losses = graphs[id.graph.number].cell(id.index).losses
    return "its worker was lost \(losses) times: it waits for a worker that holds nothing else "
      + "which may have been the cause"
  }
}
