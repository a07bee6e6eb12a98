// What the oracle knows of workers that drain. `HandoverChecks` judges.

import OpClusterModel

/// What is known of workers that drain, and of stores that could take what they have.
struct Handovers {
  /// When each session began its present conversation.
  var welcomedSince: [WorkerSession: Instant] = [:]
  /// When each session began to drain, and what somebody needed of its store then.
  var drains: [WorkerSession: (since: Instant, needed: Set<ContentDigest>)] = [:]
  /// The workers to which a content was to come, and did not, or that have it no more.
  private var missed: [ContentDigest: Set<Int>] = [:]

  /// A content was to come to a worker, and did not, or is not there any more.
  mutating func miss(_ digest: ContentDigest, by at: Int) {
    missed[digest, default: []].insert(at)
  }
  func isMissed(_ digest: ContentDigest, by at: Int) -> Bool {
    missed[digest]?.contains(at) == true
  }
}
