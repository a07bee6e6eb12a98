// What one worker, or any of several, can take, and when somebody must look at it. Of several
// workers each value is a bound, and each may come from a different worker.

import OpClusterModel

struct WorkerSummary: Equatable, Sendable {
  // Of the workers that take work:
  /// Their number.
  var takers: UInt32 = 0
  /// The decisive properties for which classes fit at all.
  var fitting = Fitting()
  /// The highest share of free cpus, and the most that is free.
  var score = -Double.infinity
  var free = DemandAmounts.least
  /// The number of further operations that may be assigned to one, by service; what is assigned of
  /// the same service does not count.
  var room = SIMD8<UInt32>()
  /// The same for any service: nothing that is assigned counts.
  var mostRoom: UInt32 = 0
  /// The lowest level of what they are assigned.
  var lowestLevel: UInt8 = .max
  /// Whether one may keep its room for an operation with cpus that does not fit yet,
  var mayReserve = false
  /// and the most of an operation without cpus for which one may.
  var withoutCPUs = DemandAmounts.least

  // Of all workers:
  /// Whether one is not connected, or suspect.
  var isSilent = false
  /// When a tick has something to do,
  var due = Instant.distantFuture
  /// when to look at what is assigned and does not start,
  var surplusDue = Instant.distantFuture
  /// since when that may be recalled,
  var surplusSince = Instant.distantFuture
  /// the lowest service of it,
  var surplusService = UInt8.max
  /// whether one has more of it than it has of anything but cpus,
  var lacksOthers = false
  /// and when the room ends, because nothing has ended for long.
  var roomEnds = Instant.distantFuture

  struct Fitting: Equatable, Sendable {
    /// The most that any has, and the least that all have, of capacity and kinds.
    var most = DemandAmounts.least
    var least = DemandAmounts.most
    /// Whether all are given every class that they announced.
    var isPlain = true
    /// Counts the changes of one worker; 0 for several.
    var changes: UInt32 = 0
  }

  /// Becomes the summary of two others.
  mutating func merge(_ one: WorkerSummary, _ other: WorkerSummary) {
    takers = one.takers + other.takers
    fitting.most = one.fitting.most.raised(by: other.fitting.most)
    fitting.least = one.fitting.least.lowered(by: other.fitting.least)
    fitting.isPlain = one.fitting.isPlain && other.fitting.isPlain
    score = max(one.score, other.score)
    free = one.free.raised(by: other.free)
    room = pointwiseMax(one.room, other.room)
    mostRoom = max(one.mostRoom, other.mostRoom)
    lowestLevel = min(one.lowestLevel, other.lowestLevel)
    mayReserve = one.mayReserve || other.mayReserve
    withoutCPUs = one.withoutCPUs.raised(by: other.withoutCPUs)
    isSilent = one.isSilent || other.isSilent
    due = min(one.due, other.due)
    surplusDue = min(one.surplusDue, other.surplusDue)
    surplusSince = min(one.surplusSince, other.surplusSince)
    surplusService = min(one.surplusService, other.surplusService)
    lacksOthers = one.lacksOthers || other.lacksOthers
    roomEnds = min(one.roomEnds, other.roomEnds)
  }

  /// The most operations of a rank that one of the workers may be assigned further.
  func room(for rank: Rank) -> UInt32 {
    // Without anything below it, the level makes no difference.
    Int(lowestLevel) >= rank.level ? room[rank.service] : mostRoom
  }

  /// Whether one of the workers may have room for what others hold and do not start. What needs no
  /// cpus waits only where something else is lacking.
  var mayTakeSurplus: Bool { free.cpus > 0 || lacksOthers }

  /// Whether one of the workers may keep room for this demand.
  func mayReserve(_ demand: DemandAmounts) -> Bool {
    demand.cpus > 0 ? mayReserve && fitting.most.admit(demand) : withoutCPUs.admit(demand)
  }

  /// Whether one of the workers may have this demand free. What is overdrawn still admits a demand
  /// for none of it.
  func mayHaveFree(_ demand: DemandAmounts) -> Bool {
    free.kinds & demand.kinds != 0 && (demand.cpus <= 0 || demand.cpus <= free.cpus)
      && (demand.memory <= 0 || demand.memory <= free.memory)
      && (demand.gpus <= 0 || demand.gpus <= free.gpus)
  }
}

extension DemandAmounts {
  fileprivate static let least = DemandAmounts(cpus: .min, memory: .min, gpus: .min, kinds: 0)
  fileprivate static let most = DemandAmounts(cpus: .max, memory: .max, gpus: .max, kinds: .max)

  @inline(__always)
  fileprivate func raised(by other: DemandAmounts) -> DemandAmounts {
    DemandAmounts(
      cpus: max(cpus, other.cpus), memory: max(memory, other.memory), gpus: max(gpus, other.gpus),
      kinds: kinds | other.kinds)
  }

  /// The amounts and kinds that both have.
  @inline(__always)
  fileprivate func lowered(by other: DemandAmounts) -> DemandAmounts {
    DemandAmounts(
      cpus: min(cpus, other.cpus), memory: min(memory, other.memory), gpus: min(gpus, other.gpus),
      kinds: kinds & other.kinds)
  }
}
