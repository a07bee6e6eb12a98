// The only error type of this library: the problem, in the terms of Semantics.md (S145), and a
// remedy. Plain values.

import OpClusterClient
public import OpClusterModel

/// The reason why a call failed. A call that throws has changed nothing, unless its code is
/// `connectionLost` or `timedOut`: then the effect is unknown.
public struct ClusterError: Error, Hashable, Sendable, CustomStringConvertible {
  public var code: Code
  /// One sentence that names the object concerned.
  public var message: String
  /// The remedy; may be empty.
  public var hint: String
  /// The operations concerned: the path of a cycle, an unknown dependency.
  public var operations: [OperationID]

  /// The code, for decisions of programs.
  public enum Code: String, Hashable, Sendable, CaseIterable {
    // Refusals of the coordinator, or of this library before it (S145).
    case alreadyEnqueued, alreadyFinished, notReady, badLimit, alreadyStarted
    case queueNotEmpty, queueExists, unknownDependency, expired, selfDependency, cycle
    case conflictingEdge, unknownQueue, unknownGraph, unknownOperation, unknownWorker
    case wouldDeadlock, wouldStarve, badRequest, limitExceeded, conflict, versionMismatch
    case forbidden, busy, shuttingDown, evicted, noSuchLog, workerUnavailable
    case otherHistory
    // Problems of the connection to the coordinator.
    case unreachable, connectionLost, timedOut, cancelled, protocolViolation, badAddress
    case badConfiguration
    /// The coordinator does not know our key, or has another key than the configured one (G35).
    case keyRefused, wrongServerKey
    /// A closure cannot travel to another process (S124).
    case localOnly
    /// The operation has not finished, was cancelled, failed, or left nothing (S126).
    case noOutput
    /// The output is a value of another type.
    case wrongType
  }

  public init(
    _ code: Code, _ message: String, hint: String = "", operations: [OperationID] = []
  ) {
    self.code = code
    self.message = message
    self.hint = hint
    self.operations = operations
  }

  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
}

extension ClusterError {
  init(_ refusal: Refusal) {
    self.init(
      Code(rawValue: refusal.code.text) ?? .badRequest, refusal.message,
      hint: refusal.hint.forPrograms, operations: refusal.operations)
  }

  init(_ error: ClientError) {
    let code: Code =
      switch error.kind {
      case .refused(let refusal): Code(rawValue: refusal.code.text) ?? .badRequest
      case .unreachable: .unreachable
      case .versionMismatch: .versionMismatch
      case .protocolViolation: .protocolViolation
      case .connectionLost: .connectionLost
      case .timedOut: .timedOut
      case .badAddress: .badAddress
      case .badConfiguration: .badConfiguration
      case .keyRefused: .keyRefused
      case .wrongServerKey, .foreignServer: .wrongServerKey
      case .cancelled: .cancelled
      }
    var operations: [OperationID] = []
    if case .refused(let refusal) = error.kind { operations = refusal.operations }
    self.init(code, error.message, hint: error.hint.forPrograms, operations: operations)
  }

  /// The reply does not belong to the request.
  static func unexpected(_ reply: ClientReply) -> ClusterError {
    ClusterError(.protocolViolation, "the coordinator gave an answer to another question")
  }
}
