// What a seed means: the cluster, the load, and which faults happen how often ("swarm": each class
// of faults is on or off by the seed, so that some worlds know one kind of trouble only).

import OpClusterModel

/// Classes of faults that come as events; those of the network and the disk that come with each
/// message or sync are rates of `Plan`.
enum Fault: Int, Sendable, CaseIterable {
  case coordinatorCrash, coordinatorPause
  case workerDeath, workerPause, workerStop
  /// One direction of a worker's connection, or both, stays silent for a while.
  case cut
  /// A worker's connection breaks; what was in flight is gone.
  case connectionBreak
  case snapshot
}

struct Plan: Sendable {
  // The cluster
  var workers: [Machine] = []
  var clients = 1
  var timing = Timing()
  var latency: (low: Int, high: Int) = (50, 500)

  // The load
  /// Graphs that each client submits, and about how many operations each has.
  var graphs = 2
  var size = 8
  var pace = Pace.mixed
  var failurePercent = 10
  /// How long faults and requests go on.
  var turmoil = Span.seconds(30)
  /// Percent of a client's acts that steer rather than submit or read.
  var steering = 0

  // Faults
  var meanBetween: [Span?] = Array(repeating: nil, count: Fault.allCases.count)
  var lossPermille = 0
  var doublePermille = 0
  var reorderPermille = 0
  var latePermille = 0
  /// Percent of broken connections that come back without the worker having noticed.
  var silentReconnects = 0
  var slowSyncPermille = 0

  struct Machine: Sendable {
    var capacity: Resources
    var labels: [Label]
    var types: [OperationType]
  }
  /// How long operations take.
  enum Pace: Sendable, CaseIterable { case fast, mixed, slow }

  init(seed: UInt64) {
    var chance = Chance(seed, purpose: 1)
    makeCluster(&chance)
    makeLoad(&chance)
    makeFaults(&chance)
  }

  /// From now on nothing goes wrong.
  mutating func stopFaults() {
    meanBetween = Array(repeating: nil, count: Fault.allCases.count)
    (lossPermille, doublePermille, reorderPermille, latePermille) = (0, 0, 0, 0)
    slowSyncPermille = 0
    silentReconnects = 0
  }

  static let plainType = OperationType(name: "plain")
  static let rareType = OperationType(name: "rare")

  private mutating func makeCluster(_ chance: inout Chance) {
    let count = chance.percent(60) ? chance.between(1, 3) : chance.between(1, 8)
    for at in 0..<count {
      // The first can run everything, so that everything can end.
      let isLarge = at == 0 || chance.percent(30)
      var capacity = Resources(
        cpus: ResourceAmount(Int64(isLarge ? chance.between(2, 6) : chance.between(1, 3))),
        memoryBytes: isLarge ? 1 << 32 : 1 << 30)
      if isLarge {
        capacity.gpus = ResourceAmount(1)
        capacity.custom = [Resources.NamedAmount(name: "seat", amount: ResourceAmount(2))]
      }
      let hasZone = at == 0 || chance.percent(50)
      workers.append(
        Machine(
          capacity: capacity, labels: hasZone ? [Label(key: "zone", value: "a")] : [],
          types: isLarge ? [Plan.plainType, Plan.rareType] : [Plan.plainType]))
    }
    clients = chance.between(1, 3)
    if chance.percent(30) { latency = (1_000, 40_000) }
  }

  private mutating func makeLoad(_ chance: inout Chance) {
    graphs = chance.between(1, 4)
    size = chance.percent(4) ? chance.between(40, 120) : chance.between(3, 14)
    pace = chance.pick(Pace.allCases)
    failurePercent = chance.pick([0, 0, 5, 15, 40])
    turmoil = .seconds(Int64(chance.between(5, 40)))
    steering = chance.percent(70) ? chance.between(10, 80) : 0
  }

  private mutating func makeFaults(_ chance: inout Chance) {
    if chance.percent(8) { return }
    for fault in Fault.allCases where chance.percent(35) {
      meanBetween[fault.rawValue] = .milliseconds(Int64(chance.between(800, 15_000)))
    }
    if chance.percent(35) { lossPermille = chance.between(1, 60) }
    if chance.percent(35) { doublePermille = chance.between(1, 80) }
    if chance.percent(30) { reorderPermille = chance.between(1, 80) }
    if chance.percent(30) { latePermille = chance.between(1, 50) }
    if chance.percent(40) { silentReconnects = chance.between(10, 90) }
    if chance.percent(40) { slowSyncPermille = chance.between(20, 500) }
  }
}
