// The recall: the only mechanism behind cancel, suspend, a lowered limit, a late edge, a changed
// priority, rebalancing and drain (S148).

import OpClusterModel

extension Scheduler {
  /// Starts to drain a worker, at a client's or its own request: it gets nothing new, its unstarted
  /// operations go elsewhere (S148), and so does what others need of its store. False if it is
  /// already draining.
  @discardableResult
  mutating func startDraining(_ worker: WorkerID, into turn: inout SchedulingTurn) -> Bool {
    if workers[worker.number].isDraining { return false }
    commit(.workerDraining(worker), into: &turn)
    drainingStores.addUnexamined(
      of: worker.number, holders.contentsHeld(by: worker.number))
    _ = turn.orders(for: worker)
    recallSurplus(haveLinesChanged: true, into: &turn)
    return true
  }

  /// Recalls unstarted operations that a worker was given beyond its capacity and will not start
  /// soon, if that helps: another worker has room, or something more urgent waits (S47). A draining
  /// worker returns all of them.
  ///
  /// - Parameter haveLinesChanged: Whether something more urgent may wait than before. Otherwise
  ///   most turns end here: while all are busy, only those are looked at that have become slow.
  mutating func recallSurplus(haveLinesChanged: Bool, into turn: inout SchedulingTurn) {
    renewIndex(at: turn.now)
    guard workerIndex.whole.surplusSince <= turn.now else { return surplusLooks.noneIsSlow() }
    renewLines()
    let looksBefore = looks
    let slow = surplusLooks.workers(
      in: workerIndex, surplusChance(), haveLinesChanged: haveLinesChanged, at: turn.now, &looks)
    // Nothing becomes free meanwhile.
    var rooms = SurplusRooms()
    for number in slow where workers.contains(number) {
      if workers[number].isDraining {
        for id in state.operations(at: WorkerID(number)) { state.askRecall(id, into: &turn) }
        continue
      }
      let isSlow =
        (turn.now - conversations[number].busySince).seconds > WorkerConversation.patience
      guard isSlow else { continue }
      recallSurplus(of: number, &rooms, into: &turn)
    }
    surplusLooks.note(looks - looksBefore, at: turn.now)
  }

  private func surplusChance() -> SurplusChance {
    let whole = workerIndex.whole
    let services = 0..<Rank.services
    return SurplusChance(
      hasRoom: whole.takers > 0 && (whole.free.cpus > 0 || classes.hasWithoutCPUs),
      isOvertaken: services.contains { lineIndex.whole($0).isPeculiar },
      highestService: services.last { lineIndex.whole($0).lines > 0 } ?? -1)
  }

  private mutating func recallSurplus(
    of worker: UInt32, _ rooms: inout SurplusRooms, into turn: inout SchedulingTurn
  ) {
    let window = conversations[worker].prefetch(at: turn.now)
    var surplus = workers[worker].assigned - min(window, workers[worker].assigned)
    var free = free(worker)
    // The lowest service and level first, and among equals the newest.
    let unstarted = state.unstarted(at: WorkerID(worker))
    looks += unstarted.count
    let there = unstarted.enumerated().map { at, id in
      let rank = state.rank(of: id, graphs[id.graph.number].stageNumber(of: id.index))
      return (id: id, order: (rank.service, rank.level, -at))
    }
    for (id, _) in there.sorted(by: { $0.order < $1.order }) where surplus > 0 && free.isOverdrawn {
      let graph = id.graph.number
      let cell = graphs[graph].cell(id.index)
      guard id != conversations[worker].reservation else { continue }
      let stage = graphs[graph].stageNumber(of: id.index)
      let demandClass = graphs[graph].demandClass(of: stage)
      surplus -= 1
      free.giveBack(classes[demandClass].demandClass.demand)
      // An operation that others could not start, or may not be given, has no room there.
      let queue = graphs[graph].queue(of: id.index, stage: stage).number
      let lined = RoomKey(
        demandClass: state.classInLine(graph, stage, id.index),
        pool: queues[queue].settings.pool.isEmpty ? nil : queue)
      // Earlier unanswered recalls will use the room as well.
      if cell.flags.contains(.recalling) {
        rooms.used[lined, default: 0] += 1
        continue
      }
      let all = rooms.all[lined] ?? room(for: lined)
      rooms.all[lined] = all
      let room = all - min(all, self.room(for: lined, at: worker))
      if rooms.used[lined, default: 0] < room, graphs[graph].unable[id.index] == nil {
        rooms.used[lined, default: 0] += 1
        state.askRecall(id, into: &turn)
      } else if isOvertaken(id, stage, at: turn.now) {
        state.askRecall(id, into: &turn)
      }
    }
  }

  /// The room of all workers together, and how much of it what was recalled will use: one free
  /// place brings back one operation, however many workers have some to give.
  private struct SurplusRooms {
    var all: [RoomKey: UInt32] = [:]
    var used: [RoomKey: UInt32] = [:]
  }

  private struct RoomKey: Hashable {
    var demandClass: Int
    /// The queue if it has a pool.
    var pool: UInt32?
  }

  /// The number of operations of a class that could start at once. Costs a path of the index for
  /// each worker that may have room.
  private mutating func room(for wanted: RoomKey) -> UInt32 {
    let amounts = state.lineClass(wanted.demandClass).amounts
    let numbers = workerIndex.workers(&looks) { $0.takers > 0 && $0.mayHaveFree(amounts) }
    return numbers.reduce(0) { $0 + room(for: wanted, at: $1) }
  }

  /// The same on one worker.
  private func room(for wanted: RoomKey, at worker: UInt32) -> UInt32 {
    guard takesWork(worker), fits(worker, wanted.demandClass) else { return 0 }
    if let pool = wanted.pool, !isInPool(worker, of: pool) { return 0 }
    return free(worker).count(fitting: classes[wanted.demandClass].demandClass.demand)
  }

  /// Whether something of higher rank stands in line: of a higher level of its queue, or in a queue
  /// of a higher quality of service.
  private mutating func isOvertaken(_ id: OperationID, _ stage: Int, at now: Instant) -> Bool {
    let graph = id.graph.number
    let own = graphs[graph].queue(of: id.index, stage: stage).number
    let level = Line.level(of: graphs[graph].priority(of: id.index, stage: stage))
    let service = queues[own].settings.qos
    if queues[own].room > 0, hasWaiting(own, above: level, at: now) { return true }
    for higher in Int(service.rawValue) + 1..<Rank.services {
      // Amortised: a line in which nothing stands any more is empty then.
      // Behind the last one of all the rotation begins again, with the first.
      var last: UInt32?
      while let queue = lineIndex.next(after: last ?? .max, higher, &looks, where: { _ in true }),
        last.map({ queue > $0 }) ?? true
      {
        if hasWaiting(queue, above: -1, at: now) { return true }
        last = queue
      }
    }
    return false
  }

  /// Recalls the newest operations that were handed over beyond the limit of a queue (S66).
  ///
  /// - Parameter assigned: Those that workers were given and have not started.
  mutating func recallBeyondLimit(
    of queue: UInt32, among assigned: [OperationID], into turn: inout SchedulingTurn
  ) {
    let limit = queues[queue].limit
    guard queues[queue].inFlight > limit else { return }
    for id in assigned.suffix(Int(queues[queue].inFlight - limit)).reversed() {
      state.askRecall(id, into: &turn)
    }
  }
}

extension Resources {
  /// Whether more is in use than there is.
  var isOverdrawn: Bool {
    cpus < .zero || memoryBytes < 0 || gpus < .zero || custom.contains { $0.amount < .zero }
  }
}
