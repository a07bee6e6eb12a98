// What kinds of things a message says, by the names of the protocol's own cases: one for a request
// or an answer, several for a report or for orders. Pure.

import OpClusterModel
import OpClusterWire

enum MessageKinds {
  /// Nothing for what is no message.
  static func of(_ bytes: [UInt8], _ hop: TapHop) -> [String] {
    switch hop {
    case .clientToCoordinator:
      switch try? Wire.decodeClientMessage(bytes) {
      case .hello?: ["client: hello"]
      case .request(_, let request)?: ["client: " + name(of: request)]
      case nil: []
      }
    case .coordinatorToClient:
      switch try? Wire.decodeClientAnswer(bytes) {
      case .reply(_, let reply)?: ["answer: " + name(of: reply)]
      case let other?: ["answer: " + name(of: other)]
      case nil: []
      }
    case .workerToCoordinator:
      switch try? Wire.decodeWorkerMessage(bytes) {
      case .report(let report)?: kinds(of: report)
      case let other?: ["worker: " + name(of: other)]
      case nil: []
      }
    case .coordinatorToWorker:
      switch try? Wire.decodeCoordinatorMessage(bytes) {
      case .orders(let orders)?: kinds(of: orders)
      case let other?: ["order: " + name(of: other)]
      case nil: []
      }
    }
  }

  /// The name of an enumeration's case.
  static func name(of value: Any) -> String {
    Mirror(reflecting: value).children.first?.label ?? "\(value)"
  }

  private static func kinds(of report: WorkerReport) -> [String] {
    var all = Set(report.entries.map { "worker: " + name(of: $0) })
    if report.isLeaving { all.insert("worker: leaving") }
    if all.isEmpty { all.insert("worker: heartbeat") }
    return all.sorted()
  }

  private static func kinds(of orders: WorkerOrders) -> [String] {
    var all: [String] = []
    if orders.isHeartbeat { all.append("order: heartbeat") }
    if !orders.templates.isEmpty { all.append("order: templates") }
    if !orders.dispatches.isEmpty { all.append("order: dispatches") }
    if !orders.recalls.isEmpty { all.append("order: recalls") }
    if !orders.cancels.isEmpty { all.append("order: cancels") }
    if !orders.stale.isEmpty { all.append("order: stale") }
    if !orders.forgottenGraphs.isEmpty { all.append("order: forgottenGraphs") }
    if orders.drain { all.append("order: drain") }
    return all
  }

  /// What the row makes peers say; of the coordinator's own words it takes what comes.
  static let wanted: Set<String> = Set(
    [
      "hello", "submit", "enqueue", "cancel", "cancelQueue", "suspendGraphs", "createQueue",
      "changeQueue", "removeQueue", "addDependency", "removeDependency", "setPriority", "hold",
      "setQueue", "addBlocks", "beginWait", "endWait", "drainWorker", "graphs", "operations",
      "structure", "explain", "submission", "queues", "workers", "configuration", "ping", "enrol",
      "log", "subscribe", "grantCredit", "unsubscribe",
    ].map { "client: \($0)" }
      + [
        "hello", "started", "finished", "recalled", "cancelTaken", "progress", "heartbeat",
        "leaving", "logChunk", "goodbye",
      ].map { "worker: \($0)" }
      + ["welcome", "templates", "dispatches", "recalls", "cancels", "drain", "logRequest"]
      .map { "order: \($0)" }
      + ["welcome", "accepted", "done", "cancelled", "events", "refused"].map { "answer: \($0)" })
}
