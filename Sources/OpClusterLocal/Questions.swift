// Answers questions, and refuses requests that make no sense in one process. The coordinator
// answers the same questions from its scheduler and its journal; here `History` stands for the
// journal. Rows of the second worker and of the hidden queue are left out of the lists. Runs on the
// stepper, at the end of a round.

import OpClusterModel
import OpClusterQueries
import OpClusterScheduling

extension ClientRequest {
  /// Whether the request changes nothing. Questions wait for the end of the round, so that they see
  /// all that precedes them (S3).
  var isQuestion: Bool {
    switch self {
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers, .ping,
      .configuration, .log, .locate, .subscribe, .grantCredit, .unsubscribe:
      true
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .drainWorker, .resumeWorker, .forgetWorker, .removeGraphs, .place,
      .bring, .reusable, .enrol:
      false
    }
  }

  /// The refusal of a request that a local cluster does not support; nil if it does. Each case is
  /// listed, so that a new request is thought of. The hidden queue is refused wherever a request
  /// names a queue.
  var localRefusal: Refusal? {
    switch self {
    case .drainWorker, .resumeWorker, .forgetWorker:
      Refusal(
        .badRequest, "a local cluster has no worker that could be drained or set aside",
        hint: "close the cluster")
    case .removeGraphs:
      Refusal(
        .badRequest, "a local cluster keeps nothing that would have to be removed",
        hint: "close the cluster")
    case .subscribe, .grantCredit, .unsubscribe:
      Refusal(.badRequest, "a local cluster has one observer; set it with observe(_:)")
    case .enrol:
      Refusal(.badRequest, "a local cluster knows no keys")
    case .locate, .place, .bring:
      Refusal(.badRequest, "a local cluster has no stores")
    case .log:
      Refusal(.noSuchLog, "a local cluster keeps no logs")
    case .createQueue(let settings) where settings.name == Brains.outsideQueue:
      Refusal(.queueExists, "the name \(settings.name) is taken")
    case .changeQueue(Brains.outsideQueue, _), .removeQueue(Brains.outsideQueue),
      .cancelQueue(Brains.outsideQueue, _), .enqueue(_, Brains.outsideQueue),
      .setQueue(_, Brains.outsideQueue):
      Refusal(.unknownQueue, "there is no queue \(Brains.outsideQueue)")
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .reusable, .graphs, .operations, .structure, .explain, .submission,
      .queues, .workers, .ping, .configuration:
      nil
    }
  }
}

extension Brains {
  /// The answer to a question, from living and remembered graphs. Never waits: everything is in
  /// memory. A refusal is what the scheduler or the history says.
  func answer(_ question: ClientRequest) -> Result<ClientReply, Refusal> {
    do throws(Refusal) {
      if let refusal = question.localRefusal { throw refusal }
      switch question {
      // No endpoints and no folder: empty texts.
      case .configuration:
        return .success(
          .configuration(
            ConfigurationValues(
              timing: Timing(), clientEndpoint: "", workerEndpoint: "", stateFolder: "")))
      case .graphs(let selection, let after, let limit):
        return .success(try graphs(selection, after, limit))
      case .operations(let selection, let after, let limit):
        return .success(try operations(selection, after, limit))
      case .structure(let selection):
        return .success(try structure(selection, question))
      case .explain(let selection):
        return .success(try explain(selection, question))
      case .submission(let graph):
        return .success(try submission(graph))
      case .queues:
        guard case .queues(var rows, let more) = try scheduler.answer(question, at: now) else {
          break
        }
        rows.removeAll { $0.settings.name == Brains.outsideQueue }
        return .success(.queues(rows, more: more))
      case .workers:
        guard case .workers(var rows) = try scheduler.answer(question, at: now) else { break }
        rows.removeAll { $0.name != Brains.workerName }
        return .success(.workers(rows))
      default: break
      }
      return .success(try scheduler.answer(question, at: now))
    } catch {
      return .failure(error)
    }
  }

  /// Living graphs of the scheduler and ended ones of the history, in one page by number. Costs all
  /// remembered graphs of the selection.
  private func graphs(
    _ selection: Selection, _ after: GraphID?, _ limit: UInt32
  ) throws(Refusal) -> ClientReply {
    var rows: [GraphRow] = []
    var more = false
    if case .graphs(let living, let isMore) = try scheduler.answer(
      .graphs(selection, after: after, limit: limit), at: now)
    {
      rows = living
      more = isMore
    }
    for ended in history.graphs(selection) where after.map({ $0 < ended.graph }) ?? true {
      if ended.matchesAsGraph(selection) { rows.append(ended.ending.row) }
    }
    return .graphs(
      page(&rows, limit, \.graph), more: more || rows.count > Limits.rowsPerReply(asked: limit))
  }

  /// Sorts what two sources gave and cuts it to the page.
  private func page<Row, Key: Comparable>(
    _ rows: inout [Row], _ limit: UInt32, _ key: KeyPath<Row, Key>
  ) -> [Row] {
    rows.sort { $0[keyPath: key] < $1[keyPath: key] }
    return Array(rows.prefix(Limits.rowsPerReply(asked: limit)))
  }

  /// As `graphs`. The scheduler's refusal counts only where the history knows nothing either.
  /// Collects up to a page of each ended graph before it cuts.
  private func operations(
    _ selection: Selection, _ after: OperationID?, _ limit: UInt32
  ) throws(Refusal) -> ClientReply {
    var rows: [OperationRow] = []
    var more = false
    var refusal: Refusal?
    do throws(Refusal) {
      if case .operations(let living, let isMore) = try scheduler.answer(
        .operations(selection, after: after, limit: limit), at: now)
      {
        rows = living
        more = isMore
      }
    } catch {
      refusal = error
    }
    var known = false
    let filter = OperationFilter(selection)
    for ended in history.graphs(selection) {
      known = true
      if let after, ended.graph < after.graph { continue }
      rows += ended.rows(filter, after: after, limit: Limits.rowsPerReply(asked: limit) + 1)
    }
    if let refusal, !known { throw refusal }
    let isSingle = limit == 1 || (rows.count == 1 && !more)
    var shown = page(&rows, limit, \.id)
    for at in shown.indices { history.addAttempts(to: &shown[at], isSingle: isSingle) }
    return .operations(shown, more: more || rows.count > Limits.rowsPerReply(asked: limit))
  }

  /// Of a living graph, else of the first ended one that the selection has.
  private func structure(
    _ selection: Selection, _ question: ClientRequest
  ) throws(Refusal) -> ClientReply {
    do throws(Refusal) {
      return try scheduler.answer(question, at: now)
    } catch {
      guard let ended = history.graphs(selection).first else { throw error }
      return .structure(ended.structure)
    }
  }

  /// An ended operation is explained by its end.
  private func explain(
    _ selection: Selection, _ question: ClientRequest
  ) throws(Refusal) -> ClientReply {
    do throws(Refusal) {
      return try scheduler.answer(question, at: now)
    } catch {
      let filter = OperationFilter(selection)
      var found: [Explanation] = []
      for ended in history.graphs(selection) where found.count <= Limits.explanationsPerReply {
        let rows = ended.rows(
          filter, after: nil, limit: Limits.explanationsPerReply + 1 - found.count)
        found += rows.map { history.explanation(of: $0, in: ended) }
      }
      if found.isEmpty { throw error }
      return .explanations(
        Array(found.prefix(Limits.explanationsPerReply)),
        more: found.count > Limits.explanationsPerReply)
    }
  }

  /// Of an ended graph from the history, of a living one with the outcomes so far.
  private func submission(_ graph: GraphID) throws(Refusal) -> ClientReply {
    if let ended = history.graph(graph) {
      return .submission(ended.submission, outcomes: ended.ending.outcomes)
    }
    guard let living = history.living(graph) else {
      throw Refusal(
        .unknownGraph, "there is no graph \(graph.number), or it ended too long ago")
    }
    return .submission(living, outcomes: try outcomes(of: graph))
  }

  /// One byte per operation; 0 for unfinished ones. Page by page: the scheduler has no question for
  /// outcomes alone. Costs a row for each operation.
  private func outcomes(of graph: GraphID) throws(Refusal) -> [UInt8] {
    var outcomes: [UInt8] = []
    var after: OperationID?
    while true {
      guard
        case .operations(let rows, let more) = try scheduler.answer(
          .operations(.graph(graph), after: after, limit: 0), at: now)
      else { return outcomes }
      for row in rows { outcomes.append(row.outcome?.rawValue ?? 0) }
      after = rows.last?.id
      if !more || after == nil { return outcomes }
    }
  }
}
