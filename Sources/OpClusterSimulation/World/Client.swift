// A client of the simulated world as a value: what it has asked, and what it knows. Owned by the
// world, driven by its shell.

import OpClusterModel

struct Client {
  var connection: Int
  var chance: Chance
  var submissionsLeft: Int
  var lastRequest: UInt64 = 0
  /// Unanswered requests, oldest first.
  var pending: [Asked] = []
  /// Requests that wait for answers to others: the number in flight is limited as for real clients.
  var linedUp: [ClientRequest] = []
  /// Answered submissions, for occasional repetition.
  var known: [(submission: GraphSubmission, graph: GraphID)] = []
  var follower = Follower()

  static let mostInFlight = Limits.requestsInFlightPerClient - 32

  struct Asked {
    var id: RequestID
    var request: ClientRequest
    var tries = 1
    /// The queue to change, when it was asked: meanwhile another one may have got its name.
    var queue: UInt32?
    /// The resumptions of the queue or graph to suspend, when it was asked.
    var resumesBefore = 0
  }
}

/// A client's position in the events.
struct Follower: Sendable {
  var mark: EventMark?
  /// The life of the coordinator that it follows.
  var life = 1
  /// Whether a restored journal has lost events that it knows.
  var knowsMore = false
}

extension Client {
  mutating func noteRestore(_ graphs: UInt32, _ end: EventMark) {
    known.removeAll { $0.graph.number >= graphs }
    // The restore has lost the counts of resumptions.
    for asked in pending.indices { pending[asked].resumesBefore = -1 }
    // A life that began after the copy is unknown to this journal, however few its events were.
    guard let mark = follower.mark else { return }
    if mark.sequence > end.sequence || mark.life.epoch > end.life.epoch {
      follower.knowsMore = true
    }
  }
}

extension ClientRequest {
  var isSubmission: Bool { if case .submit = self { true } else { false } }
  /// Whether it may keep operations from being handed over until it is decided.
  var isSteering: Bool {
    switch self {
    case .submit, .graphs, .operations, .explain, .queues, .workers, .ping: false
    default: true
    }
  }
}
