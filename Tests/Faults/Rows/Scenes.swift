// What most rows share: a cluster of two workers with four slots whose journal keeps every turn,
// the load on it, and the judgement at the end. Any task.

import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

extension Trial {
  /// Two workers with four slots, the times of the scale, and a journal that is never shortened.
  func shape(workers: Int = 2, slots: Int = 4) -> Cluster.Shape {
    var shape = Cluster.Shape(workers: workers, slots: slots)
    shape.timing =
      scale.timing.flags + ["--snapshot-turns", "1000000000", "--snapshot-bytes", "1000000000000"]
    return shape
  }

  /// The same over TCP, where everybody needs a key.
  func keyedShape(workers: Int = 2, slots: Int = 4) throws -> Cluster.Shape {
    var shape = shape(workers: workers, slots: slots)
    let ports = try FreePorts.find(2)
    shape.clientAddress = "tcp://127.0.0.1:\(ports[0])"
    shape.workerAddress = "tcp://127.0.0.1:\(ports[1])"
    return shape
  }

  /// Runs the load with probes beside it, `fault` meanwhile, and judges what came of it.
  func underLoad(
    _ shape: Cluster.Shape? = nil, load wanted: LoadShape? = nil,
    limit: Duration = .seconds(1_800),
    _ fault: @escaping @Sendable (Cluster, Load) async throws -> Void
  ) async throws {
    let loadShape = wanted ?? scale.load
    try await Cluster.with(shape ?? self.shape()) { cluster in
      let load = try Load(loadShape, on: cluster)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await load.probe() }
        group.addTask {
          try await load.submitAll()
        }
        group.addTask {
          // The fault goes on while graphs run; the probes end with it, however it ends.
          defer { load.stop() }
          try await fault(cluster, load)
        }
        try await group.waitForAll()
      }
      try await self.settle(load, cluster, limit: limit)
      try await Checker.judge(load, on: cluster, self)
    }
  }

  /// Waits until nothing of the load is left to do.
  func settle(_ load: Load, _ cluster: Cluster, limit: Duration = .seconds(900)) async throws {
    let connection = try await cluster.reach()
    try await eventually("everything has ended (G11)", within: limit) {
      (try? await connection.graphs(Selection(graphs: .active)).isEmpty) == true
    }
    await connection.close()
  }

  /// Ends of operations so far.
  static func ends(_ load: Load) -> Int { WitnessLine.all(in: load.witness).count { !$0.isStart } }
}

extension Cluster {
  /// Waits until the operations of the load have written so many lines.
  func witnessed(_ count: Int, by load: Load) async throws {
    try await eventually("\(count) witness lines", within: .seconds(600)) {
      text(of: load.witness).utf8.count(where: { $0 == 10 }) >= count
    }
  }

  /// A connection, however often the coordinator dies meanwhile.
  func reach(_ other: String? = nil) async throws -> ClusterConnection {
    try await eventually("the coordinator can be reached", within: .seconds(120)) {
      try? await ClusterConnection.connect(
        to: other ?? address, deadline: .seconds(30), keys: keys)
    }
  }

  func process(_ name: String) throws -> pid_t {
    guard let daemon = daemon(name) else { throw Trouble("there is no \(name)") }
    return daemon.process
  }

  /// Kills the coordinator; answers how long the next one took until it served.
  func restartCoordinator(_ flags: [String] = []) async throws -> Double {
    let start = Moment.now
    try await startCoordinator(flags)
    return Moment.now.seconds(since: start)
  }
}

/// A summary of many measurements.
struct Series {
  private var values: [Double] = []
  mutating func add(_ value: Double) { values.append(value) }
  var text: String {
    let sorted = values.sorted()
    guard let first = sorted.first, let last = sorted.last else { return "none" }
    let middle = sorted[sorted.count / 2]
    let ends = "\(Moment.text(first)) … \(Moment.text(last))"
    return "\(Moment.text(middle)) s (\(ends)), \(sorted.count) times"
  }
  var largest: Double { values.max() ?? 0 }
  var count: Int { values.count }
  var middle: Double { values.isEmpty ? 0 : values.sorted()[values.count / 2] }
}
