// The identity of a peer, and the rights of each role. Pure values.

import OpClusterKeys
package import OpClusterModel
import OpClusterScheduling
package import OpClusterZeroMQ

/// The identity of a peer, by the key that its connection was admitted with; never by its own
/// claims (G36).
package enum Principal: Hashable {
  /// Over `ipc` or `inproc`: a peer that the file modes admit, which is this user.
  case local
  case known(name: String, role: Role)
  /// The holder of an invitation.
  case invited(PublicKey)
  /// A key that was in the list when it connected, and has been removed (G37).
  case removed

  /// Whether it has a right.
  func may(_ right: Right) -> Bool {
    switch self {
    case .local: right != .enrol
    case .known(_, let role): role.rights.contains(right)
    case .invited: right == .enrol
    case .removed: false
    }
  }

  /// The prefix of its submissions' keys, so that equal keys of two submitters do not collide
  /// (G19).
  package var name: String? { if case .known(let name, _) = self { name } else { nil } }
}

/// The right that a message needs.
enum Right: Hashable, CaseIterable {
  /// To serve: say hello as a worker, take orders, report.
  case serve
  /// To read and follow everything.
  case read
  /// To submit, and to steer graphs, operations and queues; `Ownership` limits the graphs.
  case steer
  /// To drain workers.
  case administer
  /// To add an own key by an invitation.
  case enrol
}

extension Role {
  var rights: Set<Right> {
    switch self {
    case .worker: [.serve]
    case .observer: [.read]
    case .submitter: [.read, .steer]
    case .admin: [.serve, .read, .steer, .administer]
    }
  }
}

extension ClientRequest {
  /// The right that each request needs. A new request does not compile until it is listed.
  var right: Right {
    switch self {
    // Queues belong to steering: a program that submits creates queues and changes their limits.
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .removeGraphs, .place, .bring, .reusable:
      .steer
    case .drainWorker, .resumeWorker, .forgetWorker: .administer
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers,
      .configuration, .ping, .log, .locate, .subscribe, .grantCredit, .unsubscribe:
      .read
    case .enrol: .enrol
    }
  }
}

/// The graphs that keys of the role `submitter` may change: cancel, suspend, hold, move, remove.
/// Administrators, and local peers without keys, may change all graphs.
public enum Steering: String, Sendable, CaseIterable {
  /// Graphs that were submitted with the same key.
  case own
  case all

  /// The graphs that a principal may change.
  func bound(of principal: Principal) -> SteeringBound {
    guard self == .own, case .known(let name, .submitter) = principal else {
      return .allGraphs
    }
    return .graphs(of: name)
  }
}
