// The recall: the one mechanism behind cancel, suspend, a lowered limit, a late edge, a changed
// priority, rebalancing and drain (S148).

import OpClusterModel

extension Scheduler {
  /// Asks the holder to give an unstarted attempt back; it answers `recalled` or that it started.
  mutating func askRecall(_ id: OperationID, into turn: inout Turn) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    guard cell.isHeldUnstarted, !cell.flags.contains(.recalling), seats.contains(cell.worker)
    else { return }
    graphs[graph].update(id.index) { $0.flags.insert(.recalling) }
    let at = orders(for: WorkerID(cell.worker), &turn)
    turn.orders[at].orders.recalls.append(AttemptID(operation: id, attempt: cell.attempt))
  }

  func isRecalling(_ id: OperationID) -> Bool {
    graphs.contains(id.graph.number)
      && graphs[id.graph.number].cell(id.index).flags.contains(.recalling)
  }

  /// Unstarted operations that a worker holds beyond its capacity and beyond what it will soon
  /// get to come back: they are ready elsewhere, or have to make room for a higher level (S47).
  /// A draining worker gives back all of them.
  mutating func recallSurplus(into turn: inout Turn) {
    for number in seats.numbers where seats[number].held > 0 && seats[number].peer != nil {
      let isDraining = seats[number].isDraining
      let isSlow = (turn.now - seats[number].busySince).seconds > Seat.patience
      guard isDraining || (isSlow && seats[number].free.isOverdrawn) else { continue }
      let window = isDraining ? 0 : seats[number].prefetch(at: turn.now)
      var surplus = seats[number].held - min(window, seats[number].held)
      var free = seats[number].free
      for id in heldBy(WorkerID(number)).reversed() where surplus > 0 {
        let graph = id.graph.number
        guard graphs[graph].cell(id.index).isHeldUnstarted else { continue }
        if !isDraining, !free.isOverdrawn || id == seats[number].reservation { continue }
        surplus -= 1
        free.giveBack(
          classes[
            graphs[graph].stages[graphs[graph].stageNumber(of: id.index)]
              .demandClass
          ].demand)
        askRecall(id, into: &turn)
      }
    }
  }

  /// More than the limit of a queue allows was handed over: the newest come back (S66).
  mutating func recallBeyondLimit(_ queue: UInt32, into turn: inout Turn) {
    let limit = queues[queue].isRunning ? queues[queue].settings.maximumConcurrent ?? .max : 0
    guard queues[queue].inFlight > limit else { return }
    var surplus = queues[queue].inFlight - limit
    for id in heldUnstarted(in: QueueID(queue)).reversed() where surplus > 0 {
      surplus -= 1
      askRecall(id, into: &turn)
    }
  }

  /// Handed over, unstarted operations of a queue, by seat and time.
  func heldUnstarted(in queue: QueueID) -> [OperationID] {
    seats.numbers.flatMap { heldBy(WorkerID($0)) }.filter { id in
      let graph = id.graph.number
      let stage = graphs[graph].stageNumber(of: id.index)
      return graphs[graph].cell(id.index).isHeldUnstarted
        && graphs[graph].queue(of: id.index, stage: stage) == queue
    }
  }

  /// Takes back, for the coordinator's books, what has become impossible: the worker forgets it.
  mutating func dropAtWorker(
    _ id: OperationID, _ cell: OperationCell, into turn: inout Turn
  ) {
    guard cell.worker != 0, seats.contains(cell.worker), !turn.isReplay else { return }
    let at = orders(for: WorkerID(cell.worker), &turn)
    turn.orders[at].orders.stale.append(AttemptID(operation: id, attempt: cell.attempt))
  }
}

extension Resources {
  /// Whether more has been given away than there is.
  fileprivate var isOverdrawn: Bool {
    cpus < .zero || memoryBytes < 0 || gpus < .zero || custom.contains { $0.amount < .zero }
  }
}
