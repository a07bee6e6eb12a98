// What a case came to, and what many came to together. Values only.

import Synchronization

/// Which hop a message was on; each has its own decoder and its own reader.
package enum FuzzHop: Int, Sendable, CaseIterable {
  case workerToCoordinator, coordinatorToWorker, clientToCoordinator, coordinatorToClient
}

/// One case, or many added up.
package struct FuzzReport: Sendable {
  /// Messages delivered, of every hop.
  package var messages = 0
  /// By `FuzzHop.rawValue`: delivered, and of these refused by the decoder.
  package var delivered = [0, 0, 0, 0]
  package var rejected = [0, 0, 0, 0]
  /// Requests that the coordinator carried out, for judging whether messages get anywhere.
  package var accepted = 0
  package var refused = 0
  package var launched = 0
  /// The longest that one message took to be read, obeyed and checked.
  package var slowest = Duration.zero
  package var slowestSeed: UInt64 = 0
  /// What did not hold; nil when all is well.
  package var problem: String?

  package init() {}

  package mutating func add(_ other: FuzzReport) {
    messages += other.messages
    for hop in delivered.indices {
      delivered[hop] += other.delivered[hop]
      rejected[hop] += other.rejected[hop]
    }
    accepted += other.accepted
    refused += other.refused
    launched += other.launched
    if other.slowest > slowest {
      slowest = other.slowest
      slowestSeed = other.slowestSeed
    }
    problem = problem ?? other.problem
  }
}
