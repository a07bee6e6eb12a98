// Sentences for the reason of a cancellation and the end of an attempt.

package import OpClusterModel

extension CancelReason {
  /// - Parameters:
  ///   - hasEnded: Whether the operation has ended.
  ///   - name: Returns the name of an operation.
  package func sentence(hasEnded: Bool, naming name: (OperationID) -> String) -> String {
    switch self {
    case .request(let text):
      return text.isEmpty ? "somebody cancelled it" : "somebody cancelled it: \(text)"
    case .dependency(let on, let outcome):
      let end = StateWord(outcome).rawValue
      return "\(name(on)) ended as \(end), so its edge \(hasEnded ? "could" : "can") never be met"
    case .failurePolicy:
      return "the on_failure or max_failures of its graph, group or array took effect"
    }
  }
}

extension AttemptResult {
  /// Describes the end of an attempt without success: `attempt 2 on worker w1 ended with exit
  /// status 3`.
  package func sentence(attempt: UInt32, worker: String) -> String {
    let place = worker.isEmpty ? "" : " on worker \(worker)"
    let end =
      switch cause {
      case .none: "was stopped"
      case .failed: "ended with exit status \(exitStatus)"
      case .timeout: "took longer than its timeout"
      case .signal: "was killed by signal \(signal)"
      case .outOfMemory: "ran out of memory"
      case .lost: "was lost with its worker"
      case .cannotStart: "could not be started"
      case .badArgument: "could not read its argument"
      case .unknownType: "is of a type that the worker does not have"
      case .missingInput: "lacked an output of a dependency"
      case .inputUnavailable: "needed an output that no worker has any more"
      case .storeFull: "had no room in its worker's store"
      case .badOutput: "left outputs that are too large or malformed"
      case .workerStopped: "ended with its worker's orderly stop"
      }
    return "attempt \(attempt)\(place) \(end)"
  }
}
