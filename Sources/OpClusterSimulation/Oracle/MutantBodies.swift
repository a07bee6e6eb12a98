// What the deliberate bugs change in the bodies of the simulated world: messages as a mutant
// handles and sends them, records as it writes them. Part of the world.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// A request as the mutant coordinator handles it.
  func mutated(_ request: ClientRequest) -> ClientRequest {
    guard mutant == .keyIgnored, case .submit(var submission) = request else { return request }
    submission.key = SubmissionKey("")
    return .submit(submission)
  }

  /// The records of a turn as the mutant coordinator writes them. A journal that lacks facts is
  /// found at the next replay (I10).
  func written(_ turn: SchedulingTurn) -> [Record] {
    guard mutant == .forgottenRecords else { return turn.records }
    return turn.records.filter { if case .executing = $0 { false } else { true } }
  }

  /// A message as the mutant worker handles it. Returns the message unchanged without a mutant, as
  /// all functions here do. Some bugs judge instead of changing: they launch again what the real
  /// worker would refuse.
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
