// What a worker counts for monitoring since its start, and its figures as Prometheus reads them. On
// the loop's thread.

import OpClusterExecution
import OpClusterMetrics
import OpClusterModel
import OpClusterPresentation

struct WorkerFigures {
  private(set) var started: UInt64 = 0
  private(set) var ended: [FailureCause: UInt64] = [:]
  private(set) var stopped: UInt64 = 0
  private(set) var ran = Histogram(bounds: Histogram.operationSeconds)
  private(set) var receivedContents: UInt64 = 0
  private(set) var receivedBytes: UInt64 = 0
  private(set) var missedContents: UInt64 = 0

  mutating func noteLaunch() { started &+= 1 }

  mutating func noteEnd(_ result: AttemptResult) {
    if result.wasStopped { stopped &+= 1 } else { ended[result.cause, default: 0] &+= 1 }
    guard result.startedAt != .unknown, result.endedAt != .unknown else { return }
    ran.observe(max(0, (result.endedAt - result.startedAt).seconds))
  }

  mutating func noteReceived(_ content: StoredContent) {
    receivedContents &+= 1
    receivedBytes &+= UInt64(clamping: content.size)
  }

  mutating func noteMissed() { missedContents &+= 1 }
}

/// What a worker is and has at present.
struct WorkerPresent {
  var configuration: WorkerConfiguration
  var counts: ExecutionCounts
  var isConnected: Bool
  /// nil: there is no store.
  var store: (bytes: Int64, kept: Int64, promised: Int64, limit: Int64)?
  var folder: String
}

extension WorkerFigures {
  /// Costs nothing that grows with the work.
  func families(_ present: WorkerPresent) -> [MetricFamily] {
    let (counts, configuration) = (present.counts, present.configuration)
    var families = [
      MetricFamily(
        "opcluster_worker_info", .gauge, "The name and the version of this worker.",
        [
          .init(
            .number(1),
            [(name: "worker", value: configuration.name), (name: "version", value: Build.version)])
        ]),
      MetricFamily(
        "opcluster_worker_connected", .gauge, "1: it is in conversation with a coordinator.",
        present.isConnected ? 1 : 0),
      MetricFamily(
        "opcluster_worker_attempts", .gauge, "Attempts that it has: those that run, and the rest.",
        by: "state",
        [
          ("running", Double(counts.running)),
          ("assigned", Double(counts.assigned)),
        ]),
      MetricFamily(
        "opcluster_worker_attempts_started", .counter, "Attempts that it has launched.",
        started),
      MetricFamily(
        "opcluster_worker_attempts_ended", .counter,
        "Attempts that ended here: succeeded, stopped, or the cause of the failure.", by: "end",
        [
          ("succeeded", Double(ended[.none] ?? 0)),
          ("stopped", Double(stopped)),
        ]
          + FailureCause.allCases.filter { $0 != .none }.map {
            ($0.word, Double(ended[$0] ?? 0))
          }),
      MetricFamily(
        "opcluster_worker_attempt_run_seconds", .histogram,
        "From the start of an attempt to its end.", [.init(.histogram(ran))]),
      MetricFamily(
        "opcluster_worker_reports_unacknowledged", .gauge,
        "News that the coordinator has not confirmed.", counts.unacknowledged),
      MetricFamily(
        "opcluster_worker_cpus_offered", .gauge, "Processors that it offers.",
        Double(configuration.capacity.cpus.tenThousandths) / 10_000),
      MetricFamily(
        "opcluster_worker_memory_offered_bytes", .gauge, "Memory that it offers.",
        configuration.capacity.memoryBytes),
    ]
    if let store = present.store { families += storeFamilies(store) }
    families += .ofDisk(at: present.folder, "opcluster_worker_disk_bytes")
    return families + .ofThisProcess()
  }

  private func storeFamilies(
    _ usage: (bytes: Int64, kept: Int64, promised: Int64, limit: Int64)
  ) -> [MetricFamily] {
    [
      MetricFamily(
        "opcluster_worker_store_bytes", .gauge,
        "The store: its limit, what it has, and of that what must stay; what is promised.",
        by: "kind",
        [
          ("limit", Double(usage.limit)), ("used", Double(usage.bytes)),
          ("kept", Double(usage.kept)), ("promised", Double(usage.promised)),
        ]),
      MetricFamily(
        "opcluster_worker_contents_received", .counter,
        "Contents that came from other machines.", receivedContents),
      MetricFamily(
        "opcluster_worker_contents_received_bytes", .counter, "Their bytes.",
        receivedBytes),
      MetricFamily(
        "opcluster_worker_contents_missed", .counter, "Contents that did not come.",
        missedContents),
    ]
  }
}
