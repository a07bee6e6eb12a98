// A whole cluster as threads of this process: a coordinator with its journal on disk, workers, and
// a connection, over inproc names that nobody else has. Any task.

import FoundationEssentials
import Logging
import OpClusterAttempts
import OpClusterClient
import OpClusterCoordinator
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import OpClusterWorker
import OpClusterZeroMQ
import Testing

enum InProcessCluster {
  private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// Runs `body` with a cluster that serves and its name, then ends it in good order. The workers
  /// are `w1-NAME`, `w2-NAME` …
  static func with<Result: Sendable>(
    workers: Int, types: OperationRegistry = OperationRegistry(),
    _ body: (ClusterConnection, String) async throws -> Result
  ) async throws -> Result {
    let name = String(UInt64.random(in: 0 ... .max), radix: 36)
    let folder = "/tmp/inprocess-test-\(name)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }

    let settings = CoordinatorSettings(
      clientEndpoint: try Endpoint("inproc://clients-\(name)"),
      workerEndpoint: try Endpoint("inproc://workers-\(name)"), stateFolder: "\(folder)/state")
    let coordinator = try await CoordinatorThread(Coordinator(settings, logger: quiet))
    let threads = try (1...workers).map { number in
      var configuration = WorkerConfiguration(
        coordinator: settings.workerEndpoint, logger: quiet)
      configuration.name = "w\(number)-\(name)"
      configuration.isNameGiven = true
      configuration.scratch = "\(folder)/w\(number)"
      configuration.capacity = Resources(cpus: ResourceAmount(2), memoryBytes: 1 << 30)
      configuration.handlesSignals = false
      return try WorkerThread(Worker(configuration, types: types))
    }
    let outcome = await outcome(of: { try await body($0, name) }, at: settings.clientEndpoint)
    for thread in threads { #expect(await thread.stop() == .stopped) }
    guard case .stopped = await coordinator.stop() else {
      throw NotServing(end: await coordinator.stop())
    }
    return try outcome.get()
  }

  /// Everything that follows has to happen even if the body throws.
  private static func outcome<Result: Sendable>(
    of body: (ClusterConnection) async throws -> Result, at endpoint: Endpoint
  ) async -> Swift.Result<Result, any Error> {
    do {
      let connection = try await ClusterConnection.connect(
        to: endpoint.address, deadline: .seconds(240))
      do {
        let result = try await body(connection)
        await connection.close()
        return .success(result)
      } catch {
        await connection.close()
        throw error
      }
    } catch {
      return .failure(error)
    }
  }

  /// A coordinator that ended otherwise than by being asked to.
  struct NotServing: Error {
    let end: CoordinatorEnd
  }
}

/// A coordinator on a thread of its own.
private final class CoordinatorThread: Sendable {
  private let coordinator: Coordinator
  private let end: Task<CoordinatorEnd, Never>

  /// Returns when it serves.
  init(_ coordinator: Coordinator) async throws {
    self.coordinator = coordinator
    let (isServing, serving) = AsyncStream<Void>.makeStream()
    let (ends, ending) = AsyncStream<CoordinatorEnd>.makeStream()
    _ = try startThread(name: "coordinator") {
      let end = coordinator.run { _ in serving.yield() }
      serving.finish()
      ending.yield(end)
      ending.finish()
    }
    end = Task {
      for await end in ends { return end }
      preconditionFailure("the coordinator's thread ended without a word")
    }
    for await _ in isServing { return }
    throw InProcessCluster.NotServing(end: await end.value)
  }

  func stop() async -> CoordinatorEnd {
    coordinator.stop()
    return await end.value
  }
}

/// A worker on a thread of its own.
private final class WorkerThread: Sendable {
  private let worker: Worker
  private let end: Task<WorkerExit, any Error>

  init(_ worker: Worker) throws {
    self.worker = worker
    let (ends, ending) = AsyncThrowingStream<WorkerExit, any Error>.makeStream()
    _ = try startThread(name: "worker") {
      do throws(WorkerError) {
        ending.yield(try worker.run())
        ending.finish()
      } catch {
        ending.finish(throwing: error)
      }
    }
    end = Task {
      for try await end in ends { return end }
      preconditionFailure("the worker's thread ended without a word")
    }
  }

  /// How it ended; nil if it could not run, which is recorded.
  func stop() async -> WorkerExit? {
    worker.stop()
    do {
      return try await end.value
    } catch {
      Issue.record(error)
      return nil
    }
  }
}
