// The contents of the worker's store, as the brain sees them: what is there, what is on its way and
// who waits for it, what the coordinator has not been told. The body owns the files.

package import OpClusterModel

/// Owned by the core. Each method costs what it adds, ends or tells.
struct WorkerContents: Sendable {
  /// What the store has.
  private(set) var held: [ContentDigest: Int64] = [:]
  /// The reports that told of them last; none: it has not been told yet.
  private var toldIn: [ContentDigest: UInt64] = [:]
  /// The newest report of this conversation that said that something is there.
  private var newestTold: UInt64 = 0
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
  /// What may leave the store, and may still be there.
  private var letGo: Set<ContentDigest> = []
  /// What is to be fetched, and from whom: the holders that were named last first.
  private var wanted: [ContentDigest: UnreachedContent] = [:]
  /// What is waited for and cannot be fetched from anybody, with the reason for people.
  private var unreached: [ContentDigest: (content: UnreachedContent, reason: String)] = [:]
  /// Of these the ones that the coordinator has not been told of.
  private var newlyUnreached: [UnreachedContent] = []
  private var undelivered: [FailedDelivery] = []
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
    newestTold = 0
    undelivered = []
    newlyUnreached = []
    letGo = []
    // An order to copy does not outlive its conversation.
    for digest in unreached.keys where fetches[digest]?.isEmpty != false {
      unreached[digest] = nil
      _ = endFetch(digest)
    }
    guard areTold else { return }
    newlyUnreached = unreached.values.map(\.content)
      .sorted { $0.content.digest < $1.content.digest }
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

  mutating func noteLetGo(_ digests: [ContentDigest]) { letGo.formUnion(digests) }

  /// True: it was let go before it was made again, and has to be kept after all.
  mutating func keepAgain(_ digest: ContentDigest) -> Bool { letGo.remove(digest) != nil }

  mutating func remove(_ digest: ContentDigest) {
    letGo.remove(digest)
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

  /// The coordinator is told once, and again in each conversation.
  mutating func addUnreached(_ content: StoredContent, _ reason: String) {
    let told = wanted[content.digest] ?? UnreachedContent(content, from: [])
    let isNew = unreached.updateValue((told, reason), forKey: content.digest) == nil
    if isNew, areTold { newlyUnreached.append(told) }
  }

  /// It is to be fetched from these holders.
  mutating func noteFetch(_ content: StoredContent, from holders: [ContentSource]) {
    if holders.isEmpty, wanted[content.digest] != nil { return }
    let before = (wanted[content.digest]?.sources ?? []).filter { !holders.contains($0) }
    wanted[content.digest] = UnreachedContent(
      content, from: Array((holders + before).prefix(Limits.holdersReported)))
  }

  /// What is fetched under this digest; nil: nothing is.
  func wantedContent(_ digest: ContentDigest) -> StoredContent? { wanted[digest]?.content }

  /// It is here, or is not fetched any more. Returns those that wait for it.
  mutating func endFetch(_ digest: ContentDigest) -> [SlotTicket] {
    wanted[digest] = nil
    return fetches.removeValue(forKey: digest) ?? []
  }

  func isUnreached(_ digest: ContentDigest) -> Bool { unreached[digest] != nil }

  /// It has come, is fetched again, or nobody waits for it. Returns what was said of it.
  @discardableResult
  mutating func endUnreached(
    _ digest: ContentDigest
  ) -> (content: StoredContent, reason: String)? {
    unreached.removeValue(forKey: digest).map { ($0.content.content, $0.reason) }
  }

  /// Of deliveries that an earlier conversation ordered the coordinator asks no more.
  mutating func addUndelivered(_ deliveries: [FailedDelivery]) {
    if areTold { undelivered += deliveries }
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

  var hasNews: Bool {
    !gained.isEmpty || !lost.isEmpty || !newlyUnreached.isEmpty || !undelivered.isEmpty
  }

  /// Whether whoever has heard this report knows of all that is there.
  func areHeard(through report: UInt64) -> Bool {
    !areTold || gained.isEmpty && newestTold <= report
  }

  /// Puts the news into a report, as far as they fit. What came and went since is told in this
  /// order: first what is there, then what is not.
  mutating func tell(_ report: inout WorkerReport) {
    report.held = Self.takeFirst(&gained)
    for content in report.held { toldIn[content.digest] = report.number }
    if !report.held.isEmpty { newestTold = report.number }
    // A loss must not overtake the gain before it.
    if gained.isEmpty { report.lost = Self.takeFirst(&lost) }
    // Gained again since.
    report.lost.removeAll { held[$0] != nil }
    report.unreached = Self.takeFirst(&newlyUnreached)
    report.unreached.removeAll { unreached[$0.content.digest] == nil }
    report.undelivered = Self.takeFirst(&undelivered)
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

  /// Whether a content is waited for, and nobody who has it can be reached from here.
  package func cannotReach(_ digest: ContentDigest) -> Bool { contents.isUnreached(digest) }

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
      self.contents.endUnreached(content.digest)
      if self.contents.keepAgain(content.digest) { effects.append(.keep([content.digest])) }
      self.contents.add(content)
      for ticket in self.contents.endFetch(content.digest)
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
    contents.endUnreached(digest)
    for ticket in contents.endFetch(digest)
    where waitsForContents(ticket) {
      change(ticket.slot, .recall, at: now, into: &effects)
    }
  }

  /// None of those who have a content can be reached. Who waits for it goes on waiting, and so does
  /// a copy that is to be made here: others may bring it, to a worker that has a store.
  mutating func noteUnreached(
    _ content: StoredContent, _ reason: String, at now: Instant,
    into effects: inout [ExecutionEffect]
  ) {
    guard mayStoreOutputs else {
      return missed(content, .cannotStart, reason, at: now, into: &effects)
    }
    if isWanted(content.digest) {
      contents.addUnreached(content, reason)
    } else {
      _ = contents.endFetch(content.digest)
    }
  }

  /// Whether somebody here waits for it, or a copy was ordered.
  private func isWanted(_ digest: ContentDigest) -> Bool {
    contents.isCopied(digest) || contents.fetches[digest]?.contains(where: waitsForContents) == true
  }

  private mutating func fetch(
    _ content: StoredContent, from sources: [ContentSource],
    into effects: inout [ExecutionEffect]
  ) {
    contents.noteFetch(content, from: sources)
    effects.append(.fetch(content, from: sources))
  }

  /// Takes the word who has a content: what is waited for is fetched from them as well. Nobody, and
  /// it cannot be reached: it is lost, and who waits for it is given back.
  private mutating func fetchAgain(
    _ known: ContentHolders, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    let isUnreached = contents.endUnreached(known.digest) != nil
    if isUnreached, known.sources.isEmpty {
      giveBackReaders(of: known.digest, at: now, into: &effects)
    } else if let content = contents.wantedContent(known.digest), !known.sources.isEmpty {
      fetch(content, from: known.sources, into: &effects)
    } else if contents.held[known.digest] == nil {
      contents.holders[known.digest] = known.sources
    }
  }

  /// Nobody can bring a content that cannot be reached from here.
  private mutating func endWaits(
    for digest: ContentDigest, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    guard let unreached = contents.endUnreached(digest) else { return }
    missed(
      unreached.content, .cannotStart, "\(unreached.reason), and nobody can bring it", at: now,
      into: &effects)
  }

  /// A content will not come: who waits for it cannot start here.
  mutating func missed(
    _ content: StoredContent, _ cause: FailureCause, _ reason: String, at now: Instant,
    into effects: inout [ExecutionEffect]
  ) {
    contents.endCopy(content.digest, hasCome: false)
    for ticket in contents.endFetch(content.digest)
    where waitsForContents(ticket) {
      let slot = ticket.slot
      var result = AttemptResult()
      result.cause = cause
      result.diagnostic =
        "an input of \(content.size) bytes (\(content.digest.short)) did not come to worker "
        + "'\(identity.name)': \(reason)"
      change(slot, .inputMissed, at: now, into: &effects)
      outbox.append(.finished(attempts[slot].id, result))
      settle(slot, result.outcomeAtWorker(isCancelled: false), [], into: &effects)
    }
  }

  /// The contents that an attempt reads, each once, in order: those of what it was given, and of
  /// what operations that it awaited have left here. Costs both.
  func contentsNeeded(by slot: Slot) -> [StoredContent] {
    var inputs = attempts[slot].inputs
    var number = attempts[slot].firstAwait
    while number.exists {
      if let input = edges[number].input { inputs.append(input) }
      number = edges[number].nextAwait
    }
    return contents(of: inputs, readBy: slot)
  }

  private func contents(of inputs: [DependencyInput], readBy slot: Slot) -> [StoredContent] {
    inputs.contents(templates[Int(attempts[slot].template.position)].contentNeeds)
  }

  /// Notes that an attempt reads what an operation that it awaited has left here, so that it hears
  /// of a loss while it waits for others. False: that is lost already.
  mutating func awaitsRead(_ number: EdgeNumber) -> Bool {
    guard let input = edges[number].input, input.output?.isEmpty == false else { return true }
    let slot = edges[number].to
    let contents = contents(of: [input], readBy: slot)
    guard contents.allSatisfy({ holds($0.digest) }) else { return false }
    for content in contents {
      self.contents.addReader(attempts.ticket(slot), of: content.digest)
    }
    return true
  }

  /// The same for all that a new attempt awaited and that has ended here before.
  mutating func awaitsAreRead(by slot: Slot) -> Bool {
    var areThere = true
    var number = attempts[slot].firstAwait
    while number.exists {
      if !awaitsRead(number) { areThere = false }
      number = edges[number].nextAwait
    }
    return areThere
  }

  /// Makes a new attempt wait for the contents of what it was given that are not here.
  mutating func awaitContents(_ slot: Slot, into effects: inout [ExecutionEffect]) {
    for content in contents(of: attempts[slot].inputs, readBy: slot) {
      let sources = contents.holders.removeValue(forKey: content.digest) ?? []
      if contents.held[content.digest] != nil {
        contents.addReader(attempts.ticket(slot), of: content.digest)
        continue
      }
      let isNew = contents.fetches[content.digest] == nil
      contents.fetches[content.digest, default: []].append(attempts.ticket(slot))
      attempts[slot].unmet += 1
      // Also for one that is on its way: there may be further holders.
      if isNew || !sources.isEmpty { fetch(content, from: sources, into: &effects) }
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
      if isWanted {
        contents.fetches[content.digest] = others
      } else {
        _ = contents.endFetch(content.digest)
      }
      if !isWanted {
        contents.endUnreached(content.digest)
        effects.append(.dropFetch(content.digest))
      }
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
    if isNew || !sources.isEmpty { fetch(content, from: sources, into: &effects) }
  }

  /// Obeys the parts of orders that are about contents, before the dispatches.
  mutating func obeyContents(
    _ orders: WorkerOrders, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    for content in orders.holders { fetchAgain(content, at: now, into: &effects) }
    for digest in orders.unobtainable { endWaits(for: digest, at: now, into: &effects) }
    if !orders.deliveries.isEmpty { effects.append(.deliver(orders.deliveries)) }
    for content in orders.copies { copy(content, into: &effects) }
    if !orders.grants.isEmpty { effects.append(.grant(orders.grants)) }
    let heard = max(orders.heard, orders.acknowledged)
    let released = contents.mayLeave(orders.released, heard: heard)
    if !released.isEmpty {
      contents.noteLetGo(released)
      effects.append(.letGo(released))
    }
    if !orders.retained.isEmpty {
      for digest in orders.retained { _ = contents.keepAgain(digest) }
      effects.append(.keep(orders.retained))
    }
    for key in orders.revoked { effects.append(.revoke(key)) }
  }
}
