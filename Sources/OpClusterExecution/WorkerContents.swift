// The contents of the worker's store, as the brain sees them: what is there, what is on its way and
// who waits for it, what the coordinator has not been told. The body owns the files.

package import OpClusterModel

/// Owned by the core. Each method costs what it adds, ends or tells.
struct WorkerContents: Sendable {
  /// What the store has.
  private(set) var held: [ContentDigest: Int64] = [:]
  /// The reports that told of them last; none: it has not been told yet.
  private var toldIn: [ContentDigest: UInt64] = [:]
  /// What the coordinator has not been told in this conversation.
  private var gained: [StoredContent] = []
  private var lost: [ContentDigest] = []
  /// Where contents are that a dispatch behind it needs.
  var holders: [ContentDigest: [ContentSource]] = [:]
  /// What is on its way, and the unstarted attempts that wait for it.
  var fetches: [ContentDigest: [SlotTicket]] = [:]
  /// What is on its way, or was, in case that another store is lost.
  private var copies: Set<ContentDigest> = []
  /// The unstarted attempts that read what is there.
  private var readers: [ContentDigest: Set<SlotTicket>] = [:]
  /// Whether the coordinator of this conversation knows of contents.
  private(set) var areTold = false

  /// Begins a conversation: everything is told anew.
  mutating func begin(areTold: Bool) {
    self.areTold = areTold
    holders = [:]
    copies = []
    lost = []
    gained = []
    toldIn = [:]
    guard areTold else { return }
    gained = held.map { StoredContent(digest: $0.key, size: $0.value) }
      .sorted { $0.digest < $1.digest }
  }

  /// Also of what is there: it is told again, so that a release that was decided before does not
  /// count.
  mutating func add(_ content: StoredContent) {
    held[content.digest] = content.size
    toldIn[content.digest] = nil
    if areTold { gained.append(content) }
  }

  mutating func remove(_ digest: ContentDigest) {
    guard held.removeValue(forKey: digest) != nil, areTold else { return }
    toldIn[digest] = nil
    lost.append(digest)
  }

  mutating func addCopy(_ digest: ContentDigest) { copies.insert(digest) }
  func isCopied(_ digest: ContentDigest) -> Bool { copies.contains(digest) }

  /// A copy has come, or will not: then the coordinator is told, as of a loss.
  mutating func endCopy(_ digest: ContentDigest, hasCome: Bool) {
    guard copies.remove(digest) != nil, !hasCome, areTold else { return }
    lost.append(digest)
  }

  mutating func addReader(_ ticket: SlotTicket, of digest: ContentDigest) {
    readers[digest, default: []].insert(ticket)
  }

  mutating func removeReader(_ ticket: SlotTicket, of digest: ContentDigest) {
    guard readers[digest]?.remove(ticket) != nil, readers[digest]?.isEmpty == true else { return }
    readers[digest] = nil
  }

  var haveReaders: Bool { !readers.isEmpty }
  func isReader(_ ticket: SlotTicket, of digest: ContentDigest) -> Bool {
    readers[digest]?.contains(ticket) ?? false
  }

  /// Those that can no longer read it.
  mutating func takeReaders(of digest: ContentDigest) -> Set<SlotTicket> {
    readers.removeValue(forKey: digest) ?? []
  }

  /// Those of the released contents that may leave: of a later gain the coordinator had not heard
  /// when it released them.
  func mayLeave(_ released: [ContentDigest], heard report: UInt64) -> [ContentDigest] {
    released.filter { held[$0] == nil || toldIn[$0].map { $0 <= report } ?? false }
  }

  var hasNews: Bool { !gained.isEmpty || !lost.isEmpty }

  /// Puts the news into a report, as far as they fit. What came and went since is told in this
  /// order: first what is there, then what is not.
  mutating func tell(_ report: inout WorkerReport) {
    report.held = Self.takeFirst(&gained)
    for content in report.held { toldIn[content.digest] = report.number }
    // A loss must not overtake the gain before it.
    if gained.isEmpty { report.lost = Self.takeFirst(&lost) }
    // Gained again since.
    report.lost.removeAll { held[$0] != nil }
  }

  private static func takeFirst<Entry>(_ entries: inout [Entry]) -> [Entry] {
    if entries.count <= mostTold {
      defer { entries.removeAll(keepingCapacity: true) }
      return entries
    }
    defer { entries.removeFirst(mostTold) }
    return Array(entries.prefix(mostTold))
  }
  private static let mostTold = Limits.entriesPerMessage
}

extension ExecutionCore {
  /// Whether outputs may name contents of the store: the coordinator tells dependents where they
  /// are.
  public var mayStoreOutputs: Bool { identity.store != nil && contents.areTold }

  /// Whether the store has a content, as far as it was told.
  package func holds(_ digest: ContentDigest) -> Bool { contents.held[digest] != nil }

  /// The attempts that cannot start before a content is there.
  package func attempts(waitingFor digest: ContentDigest) -> [AttemptID] {
    (contents.fetches[digest] ?? []).filter(waitsForContents).map { attempts[$0.slot].id }
  }

  /// The store has these contents, by an end here or by a fetch.
  mutating func gained(
    _ contents: [StoredContent], at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    for content in contents {
      self.contents.endCopy(content.digest, hasCome: true)
      self.contents.add(content)
      for ticket in self.contents.fetches.removeValue(forKey: content.digest) ?? []
      where waitsForContents(ticket) {
        self.contents.addReader(ticket, of: content.digest)
        attempts[ticket.slot].unmet -= 1
        guard attempts[ticket.slot].unmet == 0 else { continue }
        change(ticket.slot, .awaitsMet, at: now, into: &effects)
      }
    }
  }

  /// The store has them no more. Unstarted attempts that read them are given back: the coordinator
  /// knows who else has them.
  mutating func lost(
    _ digests: [ContentDigest], at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    for digest in digests {
      contents.remove(digest)
      let readers = contents.takeReaders(of: digest)
        .filter { attempts.isCurrent($0) && attempts[$0.slot].state.isAssigned }
      for slot in readers.map(\.slot).sorted(by: { attempts[$0].id < attempts[$1].id }) {
        change(slot, .recall, at: now, into: &effects)
      }
    }
  }

  private func waitsForContents(_ ticket: SlotTicket) -> Bool {
    attempts.isCurrent(ticket) && attempts[ticket.slot].state == .blocked
  }

  /// A content does not come from those who had it: who waits for it is given back.
  mutating func giveBackReaders(
    of digest: ContentDigest, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    contents.endCopy(digest, hasCome: false)
    for ticket in contents.fetches.removeValue(forKey: digest) ?? []
    where waitsForContents(ticket) {
      change(ticket.slot, .recall, at: now, into: &effects)
    }
  }

  /// A content will not come: who waits for it cannot start here.
  mutating func missed(
    _ content: StoredContent, _ cause: FailureCause, _ reason: String, at now: Instant,
    into effects: inout [ExecutionEffect]
  ) {
    contents.endCopy(content.digest, hasCome: false)
    for ticket in contents.fetches.removeValue(forKey: content.digest) ?? []
    where waitsForContents(ticket) {
      let slot = ticket.slot
      var result = AttemptResult()
      result.cause = cause
      result.diagnostic =
        "an input of \(content.size) bytes (\(content.digest.short)) did not come to worker "
        + "'\(identity.name)': \(reason)"
      change(slot, .inputMissed, at: now, into: &effects)
      outbox.append(.finished(attempts[slot].id, result))
      settle(slot, Self.outcome(result, isCancelled: false), [], into: &effects)
    }
  }

  /// The contents that an attempt reads, each once, in order.
  func contentsNeeded(by slot: Slot) -> [StoredContent] {
    attempts[slot].inputs.contents(
      templates[Int(attempts[slot].template.position)].contentNeeds)
  }

  /// Makes a new attempt wait for the contents of its inputs that are not here.
  mutating func awaitContents(_ slot: Slot, into effects: inout [ExecutionEffect]) {
    for content in contentsNeeded(by: slot) {
      let sources = contents.holders.removeValue(forKey: content.digest) ?? []
      if contents.held[content.digest] != nil {
        contents.addReader(attempts.ticket(slot), of: content.digest)
        continue
      }
      let isNew = contents.fetches[content.digest] == nil
      contents.fetches[content.digest, default: []].append(attempts.ticket(slot))
      attempts[slot].unmet += 1
      // Also for one that is on its way: there may be further holders.
      if isNew || !sources.isEmpty { effects.append(.fetch(content, from: sources)) }
    }
  }

  /// Ends the waiting of an attempt that is launched, given back or ended; what nobody waits for is
  /// not fetched.
  mutating func leaveContents(_ slot: Slot, into effects: inout [ExecutionEffect]) {
    if contents.fetches.isEmpty, !contents.haveReaders { return }
    let ticket = attempts.ticket(slot)
    for content in contentsNeeded(by: slot) {
      contents.removeReader(ticket, of: content.digest)
      guard let waiting = contents.fetches[content.digest] else { continue }
      let others = waiting.filter { $0 != ticket && waitsForContents($0) }
      let isWanted = !others.isEmpty || contents.isCopied(content.digest)
      contents.fetches[content.digest] = isWanted ? others : nil
      if !isWanted { effects.append(.dropFetch(content.digest)) }
    }
  }

  /// Fetches a content for which no attempt waits.
  private mutating func copy(_ content: StoredContent, into effects: inout [ExecutionEffect]) {
    let sources = contents.holders.removeValue(forKey: content.digest) ?? []
    // The coordinator has not heard of it yet.
    if contents.held[content.digest] != nil { return }
    contents.addCopy(content.digest)
    let isNew = contents.fetches[content.digest] == nil
    contents.fetches[content.digest, default: []] += []
    if isNew || !sources.isEmpty { effects.append(.fetch(content, from: sources)) }
  }

  /// Obeys the parts of orders that are about contents, before the dispatches.
  mutating func obeyContents(_ orders: WorkerOrders, into effects: inout [ExecutionEffect]) {
    for content in orders.holders { contents.holders[content.digest] = content.sources }
    for content in orders.copies { copy(content, into: &effects) }
    if !orders.grants.isEmpty { effects.append(.grant(orders.grants)) }
    let heard = max(orders.heard, orders.acknowledged)
    let released = contents.mayLeave(orders.released, heard: heard)
    if !released.isEmpty { effects.append(.letGo(released)) }
    if !orders.retained.isEmpty { effects.append(.keep(orders.retained)) }
    for key in orders.revoked { effects.append(.revoke(key)) }
  }
}
