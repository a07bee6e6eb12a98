// Who a peer is to the coordinator, and what each role may do. Pure values.

import OpClusterKeys
import OpClusterModel
import OpClusterZeroMQ

/// Who speaks, by the key that its connection was let in with; never by what it says of itself
/// (G36).
enum Principal: Hashable {
  /// Over `ipc` or `inproc`: whoever the modes of files let in, which is this user.
  case local
  case known(name: String, role: Role)
  /// The holder of an invitation.
  case invited(PublicKey)
  /// A key that was in the list when it connected, and is not any more (G37).
  case removed

  /// What it may do.
  func may(_ right: Right) -> Bool {
    switch self {
    case .local: right != .enrol
    case .known(_, let role): role.rights.contains(right)
    case .invited: right == .enrol
    case .removed: false
    }
  }

  /// In front of the keys of its submissions, so that two who choose the same do not meet (G19).
  var name: String? { if case .known(let name, _) = self { name } else { nil } }
}

/// What a message needs.
enum Right: Hashable, CaseIterable {
  /// To serve: say hello as a worker, take orders, report.
  case serve
  /// To see and follow everything.
  case read
  /// To submit, and to steer graphs, operations and queues; whose graphs is another matter.
  case steer
  /// To drain workers.
  case administer
  /// To add a key of one's own by an invitation.
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
    // Queues belong to steering: a program that submits makes queues and changes their limits.
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .removeGraphs:
      .steer
    case .drainWorker, .resumeWorker, .forgetWorker: .administer
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers,
      .configuration, .ping, .log, .subscribe, .grantCredit, .unsubscribe:
      .read
    case .enrol: .enrol
    }
  }
}

/// Whose graphs those may change whose keys are of the role `submitter`: cancel, suspend, hold,
/// move, remove. Administrators change those of everybody, and so does who needs no key.
public enum Steering: String, Sendable, CaseIterable {
  /// Those that were submitted with the same key.
  case own
  case all

  /// The submitter whose graphs alone a principal may change; nil: those of everybody.
  func bound(of principal: Principal) -> String? {
    guard self == .own, case .known(let name, .submitter) = principal else { return nil }
    return name
  }
}
