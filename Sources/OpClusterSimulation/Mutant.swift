// Deliberate bugs, planted in the bodies of the simulated world: a standing test that its checks
// would notice. One that survives means a missing invariant (guarantees.md 4.4).

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

/// A bug.
public enum Mutant: String, Sendable, CaseIterable {
  /// Clients are answered before the turn is durable.
  case earlyAnswers
  /// Workers are told before the turn is durable.
  case earlyOrders
  /// The disk says that it has synced, and has not.
  case lyingDisk
  /// One kind of fact is not written.
  case forgottenRecords
  /// A new life of the coordinator does not count as one.
  case sameEpoch
  /// Submission keys are not looked at.
  case keyIgnored
  /// A worker does not tell again after a reconnect.
  case noResend
  /// A worker starts again what repeated orders name.
  case repeatedStarts
  /// A worker starts whatever it holds without waiting for what it awaits.
  case noAwaits
  /// A worker does not hear that something is cancelled or wanted back, but says that it obeyed.
  case falseRecalls

  /// Which effects leave too early.
  var saidTooEarly: ((Effect) -> Bool)? {
    switch self {
    case .earlyAnswers: { if case .toClient = $0 { true } else { false } }
    case .earlyOrders: { if case .toWorker = $0 { true } else { false } }
    default: nil
    }
  }
}

extension World {
  /// A request as the mutant coordinator takes it in.
  func mutated(_ request: ClientRequest) -> ClientRequest {
    guard mutant == .keyIgnored, case .submit(var submission) = request else { return request }
    submission.key = SubmissionKey("")
    return .submit(submission)
  }

  /// A turn as the mutant coordinator writes it.
  func written(_ turn: Turn) -> [Record] {
    guard mutant == .forgottenRecords else { return turn.records }
    return turn.records.filter { if case .executing = $0 { false } else { true } }
  }

  /// A message as the mutant worker takes it in.
  func mutated(_ message: CoordinatorMessage, _ at: Int) -> CoordinatorMessage {
    guard let mutant, case .orders(var orders) = message else { return message }
    switch mutant {
    case .repeatedStarts:
      let isKnown = orders.conversation == workers[at].core?.conversation
      if isKnown, orders.number > 0, orders.number <= workers[at].obeyed {
        for dispatch in orders.dispatches where dispatch.awaits.isEmpty {
          checkLaunch(dispatch.attempt, at)
        }
      }
      if isKnown { workers[at].obeyed = max(workers[at].obeyed, orders.number) }
    case .noAwaits:
      for dispatch in orders.dispatches.indices { orders.dispatches[dispatch].awaits = [] }
    case .falseRecalls:
      workers[at].falselyRecalled += orders.recalls
      orders.recalls = []
    default: break
    }
    return .orders(orders)
  }

  /// A message as the mutant worker sends it.
  func mutated(_ message: WorkerMessage, _ at: Int) -> WorkerMessage {
    guard let mutant, case .report(var report) = message else { return message }
    switch mutant {
    case .noResend:
      if report.number == 1, report.conversation.increment > 1 { report.entries = [] }
    case .falseRecalls:
      report.entries += workers[at].falselyRecalled.map { .recalled($0) }
      workers[at].falselyRecalled = []
    default: break
    }
    return .report(report)
  }
}
