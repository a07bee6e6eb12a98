// What a form orders: one request to the coordinator, which decides whether our key may do so.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

struct ActionOrder {
  private let action: Route.Action
  private let fields: FormFields
  private let parts: Dashboard.Parts

  /// What is told of it, and the page that tells.
  struct Done {
    var note: String
    var next: String
  }

  init(_ action: Route.Action, _ fields: FormFields, _ parts: Dashboard.Parts) {
    self.action = action
    self.fields = fields
    self.parts = parts
  }

  func carryOut() async -> Done {
    guard parts.mayAct else {
      return Done(note: "Nothing was changed: this dashboard only looks.", next: place)
    }
    do {
      switch action {
      case .cancel:
        _ = try await ask(.cancel(try target(), reason: "", grace: nil))
        return Done(note: "Cancelled: \(name).", next: place)
      case .priority:
        guard let priority = Priority.allCases.first(where: { $0.word == fields["priority"] })
        else { throw unclear("priority") }
        let reply = try await ask(.setPriority(try target(), priority))
        guard case .changed(let changed, let unchanged) = reply else {
          throw ClientError.unexpectedReply("priority")
        }
        let late = unchanged > 0 ? ", \(shownCount(unchanged)) had started already" : ""
        return Done(
          note: "Priority \(priority.word): \(shownCount(changed, "operation"))\(late).",
          next: place)
      case .suspend:
        let isSuspended = fields["suspended"] == "yes"
        _ = try await ask(.suspendGraphs(.graph(try graph()), isSuspended))
        return Done(note: "\(isSuspended ? "Suspended" : "Resumed"): \(name).", next: place)
      case .retry: return try await retry(try graph())
      case .suspendQueue:
        let isSuspended = fields["suspended"] == "yes"
        return try await changeQueue(
          QueueChange(isSuspended: isSuspended), isSuspended ? "suspended" : "resumed")
      case .queueLimit:
        let text = fields["limit"] ?? ""
        guard !text.isEmpty else {
          return try await changeQueue(QueueChange(limit: .unlimited), "has no limit")
        }
        guard let limit = UInt32(text), limit > 0 else { throw unclear("limit") }
        return try await changeQueue(
          QueueChange(limit: .atMost(limit)), "runs at most \(shownCount(limit)) at once")
      }
    } catch let error as ClientError {
      if case .refused = error.kind {
        return Done(note: "Nothing was changed: \(error)", next: place)
      }
      return Done(note: "It is not known whether this was done: \(error)", next: place)
    } catch {
      return Done(note: "It is not known whether this was done: \(error)", next: place)
    }
  }

  private func ask(_ request: ClientRequest) async throws(ClientError) -> ClientReply {
    let reader = parts.watch.reader
    return try await reader.connection.request(request, timeout: reader.timeout)
  }

  private func unclear(_ field: String) -> ClientError {
    ClientError(Refusal(.badRequest, "the form's field '\(field)' is not understood", hint: ""))
  }

  private func graph() throws(ClientError) -> GraphID {
    guard let number = UInt32(fields["graph"] ?? "") else { throw unclear("graph") }
    return GraphID(number)
  }

  /// One operation, or all of a graph.
  private func target() throws(ClientError) -> OperationTarget {
    let graph = try graph()
    guard let text = fields["operation"] else { return .selection(.graph(graph)) }
    guard let index = UInt32(text) else { throw unclear("operation") }
    return .operations([OperationID(graph: graph, index: index)])
  }

  private var name: String {
    let operation = fields["operation"].map { ", operation \($0)" } ?? ""
    return "graph \(fields["graph"] ?? "")\(operation)"
  }

  private var place: String {
    guard let graph = UInt32(fields["graph"] ?? "") else {
      return action == .queueLimit || action == .suspendQueue ? "/queues" : "/"
    }
    guard let index = UInt32(fields["operation"] ?? "") else { return "/graphs/\(graph)" }
    return "/graphs/\(graph)/operations/\(index)"
  }

  private func changeQueue(_ change: QueueChange, _ words: String) async throws -> Done {
    let queue = fields["queue"] ?? ""
    _ = try await ask(.changeQueue(queue, change))
    return Done(note: "Queue \(queue) \(words).", next: "/queues")
  }

  /// The same graph under a new number, all of it or what did not succeed.
  private func retry(_ graph: GraphID) async throws -> Done {
    guard case .submission(var submission, let outcomes) = try await ask(.submission(graph)) else {
      throw ClientError.unexpectedReply("submission")
    }
    let onlyFailed = fields["failed"] == "yes"
    let reused = RetryPlan(submission, outcomes, of: graph).reused(
      again: nil, onlyFailed: onlyFailed)
    submission.continued = ContinuedGraph(graph: graph, reused: reused)
    submission.key = SubmissionKey(Sessions.randomToken())
    submission.isSuspended = false
    guard case .accepted(let again, _, _) = try await ask(.submit(submission)) else {
      throw ClientError.unexpectedReply("submit")
    }
    return Done(
      note: "Graph \(again.number) does graph \(graph.number) again.",
      next: "/graphs/\(again.number)")
  }
}
