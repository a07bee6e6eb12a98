// The keys that this process serves with, and a key that is being added.

import OpClusterKeys
import OpClusterModel

/// The result of an enrolment.
struct Enrolment: Sendable {
  let peer: PeerID
  let request: RequestID
  let result: Result<AllowedKey, KeyError>
}

/// The admitted keys.
struct KeysInUse {
  /// nil: nobody is served over TCP.
  var access: Access?
  /// Holders of invitations whose keys are being written.
  var enrolling: Set<PeerID> = []
}
