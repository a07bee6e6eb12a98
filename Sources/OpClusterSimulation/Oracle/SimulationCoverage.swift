// The coverage of the worlds of this process: pairs of the state tables, and kinds of effects. For
// `opsim coverage`. The counters of the brains are global and exist in one build only; those of
// effects are in each world.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

public enum SimulationCoverage {
  public struct Row: Sendable {
    public var state: String
    public var event: String
    public var count: Int
  }

  /// The arrows of `LifeCycle`; empty in a build that does not count.
  public static var scheduling: [Row] {
    #if MUTANTS
      StepCount.all.map { Row(state: $0.state, event: $0.event, count: $0.count) }
    #else
      []
    #endif
  }
  /// The pairs of `AttemptState.after`; empty in a build that does not count.
  public static var execution: [Row] {
    #if MUTANTS
      AttemptCount.all.map { Row(state: $0.state, event: $0.event, count: $0.count) }
    #else
      []
    #endif
  }

  /// All effects that the tested code can request, with their counts.
  public static func effects(_ counts: [String: Int]) -> [Row] {
    let known = Dictionary(grouping: effectNames) { $0.prefix { $0 != " " } }
    return known.keys.sorted().flatMap { group in
      (known[group] ?? []).map { name in
        Row(
          state: String(group), event: String(name.dropFirst(group.count + 1)),
          count: counts[name] ?? 0)
      }
    }
  }

  /// Written down rather than collected, so that an effect that never occurs has a row. A new case
  /// needs its name here.
  private static let effectNames =
    [
      "started", "submitted", "enqueued", "queueCreated", "queueChanged", "queueRemoved",
      "workerJoined", "workerLost", "workerLeft", "workerDraining", "workerSetAside",
      "workerResumed", "dispatched", "recalled", "executing", "succeeded", "finished",
      "attemptFailed", "cancelled", "dependencyAdded",
      "dependencyRemoved", "prioritySet", "held", "released", "moved", "blocksAdded",
      "graphSuspended", "recomputed",
    ].map { "record \($0)" }
    + ["welcome", "refused", "heartbeat", "orders"].map { "toWorker \($0)" }
    + ["dispatches", "recalls", "cancels", "stale", "forgottenGraphs", "drain"].map {
      "orders \($0)"
    }
    + ["accepted", "cancelled", "suspended", "changed", "done", "refused", "effect"].map {
      "toClient \($0)"
    }
    + [
      "renewConversation", "learn", "forget", "launch", "stop", "kill", "forgetGraph", "fetch",
      "dropFetch", "deliver", "grant", "keep", "letGo",
    ].map {
      "worker \($0)"
    }
    + ["started", "finished", "recalled", "alreadyStarted", "cancelTaken"].map { "report \($0)" }
}

extension World {
  /// Orders are counted by what they hold: one message may hold all kinds.
  func count(_ effect: Effect) {
    guard effectCounts != nil else { return }
    switch effect {
    case .close: break
    case .toClient(_, _, let reply): count("toClient", reply)
    case .toWorker(_, .orders(let orders)):
      count(orders.isHeartbeat ? "toWorker heartbeat" : "toWorker orders")
      if !orders.dispatches.isEmpty { count("orders dispatches") }
      if !orders.recalls.isEmpty { count("orders recalls") }
      if !orders.cancels.isEmpty { count("orders cancels") }
      if !orders.stale.isEmpty { count("orders stale") }
      if !orders.forgottenGraphs.isEmpty { count("orders forgottenGraphs") }
      if orders.drain { count("orders drain") }
    case .toWorker(_, let message): count("toWorker", message)
    }
  }

  func count(_ message: WorkerMessage) {
    guard effectCounts != nil, case .report(let report) = message else { return }
    for entry in report.entries { count("report", entry) }
  }

  /// Counts a value under the name of its case.
  func count(_ group: String, _ value: some Any) {
    guard effectCounts != nil else { return }
    count("\(group) \("\(value)".prefix { $0 != "(" })")
  }

  private func count(_ name: String) { effectCounts?[name, default: 0] += 1 }
}
