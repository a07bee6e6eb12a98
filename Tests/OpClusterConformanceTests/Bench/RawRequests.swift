// Submissions as a client of another make may send them: for what the objects of the library would
// not send, such as the same message twice.

import ConformanceOperations
import OpCluster
import OpClusterClient
import OpClusterModel
import OpClusterOperations
import RealCluster
import Testing

/// A submission of single operations, in the making.
struct RawGraph {
  var submission: GraphSubmission

  /// - Parameter queue: its name; it must exist.
  init(_ key: String, queue: String) {
    submission = GraphSubmission(key: SubmissionKey(key), name: key)
    submission.queues = [.named(queue)]
  }

  /// Adds a mark and returns its index.
  @discardableResult
  mutating func mark(_ text: String, _ stage: Stage) throws -> UInt32 {
    let body = Mark(sink: stage.sink.path, text: text)
    var template = OperationTemplate(name: text, work: .call(Mark.operationType))
    template.payload = try OperationArgument.encode(body)
    submission.templates.append(template)
    return UInt32(submission.templates.count - 1)
  }

  mutating func edge(from: UInt32, to: UInt32, when policy: EdgePolicy = .finished) {
    submission.groupEdges.append(GroupEdge(from: from, to: to, policy: policy))
  }

  mutating func edge(from: OperationID, to: UInt32, when policy: EdgePolicy = .finished) {
    submission.externalEdges.append(ExternalEdge(from: from, to: to, policy: policy))
  }
}

extension Stage {
  /// A connection without objects, for as long as `body` runs.
  func raw<Value>(_ body: (ClusterConnection) async throws -> Value) async throws -> Value {
    let processes = try #require(self.processes)
    let connection = try await processes.connect()
    do {
      let value = try await body(connection)
      await connection.close()
      return value
    } catch {
      await connection.close()
      throw error
    }
  }

  /// Makes the stage's queue known, suspended or not, without anything in it.
  func makeQueue(isSuspended: Bool = false) async throws {
    let probe = join("probe")
    try await queue.addOperation(probe)
    try await ended(probe)
    if isSuspended { try await queue.suspend() }
  }
}

/// The refusal with which a request was answered; nil: it was accepted.
func whyRefused(_ body: () async throws -> Void) async throws -> Refusal? {
  do {
    try await body()
    return nil
  } catch let error as ClientError {
    if case .refused(let refusal) = error.kind { return refusal }
    throw error
  }
}
