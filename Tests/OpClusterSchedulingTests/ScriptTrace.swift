// Turns in words: facts, replies, orders and events as a person reads them.

import OpClusterModel

@testable import OpClusterScheduling

struct ScriptTrace {
  var names: ScriptNames
  /// What each request was, by number.
  var requests: [UInt64: String]
  /// Workers by the peer they speak through.
  var peers: [PeerID: String]

  static let margin = 10
  static let width = 100

  /// One turn; nothing for a turn that left no trace.
  func lines(of turn: SchedulingTurn) -> [String] {
    var lines = entry("journal", turn.records.map { fact($0) }, separator: "; ")
    for effect in turn.atOnce + turn.afterDurable {
      switch effect {
      case .toClient(_, let request, let reply):
        let what = requests[request.number] ?? "?"
        lines += entry("client", clientLines(what, reply), separator: nil)
      case .toWorker(let peer, let message):
        let said = words(message)
        if !said.isEmpty { lines += entry(peers[peer] ?? "?", said, separator: "; ") }
      case .close(let peer):
        lines += entry(peers[peer] ?? "?", ["close"], separator: "")
      }
    }
    return lines + entry("events", eventLines(turn.events), separator: nil)
  }

  /// A name in the margin, then parts, wrapped; with no separator each part has a line.
  private func entry(_ name: String, _ parts: [String], separator: String?) -> [String] {
    var lines: [String] = []
    var line = ""
    for (at, part) in parts.enumerated() {
      let text = at + 1 < parts.count ? part + (separator ?? "") : part
      if !line.isEmpty, separator == nil || Self.margin + line.count + text.count > Self.width {
        lines.append(line)
        line = ""
      }
      line += text
    }
    if !line.isEmpty { lines.append(line) }
    return lines.enumerated().map { at, line in
      let head = at == 0 ? name : ""
      let space = String(repeating: " ", count: max(1, Self.margin - head.count))
      return head + space + (line.hasSuffix(" ") ? String(line.dropLast()) : line)
    }
  }

  // MARK: - Facts

  private func fact(_ record: Record) -> String {
    switch record {
    case .started(let life): "started epoch=\(life.epoch.number)"
    case .submitted(let graph, let submission, _, _):
      "submitted graph=\(graph.number) operations=\(submission.operationCount)"
    case .enqueued(let ids, let queue): "enqueued \(names.names(ids)) in \(names.name(queue))"
    case .queueCreated(_, let settings): "created queue \(words(settings))"
    case .queueChanged(_, let settings): "changed queue \(words(settings))"
    case .queueRemoved(let queue): "removed queue \(names.name(queue))"
    case .workerJoined(_, let name, _): "joined \(name)"
    case .workerLost(let worker): "lost \(names.name(worker))"
    case .workerLeft(let worker): "left \(names.name(worker))"
    case .workerDraining(let worker): "draining \(names.name(worker))"
    case .workerSetAside(let worker, let stage, _):
      "set aside \(names.name(worker)) \(stage?.text ?? "whole")"
    case .workerResumed(let worker, let stage):
      "resumed \(names.name(worker)) \(stage?.text ?? "whole")"
    case .dispatched(let worker, let runs):
      "dispatched \(names.names(runs)) to \(names.name(worker))"
    case .recalled(let runs): "recalled \(names.names(runs))"
    case .executing(let runs): "executing \(names.names(runs))"
    case .succeeded(let runs): "succeeded \(names.names(runs))"
    case .finished(let id, let result): "ended \(names.name(id)) \(words(result))"
    case .attemptFailed(let id, let result, _):
      "attempt of \(names.name(id)) ended \(words(result))"
    case .cancelled(let runs, let reason):
      "cancelled \(runs.map(names.names).joined(separator: " ")) \(words(reason))"
    case .dependencyAdded(let from, let to, let policy):
      "added \(names.name(to))(\(names.name(from)):\(policy))"
    case .dependencyRemoved(let from, let to):
      "removed \(names.name(to))(\(names.name(from)))"
    case .prioritySet(let runs, let priority):
      "priority of \(names.names(runs)) \(priority.word)"
    case .held(let runs): "held \(names.names(runs))"
    case .released(let runs): "released \(names.names(runs))"
    case .moved(let runs, let queue):
      "moved \(names.names(runs)) to \(names.name(queue))"
    case .blocksAdded(let id, let bytes):
      "blocks of \(names.name(id)) +\(String(decoding: bytes, as: UTF8.self))"
    case .graphSuspended(let graph, let value):
      "\(value ? "suspended" : "resumed") graph \(graph.number)"
    case .madeReusable(let id, _): "reusable \(names.names([id]))"
    case .recomputed(let id, _): "recomputed \(names.names([id]))"
    case .restoredGraph, .restoredEnding, .restoredCounters, .restoredKeys, .restoredReusable:
      "restored"
    case .keysDated: "keys count from now"
    case .endStepsLimited(let steps): "a turn follows \(steps) steps of ends"
    case .endsContinued: "ends continue"
    case .graphsRemoved(let graphs):
      "removed \(graphs.map { "\($0.number)" }.joined(separator: ","))"
    }
  }

  private func words(_ result: AttemptResult) -> String {
    let output = result.output.isEmpty ? "" : "=\(String(decoding: result.output, as: UTF8.self))"
    if result.isSuccess { return "success\(output)" }
    return result.cause == .none ? "stopped" : "\(result.cause)"
  }

  private func words(_ reason: CancelReason) -> String {
    switch reason {
    case .request(let text): text.isEmpty ? "by request" : "by request: \(text)"
    case .dependency(let id, let outcome): "because \(names.name(id)) \(outcome)"
    case .failurePolicy: "by failure policy"
    }
  }

  private func words(_ settings: QueueSettings) -> String {
    let limit = settings.maximumConcurrent.map { " limit=\($0)" } ?? ""
    let qos = settings.qos == .default ? "" : " qos=\(settings.qos)"
    let pool = settings.pool.map { " pool=\($0.key):\($0.values.joined(separator: ","))" }.joined()
    return "\(settings.name)\(limit)\(qos)\(pool)\(settings.isSuspended ? " suspended" : "")"
  }

  // MARK: - Orders

  private func words(_ message: CoordinatorMessage) -> [String] {
    switch message {
    case .welcome(let welcome):
      let stale = welcome.stale.map { names.name($0) }.joined(separator: " ")
      return [stale.isEmpty ? "welcome" : "welcome stale \(stale)"]
    case .refused(let refusal): return ["refused \(refusal.code.text): \(refusal.message)"]
    case .logRequest: return ["log request"]
    case .orders(let orders):
      if orders.number == 0 { return [] }
      return words(orders)
    }
  }

  private func words(_ orders: WorkerOrders) -> [String] {
    var said: [String] = []
    if !orders.dispatches.isEmpty {
      said.append("dispatch " + orders.dispatches.map { words($0) }.joined(separator: " "))
    }
    func list(_ verb: String, _ attempts: [AttemptID]) {
      if attempts.isEmpty { return }
      said.append("\(verb) " + attempts.map { names.name($0) }.joined(separator: " "))
    }
    list("recall", orders.recalls)
    list("cancel", orders.cancels.map(\.attempt))
    list("stale", orders.stale)
    for graph in orders.forgottenGraphs { said.append("forget graph \(graph.number)") }
    if orders.drain { said.append("drain") }
    if orders.acknowledged > 0 { said.append("acknowledge \(orders.acknowledged)") }
    return said
  }

  private func words(_ dispatch: Dispatch) -> String {
    var text = names.name(dispatch.attempt)
    if dispatch.run != dispatch.attempt.attempt { text += "(run \(dispatch.run))" }
    if !dispatch.awaits.isEmpty {
      let awaits = dispatch.awaits.map { "\(names.name($0.operation)):\($0.policy)" }
      text += "(after \(awaits.joined(separator: ",")))"
    }
    if !dispatch.argument.isEmpty {
      text += "(with \(String(decoding: dispatch.argument, as: UTF8.self)))"
    }
    if !dispatch.inputs.isEmpty {
      let inputs = dispatch.inputs.map { input in
        let value = input.output.map { "=\(String(decoding: $0, as: UTF8.self))" } ?? ""
        return "\(names.name(input.operation)) \(input.outcome)\(value)"
      }
      text += "(given \(inputs.joined(separator: ", ")))"
    }
    return text
  }

  // MARK: - Events

  private func eventLines(_ runs: [EventRun]) -> [String] {
    var lines: [String] = []
    var last = ""
    for run in runs {
      let subject = subject(of: run)
      if subject == last {
        lines[lines.count - 1] += ", \(words(run.first.kind))"
      } else {
        lines.append("\(subject): \(words(run.first.kind))")
      }
      last = subject
    }
    return lines
  }

  private func subject(of run: EventRun) -> String {
    switch run.first.subject {
    case .operation(let id, _):
      names.names(
        (0..<run.count).map { OperationID(graph: id.graph, index: id.index + $0) })
    case .graph(let graph): "graph \(graph.number)"
    case .queue(let queue): "queue \(names.name(queue))"
    case .worker(let worker): names.name(worker)
    }
  }

  private func words(_ kind: Event.Kind) -> String {
    switch kind {
    case .isReady(let value): value ? "ready" : "not ready"
    case .isExecuting(let value): value ? "executing" : "not executing"
    case .isFinished(let outcome): "finished \(outcome)"
    case .isCancelled(let reason): "cancelled \(words(reason))"
    case .attemptStarted(let number, let worker): "attempt \(number) at \(names.name(worker))"
    case .attemptEnded(let number, let cause): "attempt \(number) ended \(cause)"
    case .completion: "completion"
    case .priority(let priority): "priority \(priority.word)"
    case .isHeld(let value): value ? "held" : "released"
    case .dependencyAdded(let id, let policy): "waits for \(names.name(id)):\(policy)"
    case .dependencyRemoved(let id): "no longer waits for \(names.name(id))"
    case .enqueued(let queue): "enters \(names.name(queue))"
    case .queueCount(let count): "\(count) operations"
    case .graphSubmitted(let count): "submitted \(count)"
    case .graphSuspended(let value): value ? "suspended" : "resumed"
    case .graphFinished(let outcome): "finished \(outcome)"
    case .queueCreated(let settings): "created \(words(settings))"
    case .queueChanged(let settings): "changed \(words(settings))"
    case .queueRemoved: "removed"
    case .workerJoined: "joined"
    case .workerLost: "lost"
    case .workerDraining: "draining"
    case .workerLeft: "left"
    case .workerSetAside(let stage, _): "set aside \(stage?.text ?? "whole")"
    case .workerResumed(let stage): "resumed \(stage?.text ?? "whole")"
    }
  }

  // MARK: - Replies

  /// What was asked and the answer; rows on lines of their own.
  private func clientLines(_ what: String, _ reply: ClientReply) -> [String] {
    switch reply {
    case .operations(let rows, _): ["\(what):"] + rows.map { "  \(words($0))" }
    case .queues(let rows, _): ["\(what):"] + rows.map { "  \(words($0))" }
    case .explanations(let explanations, _):
      explanations.flatMap { why in
        ["\(what): \(why.state.rawValue)"]
          + why.lines.map { line in
            "  \(line.text)\(line.hint.isEmpty ? "" : "; \(line.hint)")"
          }
      }
    default: ["\(what): \(words(reply))"]
    }
  }

  private func words(_ reply: ClientReply) -> String {
    switch reply {
    case .refused(let refusal):
      "refused \(refusal.code.text): \(refusal.message)"
        + (refusal.operations.isEmpty ? "" : " [\(names.names(refusal.operations))]")
    case .accepted(let graph, let operations, let repeated):
      "accepted graph=\(graph.number) operations=\(operations)\(repeated ? " repeated" : "")"
    case .done: "done"
    case .cancelled(let verdicts, _):
      verdicts.map { "\(names.name($0.operation)) \($0.verdict)" }.joined(separator: ", ")
    case .suspended(let executing):
      executing.isEmpty ? "nothing executing" : "executing \(names.names(executing))"
    case .effect(let value): value ? "effect" : "no effect"
    case .submission(let submission, let outcomes):
      submission.templates.map(\.name).joined(separator: " ") + ": "
        + outcomes.map { Outcome(rawValue: $0).map { "\($0)" } ?? "-" }.joined(separator: " ")
    case .changed(let count, let unchanged):
      "changed \(count)\(unchanged > 0 ? ", too late for \(unchanged)" : "")"
    case .workers(let rows):
      rows.map { "\($0.name) \($0.state.rawValue) executing=\($0.executing) held=\($0.held)" }
        .joined(separator: " | ")
    default: "\(reply)"
    }
  }

  private func words(_ row: OperationRow) -> String {
    var words = [names.name(row.id), row.state.rawValue]
    if row.isReady { words.append("isReady") }
    if row.isExecuting { words.append("isExecuting") }
    if row.isFinished { words.append("isFinished") }
    if row.isCancelled { words.append("isCancelled") }
    words.append("queue=\(row.queue)")
    words.append("priority=\(row.priority.rawValue)")
    if row.qos != .default { words.append("qos=\(row.qos)") }
    if row.attempt > 0 { words.append("attempt=\(row.attempt)") }
    if let progress = row.progress {
      words.append("progress=\(progress.fraction) \(progress.text)")
    }
    if !row.blockedBy.isEmpty { words.append("blocked-by=\(names.names(row.blockedBy))") }
    if !row.needs.isEmpty {
      let needs = row.needs.map { "\(names.name($0.id)):\($0.policy)" }
      words.append("needs=\(needs.joined(separator: ","))")
    }
    return words.joined(separator: " ")
  }

  private func words(_ row: QueueRow) -> String {
    "\(words(row.settings)) operations=\(row.operationCount) executing=\(row.executing) "
      + "dispatched=\(row.dispatched) barriers=\(row.barriers)"
  }
}
