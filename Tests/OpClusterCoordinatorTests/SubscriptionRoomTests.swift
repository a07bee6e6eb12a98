// What subscriptions may take of the coordinator's memory: what they select, and what is found out
// for them, bounded for each, for each principal and for all together (G29).

import Citations
import OpClusterJournal
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling
import OpClusterWire
import Testing

@testable import OpClusterCoordinator

@Suite(.checks("G29")) struct SubscriptionRoomTests {
  /// A selection of so many graphs that do not touch.
  private static func filter(graphs count: Int) -> EventFilter {
    let graphs = (0..<UInt32(count)).map { number in
      Selection.ClosedRangeOfGraphs(GraphID(2 * number + 1), GraphID(2 * number + 1))
    }
    return filter(Selection(graphs: .numbers(graphs)))
  }

  private static func filter(_ selection: Selection, includesOwn: Bool = false) -> EventFilter {
    EventFilter(
      selection, graphs: GraphSet(selection.graphs, living: .init(), last: 0), graphsOnly: false,
      includesOwn: includesOwn)
  }

  private let largest = Self.filter(graphs: Limits.subscriptionBytes / 8)

  private func subscribe(
    _ subscriptions: inout Subscriptions, _ filter: EventFilter, number: UInt64, of peer: UInt64,
    by holder: QuotaHolder
  ) -> Refusal? {
    let peer = PeerID(peer)
    let refusal = subscriptions.lackOfRoom(for: filter, number: number, of: peer, by: holder)
    if let refusal { return refusal }
    var effects: [Subscriptions.Effect] = []
    subscriptions.add(
      EventSubscription(number: number, selection: filter.selection), filter, peer: peer,
      by: holder, request: RequestID(number), decided: 0, into: &effects)
    return nil
  }

  // MARK: - What is selected

  @Test func oneSubscription() {
    var subscriptions = Subscriptions(told: 0)
    #expect(largest.bytes == Limits.subscriptionBytes)
    #expect(
      subscribe(&subscriptions, largest, number: 1, of: 1, by: .connection(PeerID(1))) == nil)
    let more = Self.filter(graphs: Limits.subscriptionBytes / 8 + 1)
    let refusal = subscribe(&subscriptions, more, number: 1, of: 2, by: .connection(PeerID(2)))
    #expect(refusal?.code == .limitExceeded)
    #expect(refusal?.message.contains("\(Limits.subscriptionBytes >> 10) KiB") == true)
  }

  /// The graphs of a selection are kept once; its elements and labels count, too.
  @Test func everyPartOfASelectionCounts() {
    let elements = (0..<1_000).map { IndexRun(first: 3 * $0, count: 1) }
    #expect(
      Self.filter(Selection(graphs: .all, operation: "a", elements: elements)).bytes >= 12_000)
    let label = Label(key: "k", value: String(repeating: "v", count: 200))
    #expect(Self.filter(Selection(graphs: .all, labels: [label, label])).bytes >= 400)
    #expect(Self.filter(graphs: 1_000).selection.graphs == .numbers([]))
  }

  @Test func onePrincipal() {
    var subscriptions = Subscriptions(told: 0)
    let most = Limits.subscriptionBytesPerPrincipal / (Limits.subscriptionBytes + 512)
    var taken = 0
    // On connections of their own: the principal counts.
    while taken <= most,
      subscribe(
        &subscriptions, largest, number: 1, of: UInt64(taken + 1), by: .key("observer")) == nil
    { taken += 1 }
    #expect(taken == most)
    #expect(subscriptions.bytes <= Limits.subscriptionBytesPerPrincipal)
    let refusal = subscribe(&subscriptions, largest, number: 2, of: 1, by: .key("observer"))
    #expect(refusal?.code == .limitExceeded && refusal?.message.contains("key observer") == true)
    // The same one anew, or after another has gone, is not more.
    #expect(subscribe(&subscriptions, largest, number: 1, of: 1, by: .key("observer")) == nil)
    subscriptions.remove(peer: PeerID(2))
    #expect(subscribe(&subscriptions, largest, number: 2, of: 1, by: .key("observer")) == nil)
    #expect(subscribe(&subscriptions, largest, number: 1, of: 99, by: .key("other")) == nil)
    for peer in 1...100 as ClosedRange<UInt64> { subscriptions.remove(peer: PeerID(peer)) }
    #expect(subscriptions.bytes == 0 && subscriptions.isEmpty)
  }

  /// Where all is taken, small ones of newcomers still are.
  @Test func allTogether() {
    var subscriptions = Subscriptions(told: 0)
    var peer: UInt64 = 0
    while subscriptions.bytes + Limits.subscriptionBytes < Limits.subscriptionBytesTogether {
      peer += 1
      let holder = QuotaHolder.connection(PeerID(peer))
      #expect(subscribe(&subscriptions, largest, number: 1, of: peer, by: holder) == nil)
    }
    let holder = QuotaHolder.connection(PeerID(peer + 1))
    let refusal = subscribe(&subscriptions, largest, number: 1, of: peer + 1, by: holder)
    #expect(refusal?.code == .busy && refusal?.retryAfter != nil)
    #expect(subscriptions.bytes <= Limits.subscriptionBytesTogether)
    let small = Self.filter(Selection.graph(GraphID(1)))
    #expect(subscribe(&subscriptions, small, number: 1, of: peer + 1, by: holder) == nil)
  }

  @Test func subscriptionsToOwnGraphs() {
    var subscriptions = Subscriptions(told: 0)
    let own = Self.filter(Selection(graphs: .numbers([])), includesOwn: true)
    let most = UInt64(CoordinatorLimits.ownSubscriptionsPerClient)
    for number in 1...most {
      #expect(subscribe(&subscriptions, own, number: number, of: 1, by: .key("a")) == nil)
    }
    #expect(
      subscribe(&subscriptions, own, number: most + 1, of: 1, by: .key("a"))?.code
        == .limitExceeded)
    #expect(subscribe(&subscriptions, own, number: most, of: 1, by: .key("a")) == nil)
    #expect(subscribe(&subscriptions, own, number: 1, of: 2, by: .key("a")) == nil)
  }

  // MARK: - What is found out

  private func scope(parts: Int) -> EventFilter.Scope {
    .operations((0..<UInt32(parts)).map { 2 * $0..<2 * $0 + 1 })
  }

  @Test func whatIsFoundOutIsBounded() {
    var filter = Self.filter(Selection(graphs: .all, operation: "a"))
    let parts = scope(parts: 1_000)
    for number in 1...100 {
      filter.learn(parts, of: GraphID(UInt32(number)), within: 50_000)
      #expect(filter.scopeBytes <= 50_000)
      #expect(filter.scopes[GraphID(UInt32(number))] == parts)
    }
    filter.learn(scope(parts: 10_000), of: GraphID(200), within: 50_000)
    #expect(filter.scopes[GraphID(200)] == nil, "too large to be kept")
    for number in 1...100 { filter.forget(GraphID(UInt32(number))) }
    #expect(filter.scopeBytes == 0 && filter.scopes.isEmpty)
  }

  /// However many subscriptions there are, all together keep no more than is meant for all.
  @Test func allTogetherKeepABoundedShare() throws {
    var subscriptions = Subscriptions(told: 100)
    let filter = Self.filter(Selection(graphs: .all, operation: "a"))
    let parts = scope(parts: 65_536)
    for peer in 1...100 as ClosedRange<UInt64> {
      var effects: [Subscriptions.Effect] = []
      let wish = EventSubscription(number: 1, selection: filter.selection, since: 0)
      subscriptions.add(
        wish, filter, peer: PeerID(peer), by: .connection(PeerID(peer)), request: RequestID(1),
        decided: 100, into: &effects)
      guard case .read(let question)? = effects.first else {
        Issue.record("nothing is read")
        return
      }
      let content = Slice.Content(
        from: 1, runs: [], next: 101,
        scopes: (1...20).map { (GraphID(UInt32($0)), parts) })
      subscriptions.take(Slice(number: question.number, content: .success(content)), into: &effects)
      subscriptions.flush(at: .zero, stuck: [], into: &effects)
      #expect(subscriptions.scopeBytes <= Limits.scopeBytesTogether)
    }
    #expect(Limits.leastScopeShare * Limits.clients <= Limits.scopeBytesTogether)
  }

  @Test func partsOfAGraph() throws {
    var submission = GraphSubmission(name: "g")
    let most = UInt32(Limits.partsPerScope)
    submission.templates = [OperationTemplate(name: "a", count: 2 * most + 2, work: .command)]
    submission.templates[0].isArray = true
    func scope(_ count: UInt32) throws -> EventFilter.Scope {
      let selection = Selection(
        graphs: .all, operation: "a", elements: [IndexRun(first: 1, count: count, step: 2)])
      return try EventFilter.Scope(selection, submission, graph: GraphID(1))
    }
    guard case .operations(let ranges) = try scope(most) else {
      Issue.record("not single operations")
      return
    }
    #expect(ranges.count == Limits.partsPerScope)
    #expect(throws: Refusal.self) { try scope(most + 1) }
  }

  /// A slice ends before it has found out too much; the next one goes on, and nothing is missed.
  @Test func slicesFindOutABoundedAmount() throws {
    let count: UInt32 = 12
    let parts = UInt32(CoordinatorLimits.scopeBytesPerSlice) / 8 / 4
    var reader = HistoryReader(try journal(graphs: count, elements: 2 * parts))
    let selection = Selection(
      graphs: .all, operation: "a", elements: [IndexRun(first: 1, count: parts, step: 2)])
    var from: UInt64 = 1
    var told: [UInt64] = []
    var slices = 0
    while from <= UInt64(count), slices < 100 {
      slices += 1
      let question = SliceQuestion(
        number: 1, from: from, isFirst: false, isFromStart: false, room: 1_000,
        filter: Self.filter(selection))
      var inquiry = HistoryInquiry(.slice(question))
      guard case .found(.slice(let slice)) = reader.step(&inquiry) else { break }
      let content = try slice.content.get()
      told += content.runs.map(\.first.sequence)
      #expect(content.scopes.count <= 6)
      #expect(content.next > from, "a slice goes on")
      from = content.next
    }
    #expect(told == Array(1...UInt64(count)) && slices > 1)
  }

  /// A journal with one event of the first element of each graph.
  private func journal(graphs count: UInt32, elements: UInt32) throws -> MemoryJournal {
    let journal = MemoryJournal.open(
      disk: MemoryDisk(), observer: JournalObserver(onDurable: { _ in }, onFailure: { _ in })
    ).journal
    var submission = GraphSubmission(name: "g")
    submission.templates = [OperationTemplate(name: "a", count: elements, work: .command)]
    submission.templates[0].isArray = true
    var runs: [EventRun] = []
    var documents: [OpClusterJournal.Attachment] = []
    for number in 1...count {
      let subject = Event.Subject.operation(
        OperationID(graph: GraphID(number), index: 0), sequence: 1)
      let event = Event(
        sequence: UInt64(number), commit: CommitIndex(1), time: .unknown, subject: subject,
        kind: .isReady(true))
      runs.append(EventRun(first: event, count: 1))
      documents.append(
        .document(
          subject: UInt64(number), kind: DocumentKind.submission.rawValue,
          body: Wire.encode(submission: submission)))
    }
    let stream = OpClusterJournal.Attachment.stream(
      first: 1, count: count, body: Wire.encode(eventRuns: runs))
    let turn = JournalTurn(
      sequence: 1, epoch: 1, body: [], attachments: documents + [stream])
    #expect(journal.append(turn) == .accepted)
    journal.commit()
    return journal
  }
}
