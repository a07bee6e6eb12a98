// Commands and blocks: run by lanes of the worker's library, which are made when they are first
// needed. Lanes are chosen by the stepper and ended on any thread.

import OpClusterModel
import OpClusterOperations
import OpClusterWorker
import Synchronization

/// The lanes of one cluster. A lane knows the types that were registered when it was made, so that
/// a type that was registered later may make another one for blocks that call it.
final class CommandLanes: Sendable {
  private struct Entry {
    var types: [OperationType]
    var servesBlocks: Bool
    var lane: CommandLane
  }
  private let entries = Mutex<[Entry]>([])

  /// Starts an attempt; its end is posted. A lane for blocks keeps the cluster until it is closed:
  /// calls among them may ask for it.
  func start(_ ready: ReadyLaunch, for cluster: LocalCluster) throws(WorkerError) {
    let template = ready.template.announcement
    let lane = try lane(isForBlocks: template.work != .command, for: cluster)
    lane.start(
      ready.attempt, template, argument: ready.argument, inputs: ready.inputs, run: ready.run,
      queue: ready.queueName)
  }

  private func lane(
    isForBlocks: Bool, for cluster: LocalCluster
  ) throws(WorkerError) -> CommandLane {
    let registry = cluster.registry.withLock { $0 }
    let known = entries.withLock { entries in
      entries.last { !isForBlocks || ($0.servesBlocks && $0.types == registry.types) }?.lane
    }
    if let known { return known }
    let lane = try CommandLane(
      types: registry, home: isForBlocks ? .local(cluster) : .none,
      onProgress: { [weak cluster] attempt, fraction, text in
        cluster?.post(.progress(attempt, fraction: fraction, text: text))
      },
      onEnd: { [weak cluster] attempt, result in cluster?.post(.ended(attempt, result)) })
    entries.withLock {
      $0.append(Entry(types: registry.types, servesBlocks: isForBlocks, lane: lane))
    }
    return lane
  }

  private var lanes: [CommandLane] { entries.withLock { $0.map(\.lane) } }

  /// What a lane does not run it leaves alone.
  func stop(_ attempt: AttemptID) { for lane in lanes { lane.stop(attempt) } }
  func kill(_ attempt: AttemptID) { for lane in lanes { lane.kill(attempt) } }

  func end() {
    let ended = entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
    for entry in ended { entry.lane.end() }
  }
}
