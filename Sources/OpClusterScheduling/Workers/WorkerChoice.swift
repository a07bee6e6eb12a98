// Chooses the worker for operations of a demand class: the emptiest worker that can start them at
// once; else one that soon can; else, for a large operation that small ones would starve, one that
// keeps its room for it. Of equals the one that came first. Searched in the index of all
// workers, or among a few candidates.

import OpClusterModel

/// A worker for operations of a class.
struct WorkerChoice: Equatable, Sendable {
  var worker: UInt32
  /// The number of operations that it takes.
  var count: UInt32
  /// Among how many workers they are shared.
  var eligible: UInt32
}

/// Operations of one class and rank that need a worker.
struct Handover: Sendable {
  var demandClass: Int
  var rank: Rank
  /// The maximum of bytes that each operation brings along.
  var bytes: Int
}

extension Scheduler {
  /// The worker among candidates.
  mutating func chooseWorker(
    for wanted: Handover, among candidates: Candidates, at now: Instant
  ) -> WorkerChoice? {
    if case .few(let workers) = candidates { return choice(for: wanted, among: workers, at: now) }
    return choiceOfAll(for: wanted, in: candidates.pool, at: now)
  }

  // MARK: - Among all

  /// The worker among all that take work, of a pool or anywhere. Costs some paths of the tree, but
  /// for workers whose room no bound can tell: for named resources, types, labels and bytes.
  private mutating func choiceOfAll(
    for wanted: Handover, in pool: Int?, at now: Instant
  ) -> WorkerChoice? {
    if let few = fewThatMayServe(wanted.demandClass, in: pool) {
      looks += few.count
      return choice(for: wanted, among: few, at: now)
    }
    let index = workerTree(of: pool)
    var steps = 0
    defer { looks += steps }
    let amounts = state.lineClass(wanted.demandClass).amounts
    let choice =
      bestStart(wanted, amounts, in: index, &steps)
      ?? bestRoom(wanted, amounts, in: index, at: now, &steps)
      ?? firstReserve(wanted, amounts, in: index, &steps)
    guard var choice else { return nil }
    choice.eligible = eligible(wanted.demandClass, in: pool)
    return choice
  }

  /// The workers for a kind that is compared on demand, if its labels, types or named resources say
  /// that they are few: no summary excludes the others.
  private func fewThatMayServe(_ demandClass: Int, in pool: Int?) -> [UInt32]? {
    let kind = classes[demandClass].kind
    if kind < DemandClasses.comparedKinds { return nil }
    return workerOffers.workers(for: classes.kind(kind), atMost: Self.fewOfAKind)?
      .filter { takesWork($0) && belongs($0, to: pool) }
  }
  private static let fewOfAKind = 64

  private func bestStart(
    _ wanted: Handover, _ amounts: DemandAmounts, in index: WorkerIndex, _ steps: inout Int
  ) -> WorkerChoice? {
    let demand = classes[wanted.demandClass].demandClass.demand
    let best = index.best(
      &steps,
      bound: { $0.score > -.infinity && $0.mayHaveFree(amounts) ? $0.score : nil },
      value: { number -> Double? in
        guard takes(number, wanted) else { return nil }
        let free = free(number)
        return free.count(fitting: demand) > 0 ? score(of: number, free) : nil
      })
    return best.map {
      WorkerChoice(
        worker: $0.number, count: free($0.number).count(fitting: demand), eligible: 0)
    }
  }

  private func bestRoom(
    _ wanted: Handover, _ amounts: DemandAmounts, in index: WorkerIndex, at now: Instant,
    _ steps: inout Int
  ) -> WorkerChoice? {
    let best = index.best(
      &steps,
      bound: { summary -> UInt32? in
        let room = summary.room(for: wanted.rank)
        return room > 0 && summary.fitting.most.admit(amounts) ? room : nil
      },
      value: { number -> UInt32? in
        guard takes(number, wanted) else { return nil }
        let room = room(at: number, for: wanted.rank, at: now)
        return room > 0 ? room : nil
      })
    return best.map { WorkerChoice(worker: $0.number, count: $0.value, eligible: 0) }
  }

  private func firstReserve(
    _ wanted: Handover, _ amounts: DemandAmounts, in index: WorkerIndex, _ steps: inout Int
  ) -> WorkerChoice? {
    let demand = classes[wanted.demandClass].demandClass.demand
    let first = index.best(
      &steps, bound: { $0.mayReserve(amounts) ? 0 : nil },
      value: { takes($0, wanted) && reserves($0, free($0), for: demand) ? 0 : nil })
    return first.map { WorkerChoice(worker: $0.number, count: 1, eligible: 0) }
  }

  private func takes(_ worker: UInt32, _ wanted: Handover) -> Bool {
    fits(worker, wanted.demandClass) && conversations[worker].hasRoom(for: wanted.bytes)
  }

  /// The number of workers that take work and could ever run operations of a class, of a pool or
  /// anywhere. Counted again only after a change of what workers could run.
  mutating func eligible(_ demandClass: Int, in pool: Int?) -> UInt32 {
    let serial = classes[demandClass].serial
    let most = 2 * classes.count + 64
    if let pool {
      let version = workerPools[pool].index.version
      let known = workerPools[pool].eligible[demandClass]
      if let known, known.isCount(of: serial, at: version) { return known.count }
      let count = countEligible(demandClass, in: workerPools[pool].index, &looks)
      if workerPools[pool].eligible.count > most { workerPools[pool].eligible.removeAll() }
      workerPools[pool].eligible[demandClass] = EligibleWorkers(
        serial: serial, version: version, count: count)
      return count
    }
    let version = workerIndex.version
    let known = eligibleWorkers[demandClass]
    if let known, known.isCount(of: serial, at: version) { return known.count }
    let count = countEligible(demandClass, in: workerIndex, &looks)
    if eligibleWorkers.count > most { eligibleWorkers.removeAll() }
    eligibleWorkers[demandClass] = EligibleWorkers(
      serial: serial, version: version, count: count)
    return count
  }

  func countEligible(
    _ demandClass: Int, in index: WorkerIndex, _ steps: inout Int
  ) -> UInt32 {
    let amounts = state.lineClass(demandClass).amounts
    let kind = classes[demandClass].kind
    // Of other kinds the bits are a bound.
    let isExact = kind < DemandClasses.exactKinds
    return index.count(
      &steps,
      decides: { summary in
        if summary.takers == 0 || !summary.fitting.most.admit(amounts) { return false }
        let isCertain =
          isExact && summary.fitting.isPlain && amounts.cpus <= summary.fitting.least.cpus
          && amounts.memory <= summary.fitting.least.memory
          && amounts.gpus <= summary.fitting.least.gpus
          && summary.fitting.least.kinds & (1 << UInt64(kind)) != 0
        return isCertain ? true : nil
      },
      includes: { fits($0, demandClass) })
  }

  // MARK: - Among a few

  /// The worker among candidates; visits each of them.
  private func choice(
    for wanted: Handover, among candidates: [UInt32], at now: Instant
  ) -> WorkerChoice? {
    let demand = classes[wanted.demandClass].demandClass.demand
    var eligible: UInt32 = 0
    var best: (worker: UInt32, count: UInt32, score: Double)?
    var next: (worker: UInt32, room: UInt32)?
    var reserve: UInt32?
    for number in candidates where fits(number, wanted.demandClass) {
      // It was tried in this pass.
      if conversations[number].isResting { continue }
      eligible += 1
      guard conversations[number].hasRoom(for: wanted.bytes) else { continue }
      let free = free(number)
      let fitting = free.count(fitting: demand)
      if fitting > 0 {
        let score = score(of: number, free)
        if best.map({ score > $0.score }) ?? true { best = (number, fitting, score) }
        continue
      }
      let room = room(at: number, for: wanted.rank, at: now)
      if room > 0 {
        if next.map({ room > $0.room }) ?? true { next = (number, room) }
      } else if reserve == nil, reserves(number, free, for: demand) {
        reserve = number
      }
    }
    if let best {
      return WorkerChoice(worker: best.worker, count: best.count, eligible: eligible)
    }
    if let next { return WorkerChoice(worker: next.worker, count: next.room, eligible: eligible) }
    return reserve.map { WorkerChoice(worker: $0, count: 1, eligible: eligible) }
  }

  // MARK: - Reach

  /// The maximum that workers could take of a rank, those of a pool or all. Demands beyond it fit
  /// nowhere; demands within it may fit.
  mutating func reachOfWorkers(
    for rank: Rank, in pool: Int?, at now: Instant
  ) -> LineReach {
    var reach = LineReach(
      all: reachOfAll(for: rank, in: pool, at: now), fresh: FreshReach(), ever: .inside)
    if let pool {
      reach.ever.raise(by: workerPools[pool].index.whole.fitting.most)
    } else {
      reach.ever.raise(by: workerIndex.whole.fitting.most)
    }
    if freshWorkers.areMany {
      reach.fresh.widen(by: reach.all)
      return reach
    }
    looks += freshWorkers.numbers.count
    for number in freshWorkers.numbers where workers.contains(number) && takesWork(number) {
      if !belongs(number, to: pool) { continue }
      reach.fresh.widen(by: reachAmong(CollectionOfOne(number), for: rank, at: now))
    }
    return reach
  }

  private mutating func reachOfAll(
    for rank: Rank, in pool: Int?, at now: Instant
  ) -> DemandAmounts {
    var reach = DemandAmounts.inside
    // No closure: it would copy the scheduler.
    let pass = WorkerIndex.Pass(
      rank: rank, now: now, workers: workers, conversations: conversations)
    workerTree(of: pool).raise(&reach, in: pass, &looks)
    return reach
  }

  // MARK: - Checks

  /// Whether the index chooses as a look at all workers does; checked by the invariants, for one
  /// class and one queue of each turn, which the number of the commit decides.
  func brokenChoice() -> String? {
    if classes.slots == 0 || queues.count == 0 { return nil }
    let turn = Int(truncatingIfNeeded: lastCommit.number & 0xFFFF_FFFF)
    let number = turn % classes.slots
    if classes[number].users == 0 || classes[number].demandClass.isInside { return nil }
    let takers = workers.numbers.filter { takesWork($0) }
    let queue = queues.numbers[turn % queues.count]
    let service = queues[queue].settings.qos
    let level = (turn / classes.slots).isMultiple(of: 2) ? 1 : 3
    if let broken = brokenChoice(number, Rank(service, queue: queue, level: level), nil, takers)
      ?? brokenChoice(number, Rank(service), nil, takers)
    {
      return broken
    }
    if workerPools.count == 0 { return nil }
    let pool = turn % workerPools.count
    let members = takers.filter { belongs($0, to: pool) }
    var copy = self
    copy.renewPool(pool)
    return copy.brokenChoice(number, Rank(service, queue: queue, level: level), pool, members)
  }

  private func brokenChoice(
    _ demandClass: Int, _ rank: Rank, _ pool: Int?, _ takers: [UInt32]
  ) -> String? {
    let now = workerIndex.asOf
    let wanted = Handover(demandClass: demandClass, rank: rank, bytes: rank.level << 20)
    let expected = choice(for: wanted, among: takers, at: now)
    var copy = self
    let found = copy.choiceOfAll(for: wanted, in: pool, at: now)
    if found != expected {
      return "for demand \(demandClass) the index chooses \(found.debugDescription) and not "
        + "\(expected.debugDescription)"
    }
    if copy.reachOfAll(for: rank, in: pool, at: now) != reachAmong(takers, for: rank, at: now) {
      return "\(rank): the index has another reach"
    }
    return nil
  }
}
