// The coordinator's figures as Prometheus reads them. On the loop's thread, when somebody asks.

import OpClusterMetrics
import OpClusterModel
import OpClusterPresentation
import OpClusterScheduling
import OpClusterZeroMQ

extension CoordinatorLoop {
  /// Costs the workers and the first `CoordinatorLimits.queuesInMetrics` queues.
  func metricFamilies() -> [MetricFamily] {
    var families = [
      MetricFamily(
        "opcluster_build_info", .gauge, "The version of this coordinator.",
        [.init(.number(1), [(name: "version", value: Build.version)])]),
      MetricFamily(
        "opcluster_epoch", .gauge, "Starts of the coordinator on this journal.",
        scheduler.epoch.number),
    ]
    let rows = scheduler.workers(at: now)
    families += operationFamilies(rows)
    families += queueFamilies()
    families += workerFamilies(rows)
    families += loopFamilies()
    families += connectionFamilies()
    return families + .ofThisProcess()
  }

  private var figures: CoordinatorFigures { operatorLog.figures }

  // MARK: - Work

  private func operationFamilies(_ rows: [WorkerRow]) -> [MetricFamily] {
    let executing = rows.reduce(UInt64(0)) { $0 + UInt64($1.executing) }
    let dispatched = rows.reduce(UInt64(0)) { $0 + UInt64($1.held) }
    let waiting = figures.unfinished - min(figures.unfinished, executing + dispatched)
    return [
      MetricFamily(
        "opcluster_operations", .gauge,
        "Operations that have not ended: not given to a worker, given to one, executing.",
        by: "state",
        [
          ("waiting", Double(waiting)), ("dispatched", Double(dispatched)),
          ("executing", Double(executing)),
        ]),
      MetricFamily(
        "opcluster_operations_submitted", .counter, "Operations of accepted graphs.",
        figures.submitted),
      MetricFamily(
        "opcluster_operations_finished", .counter, "Operations that have ended, by outcome.",
        by: "outcome",
        Outcome.allCases.map {
          ($0 == .timedOut ? "timed_out" : "\($0)", Double(figures.finished[$0] ?? 0))
        }),
      MetricFamily(
        "opcluster_attempts_started", .counter, "Attempts that have begun at workers.",
        figures.started),
      MetricFamily(
        "opcluster_attempts_repeated", .counter,
        "Attempts that ended and whose operation is tried again, by cause.", by: "cause",
        FailureCause.allCases.filter { $0 != .none }
          .map { ($0.word, Double(figures.retried[$0] ?? 0)) }),
      MetricFamily(
        "opcluster_operation_wait_seconds", .histogram,
        "From the moment at which an operation may start to its start.",
        [.init(.histogram(figures.waited))]),
      MetricFamily(
        "opcluster_operation_run_seconds", .histogram, "From the start of an attempt to its end.",
        [.init(.histogram(figures.ran))]),
      MetricFamily(
        "opcluster_graphs", .gauge, "Graphs that have not ended.", scheduler.livingGraphCount),
      MetricFamily(
        "opcluster_graphs_submitted", .counter, "Accepted graphs.", figures.submittedGraphs),
      MetricFamily(
        "opcluster_graphs_finished", .counter, "Graphs that have ended, by outcome.",
        by: "outcome",
        GraphOutcome.allCases.map { ($0.word, Double(figures.finishedGraphs[$0] ?? 0)) }),
    ]
  }

  private func queueFamilies() -> [MetricFamily] {
    let rows = scheduler.sharedQueues(
      atMost: CoordinatorLimits.queuesInMetrics,
      among: CoordinatorLimits.queuesLookedAtForMetrics)
    func samples(_ number: (QueueRow) -> [(String, UInt32)]) -> [MetricFamily.Sample] {
      rows.flatMap { row in
        number(row).map { state, count in
          .init(
            .number(Double(count)),
            [(name: "queue", value: row.settings.name), (name: "state", value: state)])
        }
      }
    }
    let limits = rows.compactMap { row in
      row.settings.maximumConcurrent.map { (row.settings.name, Double($0)) }
    }
    return [
      MetricFamily(
        "opcluster_queue_operations", .gauge,
        "Operations in shared queues: not given to a worker, given to one, executing.",
        samples { row in
          let given = row.dispatched + row.executing
          return [
            ("waiting", row.operationCount - min(row.operationCount, given)),
            ("dispatched", row.dispatched), ("executing", row.executing),
          ]
        }),
      MetricFamily(
        "opcluster_queue_limit", .gauge, "Operations that a shared queue lets run at once.",
        by: "queue", limits),
      MetricFamily(
        "opcluster_queue_suspended", .gauge, "1: nothing of the queue starts.", by: "queue",
        rows.map { ($0.settings.name, $0.settings.isSuspended ? 1 : 0) }),
    ]
  }

  private func workerFamilies(_ rows: [WorkerRow]) -> [MetricFamily] {
    var states: [WorkerRow.State: Double] = [:]
    for row in rows { states[row.state, default: 0] += 1 }
    let capacity = rows.reduce(0) { $0 + Double($1.capacity.cpus.tenThousandths) / 10_000 }
    let free = rows.reduce(0) { $0 + Double($1.free.cpus.tenThousandths) / 10_000 }
    let memory = rows.reduce(0) { $0 + Double($1.capacity.memoryBytes) }
    let freeMemory = rows.reduce(0) { $0 + Double($1.free.memoryBytes) }
    return [
      MetricFamily(
        "opcluster_workers", .gauge, "Workers by state.", by: "state",
        [WorkerRow.State.connected, .suspect, .away, .draining].map {
          ("\($0)", states[$0] ?? 0)
        }),
      MetricFamily(
        "opcluster_workers_set_aside", .gauge,
        "Workers that get nothing for a while, since they could not start what others could.",
        rows.count { $0.isSetAside }),
      MetricFamily(
        "opcluster_workers_lost", .counter, "Workers whose lease has ended.",
        figures.lostWorkers),
      MetricFamily(
        "opcluster_worker_cpus", .gauge, "Processors that workers offer, and those that are free.",
        by: "kind", [("offered", capacity), ("free", free)]),
      MetricFamily(
        "opcluster_worker_memory_bytes", .gauge,
        "Memory that workers offer, and what is free.", by: "kind",
        [("offered", memory), ("free", freeMemory)]),
    ]
  }

  // MARK: - The process

  private func loopFamilies() -> [MetricFamily] {
    [
      MetricFamily(
        "opcluster_turn_seconds", .histogram, "Turns of the loop that decided something.",
        [.init(.histogram(figures.turns))]),
      MetricFamily(
        "opcluster_turn_phase_seconds", .counter,
        "Time of the loop by phase: messages taken in, decisions, journal and messages made.",
        by: "phase",
        CoordinatorFigures.Phase.allCases.map {
          ($0.rawValue, (figures.phases[$0] ?? .zero).seconds)
        }),
      MetricFamily(
        "opcluster_journal_commits", .counter, "Turns that were journaled.", figures.commits),
      MetricFamily(
        "opcluster_journal_bytes", .counter, "Bytes given to the journal.", figures.journalBytes),
      MetricFamily(
        "opcluster_journal_commit_seconds", .histogram,
        "From a decision to the moment at which it is on disk and may be told.",
        [.init(.histogram(figures.commitTimes))]),
      MetricFamily(
        "opcluster_journal_stalled", .gauge,
        "1: the coordinator takes nothing in, since too much waits for its disk.",
        isStalled ? 1 : 0),
      MetricFamily(
        "opcluster_snapshot_running", .gauge, "1: a snapshot of the state is being written.",
        commits.snapshots.isRunning ? 1 : 0),
    ]
  }

  private func connectionFamilies() -> [MetricFamily] {
    let ports = [
      ("worker", workers.traffic, workers.census), ("client", clients.traffic, clients.census),
    ]
    func byPeer(
      _ name: String, _ help: String, _ received: (PortTraffic) -> UInt64,
      _ sent: (PortTraffic) -> UInt64
    ) -> MetricFamily {
      MetricFamily(
        name, .counter, help,
        ports.flatMap { peer, traffic, _ in
          [("received", received(traffic)), ("sent", sent(traffic))].map { direction, count in
            .init(
              .number(Double(count)),
              [(name: "peer", value: peer), (name: "direction", value: direction)])
          }
        })
    }
    return [
      byPeer(
        "opcluster_messages", "Messages by kind of peer.", \.receivedMessages, \.sentMessages),
      byPeer(
        "opcluster_message_bytes", "Bytes of messages by kind of peer.", \.receivedBytes,
        \.sentBytes),
      MetricFamily(
        "opcluster_connections", .gauge, "Open connections by kind of peer.", by: "peer",
        ports.map { ($0.0, Double($0.2.open)) }),
      MetricFamily(
        "opcluster_connections_cut", .counter,
        "Connections that were cut: too many of them, or silent for too long.", by: "peer",
        ports.map { ($0.0, Double($0.2.refused &+ $0.2.silent)) }),
      MetricFamily(
        "opcluster_messages_prepared", .counter,
        "Messages of clients that a thread beside the loop has prepared, since they are large.",
        admission.queue.prepared),
      MetricFamily(
        "opcluster_messages_malformed", .counter, "Messages that could not be read.",
        operatorLog.malformed),
      MetricFamily(
        "opcluster_reports_refused", .counter,
        "Reports of workers about attempts that were never given to them, or that come too late.",
        by: "reason",
        [("unknown", Double(operatorLog.lies)), ("late", Double(scheduler.lateReports))]),
      MetricFamily(
        "opcluster_subscriptions", .gauge, "Subscriptions to events.", subscriptions.number),
      MetricFamily(
        "opcluster_subscriptions_behind", .gauge,
        "Subscriptions whose readers do not keep up, and are served from the journal.",
        subscriptions.numberBehind),
    ]
  }
}
