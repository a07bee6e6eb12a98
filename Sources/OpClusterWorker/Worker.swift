// The worker for programs: made from a configuration and a registry, run on the thread that calls
// `run`, stopped from any other.

public import OpClusterAttempts
import OpClusterDaemon
public import OpClusterModel
public import OpClusterOperations
import OpClusterProcesses
public import OpClusterSystem

/// A worker. `Worker(configuration, types: registry).run()` on the main thread is a whole program.
public struct Worker: Sendable {
  public let configuration: WorkerConfiguration
  public let registry: OperationRegistry
  private let orders: Mailbox<WorkerOrder>

  /// - Throws: `SystemError` if the machine has no descriptor left.
  public init(
    _ configuration: WorkerConfiguration, types registry: OperationRegistry = OperationRegistry()
  ) throws(SystemError) {
    self.configuration = configuration
    self.registry = registry
    orders = try Mailbox(capacity: 16)
  }

  /// Serves until it is told to stop; owns the calling thread meanwhile. Children are killed when
  /// that thread ends, so the thread must live as long as the worker.
  ///
  /// - Throws: `WorkerError` if the worker cannot start or continue.
  public func run() throws(WorkerError) -> WorkerExit {
    try configuration.check()
    let isolated = registry.types.first { registry.isolation(of: $0) == .child }
    if configuration.childCommand == nil, let isolated {
      throw WorkerError(
        .configuration,
        "'\(isolated.name)' wants a child process, which this program does not start; make it a "
          + "WorkerProgram, or set childCommand and call ChildProgram.serveIfAsked first")
    }
    // The built-in types only wait.
    let builtIn = OperationRegistry().types
    let shared = registry.types.first {
      !builtIn.contains($0) && registry.isolation(of: $0) != .child
    }
    if configuration.runAs.isForeign, let shared {
      throw WorkerError(
        .configuration,
        "'\(shared.name)' would run in the worker itself, and so as root, whatever --run-as says; "
          + "give the type the isolation .child")
    }
    return try firstFree().run()
  }

  /// Returns a loop with the first name that no other worker of this user has here.
  private func firstFree() throws(WorkerError) -> WorkerLoop {
    var own = configuration
    var number = 1
    while true {
      do throws(WorkerError) {
        return try WorkerLoop(own, registry, orders)
      } catch {
        guard error.kind == .inUse, !own.isNameGiven, number < Limits.workersPerMachine else {
          throw error
        }
      }
      number += 1
      own.name = "\(configuration.name)-\(number)"
      own.scratch = WorkerConfiguration.defaultScratch(worker: own.name, runAs: own.runAs)
    }
  }

  /// Asks everything to stop, reports the ends, says goodbye. From any thread.
  public func stop() { _ = orders.post(.stop(now: false)) }

  /// Kills everything, then leaves. From any thread.
  public func stopNow() { _ = orders.post(.stop(now: true)) }
}

extension WorkerConfiguration {
  /// Checks the settings before anything is opened.
  func check() throws(WorkerError) {
    // Check the name before a folder is named after it.
    guard ProcessFence(worker: name) != nil else {
      throw WorkerError(
        .configuration, "the name '\(name)' is not 1 to 128 of A-Z a-z 0-9 . _ : -")
    }
    if capacity.custom.count > Limits.customResources {
      throw WorkerError(
        .configuration, "more than \(Limits.customResources) resources; name fewer")
    }
    try checkGPUs()
    if labels.count + MachineResources.labels.count > Limits.labelsPerThing {
      throw WorkerError(.configuration, "more than \(Limits.labelsPerThing) labels; give fewer")
    }
    for label in labels where !label.isFitting {
      throw WorkerError(
        .configuration,
        "label '\(label.key)=\(label.value)' is empty or longer than \(Limits.labelBytes) bytes")
    }
  }

  private func checkGPUs() throws(WorkerError) {
    let count = capacity.gpus.tenThousandths
    guard (0...Int64(Limits.gpusPerWorker) * 10_000).contains(count) else {
      throw WorkerError(
        .configuration, "more than \(Limits.gpusPerWorker) gpus; give a worker fewer")
    }
    guard let gpuNames else { return }
    guard GPUSetting.areNames(gpuNames), Int64(gpuNames.count) * 10_000 == count else {
      throw WorkerError(
        .configuration,
        "the gpus \(gpuNames.joined(separator: ",")) are not as many different ones as the "
          + "capacity counts (\(CommandRunner.text(capacity.gpus))); name each by its index")
    }
  }

  /// Prints the one line that announces a ready worker.
  func announce() {
    StandardStream.output.write("opworker \(name) serving \(coordinator) \(capacity.summary)")
  }
}

extension Label {
  fileprivate var isFitting: Bool {
    !key.isEmpty && key.utf8.count <= Limits.labelBytes && value.utf8.count <= Limits.labelBytes
  }
}

extension Resources {
  /// `cpus=2 memory=7516192768 gpus=0 licences=3`
  public var summary: String {
    var parts = ["cpus=\(CommandRunner.text(cpus))", "memory=\(memoryBytes)"]
    parts.append("gpus=\(CommandRunner.text(gpus))")
    for named in custom { parts.append("\(named.name)=\(CommandRunner.text(named.amount))") }
    return parts.joined(separator: " ")
  }
}
