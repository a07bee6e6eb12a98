// What a thousand connected workers cost the coordinator: the rate of operations beside that of two
// workers of the same kind, and the processor while nothing happens.

import OpClusterClient

extension Measurements {
  /// Two workers and then many, in one run, so that a slowdown of the machine affects both.
  static func crowd(of workers: Int, operations: UInt32) async throws -> [(String, Double)] {
    let few = try await MeasuredCluster.useCrowd(of: 2, warmUp: operations) { cluster in
      try await rate(operations, cluster)
    }
    let (many, idle) = try await MeasuredCluster.useCrowd(of: workers, warmUp: operations) {
      cluster in
      let rate = try await rate(operations, cluster)
      return (rate, try await idleShare(of: cluster))
    }
    return [
      ("coordinator's processor, microseconds each", many.cost),
      ("coordinator's processor, microseconds each, two workers", few.cost),
      ("no-ops per second", many.rate), ("no-ops per second, two workers", few.rate),
      ("percent of the rate with two", many.rate / few.rate * 100),
      ("percent of a processor while idle", idle * 100),
    ]
  }

  /// As many machines without relays and behind some, in one run.
  static func racks(
    _ relays: Int, of machines: Int, operations: UInt32
  ) async throws -> [(String, Double)] {
    let (direct, directIdle) = try await MeasuredCluster.useCrowd(
      of: relays * machines, warmUp: operations
    ) { cluster in (try await rate(operations, cluster), try await idleShare(of: cluster)) }
    let (behind, idle) = try await MeasuredCluster.useRacks(
      relays, of: machines, warmUp: operations
    ) { cluster in (try await rate(operations, cluster), try await idleShare(of: cluster)) }
    return [
      ("no-ops per second, without relays", direct.rate), ("no-ops per second", behind.rate),
      ("coordinator's processor, microseconds each, without relays", direct.cost),
      ("coordinator's processor, microseconds each", behind.cost),
      ("percent of a processor while idle, without relays", directIdle * 100),
      ("percent of a processor while idle", idle * 100),
    ]
  }

  /// Operations per second, and the microseconds of the coordinator's processor for each.
  private static func rate(
    _ count: UInt32, _ cluster: EmbeddedCluster
  ) async throws -> (rate: Double, cost: Double) {
    let process = cluster.processes[0].number
    let before = processorSeconds(of: process)
    let time = try await seconds {
      try await Follower(cluster.connection).run(Graphs.independent(count))
    }
    let spent = processorSeconds(of: process) - before
    return (Double(count) / time, spent * 1e6 / Double(count))
  }

  /// The share of a processor that the coordinator takes while nobody wants anything. The first
  /// seconds do not count: what has ended is still being put away.
  private static func idleShare(of cluster: EmbeddedCluster) async throws -> Double {
    try await Task.sleep(for: .seconds(3))
    let process = cluster.processes[0].number
    let before = processorSeconds(of: process)
    let time = try await seconds { try await Task.sleep(for: .seconds(10)) }
    return (processorSeconds(of: process) - before) / time
  }
}
