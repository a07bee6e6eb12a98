// A task that runs on the thread that waits for it: what is asynchronous, started by somebody who
// is not. On that thread; jobs come from any.

import Synchronization

/// Runs a task on the calling thread and returns when it has ended. The task leaves the thread only
/// where it asks for another executor, such as an actor's.
///
/// - Throws: `EMFILE` when the process has no descriptor left.
public func runOnThisThread<Value: Sendable>(
  priority: TaskPriority? = nil, began: (Task<Void, Never>) -> Void = { _ in },
  _ body: @escaping @Sendable () async -> Value
) throws(SystemError) -> Value {
  let executor = WaitingThread(try Mailbox(capacity: .max))
  var poller = Poller()
  _ = poller.add(descriptor: executor.jobs.descriptor)
  let place = ResultPlace<Value>()
  let task = Task(executorPreference: executor, priority: priority) { place.put(await body()) }
  began(task)
  var batch: [UnownedJob] = []
  while true {
    executor.jobs.takeAll(into: &batch)
    for job in batch { executor.run(job) }
    if let value = place.value { return value }
    if batch.isEmpty { _ = try poller.wait(until: nil) }
  }
}

/// Gives jobs to the thread that waits for them.
private final class WaitingThread: TaskExecutor {
  let jobs: Mailbox<UnownedJob>

  init(_ jobs: Mailbox<UnownedJob>) { self.jobs = jobs }

  func enqueue(_ job: consuming ExecutorJob) { _ = jobs.post(UnownedJob(job)) }

  /// On the waiting thread.
  func run(_ job: UnownedJob) {
    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
  }
}

private final class ResultPlace<Value: Sendable>: Sendable {
  private let place = Mutex<Value?>(nil)
  func put(_ value: Value) { place.withLock { $0 = value } }
  var value: Value? { place.withLock { $0 } }
}
