// A fresh cluster for one measurement, warmed up, and ended with it.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel

enum MeasuredCluster {
  /// Where the parts meet and where the journal is.
  enum Setting {
    /// Sockets in a private folder, the journal on disk.
    case usual
    /// TCP on loopback with encryption, the journal on disk: as between machines.
    case encrypted
    /// Sockets in a private folder, the journal in memory: neither encrypted nor durable.
    case volatile
  }

  /// Workers of one cpu each. The first graph warms up: it starts processes, opens connections, and
  /// loads what is loaded once.
  ///
  /// - Parameter workerProgram: The path of the workers' program; nil: `opworker`.
  static func use<Result>(
    _ setting: Setting = .usual, workers: Int = 2, workerProgram: String? = nil,
    _ body: (EmbeddedCluster) async throws -> Result
  ) async throws -> Result {
    try await start(setting, workers: workers, workerProgram: workerProgram) { cluster in
      try await Follower(cluster.connection).run(Graphs.independent(200))
      return try await body(cluster)
    }
  }

  /// Workers of one cpu each that are threads of this process, and no processes. They are warmed up
  /// by as much as is measured: how much a worker gets at once follows from what it has done.
  static func useCrowd<Result>(
    of workers: Int, warmUp: UInt32, _ body: (EmbeddedCluster) async throws -> Result
  ) async throws -> Result {
    try await start(.usual, workers: 0) { cluster in
      let crowd = try WorkerCrowd(of: workers, at: cluster.workerAddress)
      do {
        try await awaitWorkers(workers, cluster.connection)
        try await Follower(cluster.connection).run(Graphs.independent(warmUp))
        let result = try await body(cluster)
        try crowd.end()
        return result
      } catch {
        try crowd.end()
        throw error
      }
    }
  }

  /// Relays with machines that are threads of this process.
  static func useRacks<Result>(
    _ relays: Int, of machines: Int, warmUp: UInt32,
    _ body: (EmbeddedCluster) async throws -> Result
  ) async throws -> Result {
    try await start(.usual, workers: 0) { cluster in
      var started: [MeasuredRack] = []
      do {
        for number in 0..<relays {
          started.append(try MeasuredRack(number, machines, for: cluster.workerAddress))
        }
        try await awaitMachines(relays * machines, cluster.connection)
        try await Follower(cluster.connection).run(Graphs.independent(warmUp))
        let result = try await body(cluster)
        for rack in started { try rack.end() }
        return result
      } catch {
        for rack in started { try? rack.end() }
        throw error
      }
    }
  }

  /// Machines of one cpu each.
  private static func awaitMachines(
    _ count: Int, _ connection: ClusterConnection
  ) async throws {
    let end = ContinuousClock().now + .seconds(60)
    while ContinuousClock().now < end {
      if case .workers(let rows) = try await connection.request(.workers, timeout: .seconds(10)),
        rows.reduce(0, { $0 + $1.capacity.cpus.units }) >= Double(count)
      {
        return
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw Follower.NotSucceeded(description: "\(count) machines did not join within a minute")
  }

  private static func awaitWorkers(
    _ count: Int, _ connection: ClusterConnection
  ) async throws {
    let end = ContinuousClock().now + .seconds(60)
    while ContinuousClock().now < end {
      if case .workers(let rows) = try await connection.request(.workers, timeout: .seconds(10)),
        rows.filter({ $0.state == .connected }).count >= count
      {
        return
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw Follower.NotSucceeded(description: "\(count) workers did not join within a minute")
  }

  private static func start<Result>(
    _ setting: Setting, workers: Int, workerProgram: String? = nil,
    _ body: (EmbeddedCluster) async throws -> Result
  ) async throws -> Result {
    var settings = EmbeddedCluster.Settings(cpusPerWorker: 1, workerExecutable: workerProgram)
    settings.workers = workers
    switch setting {
    case .usual: break
    // Below the ports that the kernel gives to clients.
    case .encrypted: settings.loopbackPort = UInt16.random(in: 10_000...30_000)
    case .volatile: settings.state = "/dev/shm/opbench-\(getpid())"
    }
    defer { settings.state.map { try? FileManager.default.removeItem(atPath: $0) } }
    let cluster = try await EmbeddedCluster.start(settings)
    do {
      let result = try await body(cluster)
      await cluster.end()
      return result
    } catch {
      await cluster.end()
      throw error
    }
  }

  /// Adds the suspended queue `closed`, in which nothing starts.
  static func addClosedQueue(_ cluster: EmbeddedCluster) async throws {
    _ = try await cluster.connection.request(
      .createQueue(QueueSettings(name: "closed", isSuspended: true)))
  }
}

/// Returns the seconds that a function takes.
func seconds(of body: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock().now
  try await body()
  return (ContinuousClock().now - start) / .seconds(1)
}

/// The resident bytes of a process from /proc; 0 if it does not exist. Assumes pages of 4 KiB.
func residentBytes(of process: Int32) -> Int {
  guard let file = contents(ofFile: "/proc/\(process)/statm") else { return 0 }
  let fields = file.split(separator: " ")
  return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4096
}

/// The most resident memory that a process has had, in bytes; 0 if it does not exist.
func peakResidentBytes(of process: Int32) -> Int {
  let lines = contents(ofFile: "/proc/\(process)/status")?.split(separator: "\n") ?? []
  guard let line = lines.first(where: { $0.hasPrefix("VmHWM:") }) else { return 0 }
  return (Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0) * 1_024
}

/// The seconds of the processor that the threads of a process have used, from /proc; 0 if it does
/// not exist. The scheduler's own account: the usual one counts ticks, and is wrong for what wakes
/// with them.
func processorSeconds(of process: Int32) -> Double {
  let folder = "/proc/\(process)/task"
  let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  return threads.reduce(0) { sum, thread in
    let fields = contents(ofFile: "\(folder)/\(thread)/schedstat")?.split(separator: " ") ?? []
    return sum + (fields.first.flatMap { Double($0) } ?? 0) / 1e9
  }
}

/// A small text file, whole; nil if it cannot be read.
func contents(ofFile path: String) -> String? {
  try? String(contentsOfFile: path, encoding: .utf8)
}
