// The plan of a seed: the cluster, the load, and the frequencies of faults ("swarm": the seed
// switches each class of faults on or off, so that some worlds have only one kind of fault).

import OpClusterModel

/// Classes of faults that occur as events; faults of single messages or syncs are rates of `Plan`.
/// The names are those of scripts.
enum Fault: String, Sendable, CaseIterable {
  case coordinatorCrash, coordinatorPause
  /// A write or sync answers EIO: the coordinator must stop at once (G7).
  case diskError
  /// The disk has only the reserve left for a while (G8).
  case diskFull
  /// One bit of a record in the middle changes while the coordinator is down (G6).
  case bitRot
  case workerDeath, workerPause, workerStop
  /// Another process says hello under the name of a living worker.
  case namesake
  /// A peer of an unsupported release says hello (G32).
  case stranger
  /// One or both directions of a worker's connection stay silent for a while.
  case cut
  /// All workers are cut, one after the other, and return in another order.
  case swizzle
  /// A worker's connection breaks; bytes in flight are lost.
  case connectionBreak
  case snapshot
  /// An older copy of the journal replaces it; and the earlier copying.
  case restore, backup
}

struct Plan: Sendable, Equatable {
  // The cluster:
  var workers: [Machine] = []
  var clients = 1
  var latency = Latency(low: 50, high: 500)

  // The load:
  /// The graphs that each client submits, and the approximate number of operations of each.
  var graphs = 2
  var size = 8
  var pace = Pace.mixed
  var failurePercent = 10
  /// The percentage of exclusive templates (G16).
  var exclusivePercent = 10
  /// The duration of faults and requests.
  var turmoil = Span.seconds(30)
  /// The percentage of a client's acts that steer rather than submit or read.
  var steering = 0

  // Faults:
  /// By `Fault.number`; nil: no faults of this class.
  var meanBetween: [Span?] = Array(repeating: nil, count: Fault.allCases.count)
  var lossPermille = 0
  var doublePermille = 0
  var reorderPermille = 0
  var latePermille = 0
  /// The percentage of broken connections that return unnoticed by the worker.
  var silentReconnects = 0
  var slowSyncPermille = 0
  /// Syncs that last up to several leases: the disk must only delay answers.
  var stalledSyncPermille = 0
  /// The percentage of queues with a pool: their operations go only to workers in the zone.
  var poolPercent = 0
  /// The percentage of templates that cannot be started at a worker; different for each worker.
  var unablePercent = 0
  /// The percentage of outputs that lie in stores.
  var contentPercent = 0
  /// The percentage of dead workers that come back without their disk.
  var lostDiskPercent = 0
  /// The percentage of contents whose bytes change in a store, soon after they have come.
  var contentRotPercent = 0
  /// The percentage of workers to whose stores nobody can connect; never the first one.
  var closedStorePercent = 0
  /// The percentage of contents for which a reader's store has no room.
  var fullStorePercent = 0

  /// In microseconds.
  struct Latency: Sendable, Equatable {
    var low: Int
    var high: Int
  }
  struct Machine: Sendable, Equatable {
    var capacity: Resources
    var isInZone: Bool
    var hasRareType: Bool
    /// The excess speed of its clock, in ten-thousandths; at most a hundred either way.
    var drift: Int

    var labels: [Label] { isInZone ? [Label(key: "zone", value: "a")] : [] }
    var types: [OperationType] {
      hasRareType ? [Plan.plainType, Plan.rareType] : [Plan.plainType]
    }
  }
  /// The typical duration of operations.
  enum Pace: String, Sendable, CaseIterable { case fast, mixed, slow }

  init() {}

  init(seed: UInt64) {
    var chance = Chance(seed, purpose: 1)
    makeCluster(&chance)
    makeLoad(&chance)
    makeFaults(&chance)
    var lack = Chance(seed, purpose: 2)
    if lack.percent(12) { unablePercent = lack.pick([10, 30, 60, 100]) }
    if lack.percent(25) { poolPercent = lack.pick([20, 60]) }
    if lack.percent(35) {
      contentPercent = lack.pick([30, 100])
      lostDiskPercent = lack.pick([0, 30, 70])
      contentRotPercent = lack.pick([0, 10, 50])
      closedStorePercent = lack.pick([0, 60, 100])
      fullStorePercent = lack.pick([0, 0, 0, 10])
    }
  }

  /// Whether a worker lacks a folder or program that operations of a template need.
  func isUnable(_ worker: Int, graph: UInt32, template: UInt32, seed: UInt64) -> Bool {
    if unablePercent == 0 { return false }
    let name = UInt64(graph) << 32 | UInt64(template) << 8 | UInt64(worker)
    var chance = Chance(seed ^ Chance.mix(name), purpose: 3)
    return chance.percent(unablePercent)
  }

  /// Ends all faults.
  mutating func stopFaults() {
    meanBetween = Array(repeating: nil, count: Fault.allCases.count)
    (lossPermille, doublePermille, reorderPermille, latePermille) = (0, 0, 0, 0)
    (slowSyncPermille, stalledSyncPermille) = (0, 0)
    silentReconnects = 0
    unablePercent = 0
    contentRotPercent = 0
    fullStorePercent = 0
  }

  /// At least the first worker meets it, so that everything can end.
  static let pool = [LabelRequirement(key: "zone", values: ["a"])]
  static let plainType = OperationType(name: "plain")
  static let rareType = OperationType(name: "rare")

  private mutating func makeCluster(_ chance: inout Chance) {
    let count = chance.percent(60) ? chance.between(1, 3) : chance.between(1, 8)
    let hasDrift = chance.percent(30)
    for at in 0..<count {
      // The first worker can run everything, so that everything can end.
      let isLarge = at == 0 || chance.percent(30)
      var capacity = Resources(
        cpus: ResourceAmount(Int64(isLarge ? chance.between(2, 6) : chance.between(1, 3))),
        memoryBytes: isLarge ? 1 << 32 : 1 << 30)
      if isLarge {
        capacity.gpus = ResourceAmount(1)
        capacity.custom = [Resources.NamedAmount(name: "seat", amount: ResourceAmount(2))]
      }
      workers.append(
        Machine(
          capacity: capacity, isInZone: at == 0 || chance.percent(50), hasRareType: isLarge,
          drift: hasDrift ? chance.between(-100, 100) : 0))
    }
    clients = chance.between(1, 3)
    if chance.percent(30) { latency = Latency(low: 1_000, high: 40_000) }
  }

  private mutating func makeLoad(_ chance: inout Chance) {
    graphs = chance.between(1, 4)
    size = chance.percent(4) ? chance.between(40, 120) : chance.between(3, 14)
    pace = chance.pick(Pace.allCases)
    // So many long operations on one small worker would exceed the time limit of the second half.
    if size >= 40, pace == .slow { pace = .mixed }
    failurePercent = chance.pick([0, 0, 5, 15, 40])
    turmoil = .seconds(Int64(chance.between(5, 40)))
    steering = chance.percent(70) ? chance.between(10, 80) : 0
  }

  private mutating func makeFaults(_ chance: inout Chance) {
    if chance.percent(8) { return }
    for fault in Fault.allCases where !fault.isOfRestores && chance.percent(fault.percentOfSeeds) {
      meanBetween[fault.number] = .milliseconds(
        Int64(chance.between(fault.isRare ? 4_000 : 800, 15_000)))
    }
    if chance.percent(35) { lossPermille = chance.between(1, 60) }
    if chance.percent(35) { doublePermille = chance.between(1, 80) }
    if chance.percent(30) { reorderPermille = chance.between(1, 80) }
    if chance.percent(30) { latePermille = chance.between(1, 50) }
    if chance.percent(40) { silentReconnects = chance.between(10, 90) }
    if chance.percent(40) { slowSyncPermille = chance.between(20, 500) }
    if chance.percent(12) {
      stalledSyncPermille = chance.between(5, 100)
      turmoil = .seconds(Int64(chance.between(40, 120)))
    }
    if chance.percent(Fault.restore.percentOfSeeds) {
      meanBetween[Fault.restore.number] = .milliseconds(Int64(chance.between(5_000, 20_000)))
      exclusivePercent = 40
    }
  }
}

extension Fault {
  /// Its position in `allCases`.
  var number: Int {
    switch self {
    case .coordinatorCrash: 0
    case .coordinatorPause: 1
    case .diskError: 2
    case .diskFull: 3
    case .bitRot: 4
    case .workerDeath: 5
    case .workerPause: 6
    case .workerStop: 7
    case .namesake: 8
    case .stranger: 9
    case .cut: 10
    case .swizzle: 11
    case .connectionBreak: 12
    case .snapshot: 13
    case .restore: 14
    case .backup: 15
    }
  }
  /// The percentage of seeds with this class.
  var percentOfSeeds: Int {
    switch self {
    case .coordinatorCrash, .coordinatorPause, .workerDeath, .workerPause, .workerStop, .cut,
      .connectionBreak, .snapshot:
      35
    case .diskError, .diskFull, .bitRot, .namesake, .stranger, .swizzle: 15
    case .restore: 10
    // Occurs only together with a restore.
    case .backup: 0
    }
  }
  /// Drawn separately: without a restore no told fact may be lost.
  var isOfRestores: Bool { self == .restore || self == .backup }
  /// Whether it stops or blocks the whole cluster: if frequent, nothing else would ever happen.
  var isRare: Bool {
    switch self {
    case .diskError, .diskFull, .bitRot, .swizzle, .namesake, .stranger: true
    default: false
    }
  }
}
