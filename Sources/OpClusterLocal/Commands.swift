// Runs commands and blocks in executors of the worker's library, which are made on first use. The
// stepper chooses executors; they end on any thread.

import OpClusterAttempts
import OpClusterModel
import OpClusterOperations
import Synchronization

/// The executors of one cluster. An executor knows the types registered before it was made, so
/// blocks that call a later type may need another executor.
final class CommandExecutors: Sendable {
  private struct Entry {
    var types: [OperationType]
    var servesBlocks: Bool
    var executor: CommandExecutor
  }
  private let entries = Mutex<[Entry]>([])

  /// Starts an attempt; its end is posted. An executor for blocks keeps the cluster alive until it
  /// is closed, since calls in the blocks may need it.
  func start(_ ready: ReadyLaunch, for cluster: LocalCluster) throws(WorkerError) {
    let template = ready.template.announcement
    let executor = try executor(isForBlocks: template.work != .command, for: cluster)
    executor.start(
      ready.attempt, template, argument: ready.argument, inputs: ready.inputs, run: ready.run,
      queue: ready.queueName)
  }

  /// Searches from the newest. An executor is made outside of the lock, since making one is slow;
  /// two threads may then make one each, and both serve.
  private func executor(
    isForBlocks: Bool, for cluster: LocalCluster
  ) throws(WorkerError) -> CommandExecutor {
    let registry = cluster.registry.withLock { $0 }
    let known = entries.withLock { entries in
      entries.last { !isForBlocks || ($0.servesBlocks && $0.types == registry.types) }?.executor
    }
    if let known { return known }
    let executor = try CommandExecutor(
      types: registry, home: isForBlocks ? .local(cluster) : .none,
      store: cluster.values.forAttempts,
      onProgress: { [weak cluster] attempt, fraction, text in
        cluster?.post(.progress(attempt, fraction: fraction, text: text))
      },
      onEnd: { [weak cluster] attempt, result in cluster?.post(.ended(attempt, result)) })
    entries.withLock {
      $0.append(Entry(types: registry.types, servesBlocks: isForBlocks, executor: executor))
    }
    return executor
  }

  private var executors: [CommandExecutor] { entries.withLock { $0.map(\.executor) } }

  /// An executor ignores attempts that it does not run.
  func stop(_ attempt: AttemptID) { for executor in executors { executor.stop(attempt) } }
  func kill(_ attempt: AttemptID) { for executor in executors { executor.kill(attempt) } }

  /// Ends each once, also when two threads end the cluster.
  func end() {
    let ended = entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
    for entry in ended { entry.executor.end() }
  }
}
