// Runs commands and blocks in lanes of the worker's library, which are made on first use. The
// stepper chooses lanes; they end on any thread.

import OpClusterAttempts
import OpClusterModel
import OpClusterOperations
import Synchronization

/// The lanes of one cluster. A lane knows the types registered before it was made, so blocks that
/// call a later type may need another lane.
final class CommandLanes: Sendable {
  private struct Entry {
    var types: [OperationType]
    var servesBlocks: Bool
    var lane: CommandLane
  }
  private let entries = Mutex<[Entry]>([])

  /// Starts an attempt; its end is posted. A lane for blocks keeps the cluster alive until it is
  /// closed, since calls in the blocks may need it.
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

  /// A lane ignores attempts that it does not run.
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
