// Queues, workers and events that the tests of this target share.

import OpClusterModel

enum ClusterSample {
  static let queues = [
    QueueRow(
      queue: QueueID(1),
      settings: QueueSettings(
        name: "io", qos: .utility, maximumConcurrent: 4, isSuspended: true,
        pool: [LabelRequirement(key: "disk", values: ["ssd", "nvme"])]),
      operationCount: 12, executing: 3, dispatched: 1, barriers: 1),
    QueueRow(
      queue: QueueID.main, settings: QueueSettings(name: "default"), operationCount: 12_345,
      executing: 8, dispatched: 0, barriers: 0),
  ]

  static let workers = [
    worker(
      1, "node-1", .connected,
      Resources(
        cpus: ResourceAmount(8), memoryBytes: 32 << 30, gpus: ResourceAmount(1),
        custom: [.init(name: "licence", amount: ResourceAmount(2))]),
      executing: 3, heard: .milliseconds(400)),
    worker(
      2, "a-node-with-a-very-long-name.example.org", .suspect,
      Resources(cpus: ResourceAmount(tenThousandths: 15_000)), executing: 0, heard: .seconds(6)),
  ]

  private static func worker(
    _ number: UInt32, _ name: String, _ state: WorkerRow.State, _ capacity: Resources,
    executing: UInt32, heard: Span
  ) -> WorkerRow {
    var free = capacity
    free.take(Resources(cpus: ResourceAmount(1), memoryBytes: capacity.memoryBytes / 4))
    return WorkerRow(
      worker: WorkerID(number), name: name, state: state, capacity: capacity, free: free,
      executing: executing, held: 0, labels: [],
      types: number == 1 ? [OperationType(name: "image.denoise")] : [], lastHeard: heard)
  }

  static let kinds: [(Event.Subject, Event.Kind)] = {
    let operation = Event.Subject.operation(OperationID(graph: GraphID(12), index: 3), sequence: 7)
    let graph = Event.Subject.graph(GraphID(12))
    let other = OperationID(graph: GraphID(12), index: 1)
    let worker = Event.Subject.worker(WorkerID(4))
    return [
      (graph, .graphSubmitted(operations: 804)), (operation, .isReady(true)),
      (operation, .isExecuting(true)), (operation, .attemptStarted(1, WorkerID(4))),
      (operation, .attemptEnded(1, .timeout)), (operation, .isExecuting(false)),
      (operation, .isFinished(.timedOut)), (operation, .completion),
      (operation, .isCancelled(.request("wrong\u{1b} input"))),
      (operation, .isCancelled(.dependency(other, .failed))), (operation, .isFinished(.skipped)),
      (operation, .priority(.veryHigh)), (graph, .graphSuspended(true)),
      (graph, .graphSuspended(false)), (graph, .graphFinished(.failed)),
      (.queue(QueueID(1)), .queueCreated(queues[0].settings)),
      (.queue(QueueID(1)), .queueRemoved), (.worker(WorkerID(4)), .workerJoined(name: "w4")),
      (.worker(WorkerID(4)), .workerLost),
      (worker, .workerSetAside(StageName(graph: GraphID(12), name: "align"), reason: "no /data")),
      (worker, .workerResumed(StageName(graph: GraphID(12), name: "align"))),
      (worker, .workerSetAside(nil, reason: "no \u{1b} disk")), (worker, .workerResumed(nil)),
    ]
  }()

  static let events = kinds.enumerated().map { at, pair in
    Event(
      sequence: UInt64(at + 1), commit: CommitIndex(1), time: Sample.later(seconds: Int64(at)),
      subject: pair.0, kind: pair.1)
  }
}
