// Brings contents to where a client can read them: one that reaches none of the machines that have
// a content names them, and another store gets a copy. A file of a machine behind a firewall can be
// fetched as well as read by an operation.

import HeapModule
import OpClusterModel

extension Scheduler {
  /// Where a content is that the client can read elsewhere than at the workers that it names; no
  /// sources while it is being brought to another store; nothing if nobody has it. Costs the
  /// holders, and the workers that are passed until a store is found.
  ///
  /// - Throws: `workerUnavailable` if there is no other store, `busy` if too much is copied.
  mutating func bring(
    _ content: StoredContent, unreached: [String], for reader: ContentAsker,
    into turn: inout SchedulingTurn
  ) throws(Refusal) -> [ContentHolders] {
    let unreached = Set(unreached)
    let known = tellHolders(
      of: content.digest, that: reader.key, isNamed: true, except: unreached, into: &turn)
    if !known.sources.isEmpty { return [known] }
    let having = holders.workers(with: content.digest).filter { isReadable($0) }
    if having.isEmpty { return [] }
    if !isComing(content.digest), !isTaken(content.digest, having, unreached, reader) {
      throw Refusal(
        .workerUnavailable,
        "you reach none of the workers that have it, and no other one has a store that takes it",
        hint: .listWorkers)
    }
    let copies = UInt8(clamping: having.count { !workers[$0].isDraining } + 1)
    guard contentCopies.bring(content, copies: copies, turn.now) else {
      throw Refusal(.busy, "too many contents are being copied", retryAfter: .seconds(10))
    }
    return [known]
  }

  private func isComing(_ digest: ContentDigest) -> Bool {
    !contentCopies.copies(of: digest).isEmpty
  }

  /// Whether there is a further store for it; not beyond as many as can be asked for.
  private mutating func isTaken(
    _ digest: ContentDigest, _ having: [UInt32], _ unreached: Set<String>, _ reader: ContentAsker
  ) -> Bool {
    if having.count >= Int(UInt8.max) { return false }
    let unfit = contentCopies.workersThatRefused(digest).union(having)
      .filter { workers.contains($0) }.map { workers[$0].name }
    return !storesToFill(1, avoiding: unreached.union(unfit), for: reader).stores.isEmpty
  }
}
