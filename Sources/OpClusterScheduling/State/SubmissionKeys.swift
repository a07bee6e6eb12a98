// The keys of submissions, so that a repeated submission gets the same graph (G19). A key lives as
// long as its graph, and `Limits.submissionKeyLife` after its end; beyond the limits in number,
// keys of the graphs that ended first are dropped first. Only facts change it, and it uses their
// times: the same facts make the same table in every life. Each call takes constant time.

import OpClusterModel

struct SubmissionKeys: Sendable {
  /// The answer to a repeated submission.
  struct Known: Hashable, Sendable {
    var graph: GraphID
    var fingerprint: UInt64
    var operations: UInt32
  }

  private var slotByKey: [SubmissionKey: UInt32] = [:]
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  /// Keys of ended graphs, in the order of their ends: all, and those of each principal. The latter
  /// are looked up, never iterated.
  private var ended = Chain()
  private var endedByOwner: [String: Chain] = [:]
  /// The number of last entries in `ended` without a time.
  private var untimedCount = 0

  fileprivate struct Slot {
    var key: SubmissionKey
    var known: Known
    /// The time of the graph's end; unknown while it lives, and if nothing records it.
    var since: WallTime = .unknown
    var hasEnded = false
    var among = Links()
    var amongOwn = Links()

    subscript(kind: Chain.Kind) -> Links {
      get { kind == .all ? among : amongOwn }
      set { if kind == .all { among = newValue } else { amongOwn = newValue } }
    }
  }
  private static let none = Chain.none

  var livingCount: Int { slotByKey.count - ended.count }
  var endedCount: Int { ended.count }
  var slotCount: Int { slots.count }
  /// Whether some ended keys have no time.
  var hasUntimed: Bool { untimedCount > 0 }

  // MARK: - Asking

  /// The graph of a key, unless the key has expired.
  func known(_ key: SubmissionKey, at now: WallTime) -> Known? {
    guard let slot = slotByKey[key], !isOver(slot, at: now) else { return nil }
    return slots[Int(slot)].known
  }

  /// The keys of ended graphs, in the order of their ends.
  var kept: [KeptKey] {
    var kept: [KeptKey] = []
    kept.reserveCapacity(ended.count)
    var next = ended.first
    while next != Self.none {
      let slot = slots[Int(next)]
      kept.append(
        KeptKey(
          key: slot.key, graph: slot.known.graph, fingerprint: slot.known.fingerprint,
          operations: slot.known.operations, since: slot.since))
      next = slot.among.after
    }
    return kept
  }

  // MARK: - Facts

  /// Adds the key of a submitted, living graph.
  mutating func begin(_ key: SubmissionKey, _ known: Known) {
    if key.text.isEmpty { return }
    if let slot = slotByKey[key] { drop(slot) }
    insert(Slot(key: key, known: known))
  }

  /// Notes that the graph of a key has ended; `since` is unknown if nothing records the time.
  mutating func end(_ key: SubmissionKey, of graph: GraphID, since: WallTime) {
    guard let slot = slotByKey[key], slots[Int(slot)].known.graph == graph,
      !slots[Int(slot)].hasEnded
    else { return }
    leave(slot, since)
  }

  /// Restores a key of a snapshot; call it in the order of the ends.
  mutating func restore(_ kept: KeptKey) {
    if kept.key.text.isEmpty { return }
    if let slot = slotByKey[kept.key] { drop(slot) }
    let known = Known(
      graph: kept.graph, fingerprint: kept.fingerprint, operations: kept.operations)
    leave(insert(Slot(key: kept.key, known: known)), kept.since)
  }

  /// Passes the time `now`: dates the keys without a time, and drops some of the expired keys.
  mutating func pass(_ now: WallTime) {
    var slot = ended.last
    while untimedCount > 0, slot != Self.none {
      slots[Int(slot)].since = now
      slot = slots[Int(slot)].among.before
      untimedCount -= 1
    }
    for _ in 0..<Limits.keysForgottenAtOnce {
      guard ended.first != Self.none, isOver(ended.first, at: now) else { return }
      drop(ended.first)
    }
  }

  // MARK: - Slots

  private func isOver(_ slot: UInt32, at now: WallTime) -> Bool {
    let slot = slots[Int(slot)]
    guard slot.hasEnded, slot.since != .unknown else { return false }
    return slot.since + Limits.submissionKeyLife <= now
  }

  @discardableResult
  private mutating func insert(_ slot: Slot) -> UInt32 {
    let number: UInt32
    if let free = freeSlots.popLast() {
      number = free
      slots[Int(free)] = slot
    } else {
      number = UInt32(slots.count)
      slots.append(slot)
    }
    slotByKey[slot.key] = number
    return number
  }

  /// Moves a key from the living to the ended ones.
  private mutating func leave(_ slot: UInt32, _ since: WallTime) {
    slots[Int(slot)].hasEnded = true
    slots[Int(slot)].since = since
    if since == .unknown { untimedCount += 1 }
    let owner = slots[Int(slot)].key.owner
    ended.append(slot, in: &slots, .all)
    endedByOwner[owner, default: Chain()].append(slot, in: &slots, .own)
    if let own = endedByOwner[owner], own.count > Limits.submissionKeysPerPrincipal {
      drop(own.first)
    }
    if ended.count > Limits.submissionKeysRemembered { drop(ended.first) }
  }

  private mutating func drop(_ slot: UInt32) {
    let key = slots[Int(slot)].key
    slotByKey[key] = nil
    if slots[Int(slot)].hasEnded {
      if slots[Int(slot)].since == .unknown { untimedCount -= 1 }
      let owner = key.owner
      ended.remove(slot, in: &slots, .all)
      endedByOwner[owner]?.remove(slot, in: &slots, .own)
      if endedByOwner[owner]?.count == 0 { endedByOwner[owner] = nil }
    }
    // Frees the text of the key.
    slots[Int(slot)] = Slot(
      key: SubmissionKey(""), known: Known(graph: GraphID(0), fingerprint: 0, operations: 0))
    freeSlots.append(slot)
  }
}

/// Neighbours in a chain.
private struct Links {
  var before = Chain.none
  var after = Chain.none
}

/// A doubly linked list of slots: appending and removing take constant time.
private struct Chain {
  enum Kind { case all, own }
  static let none = UInt32.max
  private(set) var first = Chain.none
  private(set) var last = Chain.none
  private(set) var count = 0

  mutating func append(_ slot: UInt32, in slots: inout [SubmissionKeys.Slot], _ kind: Kind) {
    slots[Int(slot)][kind] = Links(before: last)
    if last == Chain.none { first = slot } else { slots[Int(last)][kind].after = slot }
    last = slot
    count += 1
  }

  mutating func remove(_ slot: UInt32, in slots: inout [SubmissionKeys.Slot], _ kind: Kind) {
    let links = slots[Int(slot)][kind]
    if links.before == Chain.none {
      first = links.after
    } else {
      slots[Int(links.before)][kind].after = links.after
    }
    if links.after == Chain.none {
      last = links.before
    } else {
      slots[Int(links.after)][kind].before = links.before
    }
    count -= 1
  }
}

extension SubmissionKey {
  /// The principal of the key: the coordinator writes its name in front if clients have names.
  fileprivate var owner: String {
    guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(text[..<slash])
  }
}
