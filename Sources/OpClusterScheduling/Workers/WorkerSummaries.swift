// Keeps the index of the workers: the summaries of those that have changed, or whose room has ended
// with time, are made again before anybody reads them. `WorkerSummary` says what each field is for;
// the tree over them is `WorkerIndex`. A reader that forgets to renew decides by old values, and
// `brokenIndex` finds it.

import OpClusterModel

extension Scheduler {
  /// Takes note of all changes of workers. Costs a path of the tree for each changed worker.
  mutating func renewIndex(at now: Instant) {
    workerIndex.asOf = now
    let tick = lastTick
    // Amortised: each end was set by a change.
    let isDue = workerIndex.whole.roomEnds < now || workerIndex.whole.surplusDue <= tick
    if !isDue, !conversations.hasChanged, !workers.hasChanged { return }
    var numbers = conversations.takeChanged()
    let others = state.takeChangedWorkers()
    if numbers != others { numbers += others }
    if isDue {
      let due = workerIndex.workers(&looks) { $0.roomEnds < now || $0.surplusDue <= tick }
      for number in due where workerIndex[number].map({ $0.surplusDue <= tick }) ?? false {
        surplusLooks.fresh.append(number)
      }
      numbers += due
    }
    if workerPools.count > 0 { for number in numbers { workerPools.noteChange(of: number) } }
    // A worker may be changed in both registries and due as well; each is summed up once.
    if numbers.count > 1 {
      numbers.sort()
      numbers = numbers.enumerated().filter { $0 == 0 || numbers[$0 - 1] != $1 }.map(\.element)
    }
    freshWorkers.gather(numbers)
    // Each pays its path to the root. Many at once pay each node of the tree once instead.
    if numbers.count <= WorkerIndex.few {
      for number in numbers { workerIndex.set(number, summary(of: number, at: now), &looks) }
      return
    }
    var summaries: [(number: UInt32, summary: WorkerSummary?)] = []
    summaries.reserveCapacity(numbers.count)
    for number in numbers { summaries.append((number, summary(of: number, at: now))) }
    workerIndex.set(summaries, &looks)
  }

  /// The summary of a worker; nil if it has left.
  func summary(of worker: UInt32, at now: Instant) -> WorkerSummary? {
    guard workers.contains(worker), conversations.contains(worker) else { return nil }
    var summary = WorkerSummary()
    noteDeadlines(of: worker, in: &summary)
    if takesWork(worker) { noteRoom(of: worker, at: now, in: &summary) }
    return summary
  }

  /// The part of a summary about what the worker takes; it stays empty for one that takes nothing
  /// now.
  private func noteRoom(of worker: UInt32, at now: Instant, in summary: inout WorkerSummary) {
    summary.takers = 1
    let kinds = conversations[worker].kindBits
    let capacity = conversations[worker].capacity
    let roomForOne = conversations[worker].roomForOne
    summary.fitting.most = DemandAmounts(roomForOne, kinds: kinds)
    summary.fitting.least = DemandAmounts(roomForOne, kinds: conversations[worker].servedBits)
    // Not inside of &&, which is a closure: it would copy the conversation.
    let lacksNothing = conversations[worker].lacks.isEmpty
    let withholdsNothing = conversations[worker].withheld.isEmpty
    summary.fitting.isPlain = lacksNothing && withholdsNothing
    summary.fitting.changes = conversations[worker].fittingChanges
    let free = free(worker)
    summary.score = score(of: worker, free)
    summary.free = DemandAmounts(free, kinds: kindsWithRoom(worker, free))
    // Nothing waits there, so that it may keep its room for something that does not fit yet (S47).
    if workers[worker].assigned == 0 {
      summary.mayReserve = free.cpus > .zero
      summary.withoutCPUs = DemandAmounts(
        reservableWithoutCPUs(of: capacity, free), kinds: kinds)
    }
    let window = conversations[worker].prefetch(at: now)
    // The window of what may be fetched ahead closes with time: then the summary is due again.
    if window == 0 { return }
    summary.roomEnds =
      conversations[worker].busySince
      + Span.fractionalSeconds(
        WorkerConversation.patience)
    summary.mostRoom = workers[worker].mostRoom(within: window)
    summary.lowestLevel = workers[worker].lowestLevel
    for service in QualityOfService.allCases {
      summary.room[Int(service.rawValue)] = workers[worker].room(
        for: Rank(service), within: window)
    }
  }

  /// When something must be said to the worker or decided about it. A silent one is due when its
  /// lease ends; any other at its next heartbeat, or when it becomes suspect.
  func noteDeadlines(of worker: UInt32, in summary: inout WorkerSummary) {
    let hasPeer = conversations[worker].peer != nil
    let isSuspect = conversations[worker].isSuspect
    summary.isSilent = !hasPeer || isSuspect
    if summary.isSilent {
      summary.due = conversations[worker].lastHeard + timing.lost
    } else {
      summary.due = min(
        conversations[worker].lastSpoken + timing.heartbeat,
        conversations[worker].lastHeard + timing.suspect)
    }
    guard workers[worker].assigned > 0, hasPeer else { return }
    // A tenth later than the patience, so that rounding cannot make it due before it is surplus.
    let surplus =
      conversations[worker].busySince
      + Span(nanoseconds: Int64(WorkerConversation.patience * 1.1e9))
    // Checked once; the remaining surplus does not wait for time.
    if surplus > lastTick { summary.surplusDue = surplus }
    let free = free(worker)
    if workers[worker].isDraining {
      summary.surplusSince = .distantPast
    } else if free.isOverdrawn {
      var others = free
      others.cpus = .zero
      summary.lacksOthers = others.isOverdrawn
      summary.surplusSince =
        conversations[worker].busySince + Span.fractionalSeconds(WorkerConversation.patience)
      summary.surplusService = workers[worker].lowestService
    }
  }

  /// How empty a worker is. The free share of its cpus; below 0 when more is handed over than fits.
  /// A worker without cpus does not divide by zero.
  func score(of worker: UInt32, _ free: Resources) -> Double {
    free.cpus.units / max(conversations[worker].capacity.cpus.units, 0.001)
  }

  /// Whether the index follows the workers; checked by the invariants. Workers with changes that
  /// nobody has read yet may differ, and then the tree above them is not judged by deadlines.
  func brokenIndex() -> String? {
    let unknown = Set(conversations.changed + state.workers.changed)
    for number in workers.numbers where !unknown.contains(number) {
      if workerIndex[number] != summary(of: number, at: workerIndex.asOf) {
        return "worker \(workers[number].name) is not as the index says"
      }
    }
    if let node = workerIndex.brokenNode { return "node \(node) of the index of workers" }
    if !unknown.isEmpty { return nil }
    if let broken = brokenPool() { return broken }
    if nextDeadline() != nextDeadlineOfAll() { return "the next deadline is another" }
    return brokenChoice()
  }
}

extension DemandAmounts {
  init(_ resources: Resources, kinds: UInt64) {
    self.init(
      cpus: resources.cpus.tenThousandths, memory: resources.memoryBytes,
      gpus: resources.gpus.tenThousandths, kinds: kinds)
  }
}
