// Contents of other stores: an attempt starts when all that its inputs name is there.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterExecution

@Suite(.checks("S137", "S140")) struct ContentsTests {
  private static func content(_ number: UInt8, size: Int64) throws -> StoredContent {
    let bytes = [UInt8](repeating: number, count: ContentDigest.byteCount)
    return StoredContent(digest: try #require(ContentDigest(bytes: bytes)), size: size)
  }

  /// An output that names contents of less than 128 bytes, as it is encoded (`Outputs.contents`).
  private static func output(_ contents: [StoredContent]) -> [UInt8] {
    var bytes: [UInt8] = []
    for content in contents {
      bytes += [5 << 3 | 2, 36, 1 << 3 | 2, 32]
      bytes += content.digest.bytes
      bytes += [2 << 3, UInt8(content.size)]
    }
    return bytes
  }

  private static func dispatch(
    _ index: UInt32, reading contents: [StoredContent], awaits: [UInt32] = []
  ) -> Dispatch {
    var dispatch = Rig.dispatch(index, awaits: awaits)
    dispatch.inputs = [
      DependencyInput(
        operation: OperationID(graph: GraphID(3), index: 0), name: "from", index: nil,
        outcome: .succeeded, output: output(contents))
    ]
    return dispatch
  }

  private static func result(_ content: StoredContent) -> AttemptResult {
    var result = AttemptResult.success
    result.output = output([content])
    return result
  }

  private static func rig(cpus: Int64 = 2) -> Rig {
    var rig = Rig(cpus: cpus, hasStore: true)
    rig.welcome()
    rig.order { $0.templates = [Rig.template(work: .call(OperationType(name: "t")))] }
    _ = rig.trace()
    return rig
  }

  private static let source = ContentSource(endpoint: "tcp://other:1")

  @Test func startsWhenAllIsThere() throws {
    var rig = Self.rig()
    let (small, large) = (try Self.content(1, size: 10), try Self.content(2, size: 100))
    rig.order { orders in
      orders.holders = [ContentHolders(digest: small.digest, sources: [Self.source])]
      orders.dispatches = [Self.dispatch(0, reading: [small, large, small])]
    }
    #expect(rig.trace() == ["fetch 10 from tcp://other:1", "fetch 100 from "])
    rig.apply(.contentsGained([large]))
    #expect(rig.trace() == ["report 2: +100 "])
    rig.apply(.contentsGained([small]))
    #expect(rig.trace() == ["launch 0", "report 3: +10 started 0"])
    // What is here is not fetched.
    rig.order { $0.dispatches = [Self.dispatch(1, reading: [large])] }
    #expect(rig.trace() == ["launch 1", "report 4: started 1"])
  }

  /// What an operation has left here is read by one that awaited it, and awaits another: it is
  /// given back when that is lost meanwhile.
  @Test(.checks("S151")) func whatWasAwaitedIsLost() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.dispatches = [
        Rig.dispatch(0), Rig.dispatch(1), Rig.dispatch(2, awaits: [0, 1]),
        Rig.dispatch(3, awaits: [1]),
      ]
    }
    rig.apply(.contentsGained([content]))
    rig.end(0, Self.result(content))
    _ = rig.trace()
    rig.apply(.contentsLost([content.digest]))
    #expect(rig.trace().last?.hasSuffix("recalled 2") == true)
    // One that comes when it is lost already.
    rig.order { $0.dispatches = [Rig.dispatch(4, awaits: [0, 1])] }
    #expect(rig.trace().last?.hasSuffix("recalled 4") == true)
    rig.end(1)
    #expect(rig.trace().first == "launch 3")
  }

  @Test func waitsForContentsAndForOperations() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.dispatches = [Rig.dispatch(0), Self.dispatch(1, reading: [content], awaits: [0])]
    }
    #expect(rig.trace() == ["fetch 10 from ", "launch 0", "report 2: started 0"])
    rig.apply(.contentsGained([content]))
    #expect(rig.trace() == ["report 3: +10 "])
    rig.end(0)
    #expect(rig.trace() == ["launch 1", "report 4: finished 0 ok, started 1"])
  }

  @Test func oneFetchForAllThatWait() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.dispatches = (0..<3).map { Self.dispatch($0, reading: [content]) }
    }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.order { $0.recalls = [Rig.attempt(0)] }
    #expect(rig.trace() == ["report 2: recalled 0"])
    rig.apply(.contentMissed(content, "its holders cannot read it", .failed))
    #expect(rig.trace() == ["report 3: finished 1 cannotStart, finished 2 cannotStart"])
    rig.order(acknowledged: 3)
    #expect(rig.core.counts.assigned == 0)
    #expect(rig.core.counts.unacknowledged == 0)
  }

  /// All holders that were named are said to be out of reach, the last ones first: the coordinator
  /// would go on with those that it does not hear of.
  @Test(.checks("S154")) func whoCannotBeReached() throws {
    let content = try Self.content(1, size: 10)
    let sources = (0..<Limits.holdersReported + 4).map {
      ContentSource(endpoint: "tcp://holder\($0):1")
    }
    var contents = WorkerContents()
    contents.begin(areTold: true)
    contents.noteFetch(content, from: Array(sources[0...3]))
    contents.noteFetch(content, from: [sources[4], sources[1]])
    contents.noteFetch(content, from: [])
    contents.addUnreached(content, "they cannot be reached")
    let conversation = Conversation(
      epoch: Epoch(1), session: WorkerSession(1), increment: 1)
    var report = WorkerReport(conversation: conversation, number: 1)
    contents.tell(&report)
    let named = [4, 1, 0, 2, 3].map { sources[$0] }
    #expect(report.unreached == [UnreachedContent(content, from: named)])
    for source in sources { contents.noteFetch(content, from: [source]) }
    contents.endUnreached(content.digest)
    contents.addUnreached(content, "they cannot be reached")
    contents.tell(&report)
    let last = Array(sources.reversed().prefix(Limits.holdersReported))
    #expect(report.unreached == [UnreachedContent(content, from: last)])
  }

  /// Who waits for what cannot be reached goes on waiting, until the coordinator has had it brought
  /// or found somebody else who has it, or says that nobody can, or that nobody has it.
  @Test(.checks("S154"), arguments: ["brought", "elsewhere", "by nobody", "lost"])
  func whatCannotBeReached(what: String) throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { $0.dispatches = [Self.dispatch(0, reading: [content])] }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.apply(.contentMissed(content, "they cannot be reached", .unreachable))
    #expect(rig.trace() == ["report 2: ?10 "])
    #expect(rig.core.cannotReach(content.digest) && rig.core.counts.assigned == 1)
    switch what {
    case "brought":
      rig.apply(.contentsGained([content]))
      #expect(rig.trace() == ["launch 0", "report 3: +10 started 0"])
    case "elsewhere":
      rig.order { orders in
        orders.holders = [ContentHolders(digest: content.digest, sources: [Self.source])]
      }
      #expect(rig.trace() == ["fetch 10 from tcp://other:1"])
      rig.apply(.contentMissed(content, "they cannot be reached", .unreachable))
      #expect(rig.trace() == ["report 3: ?10 "])
    case "lost":
      rig.order { $0.holders = [ContentHolders(digest: content.digest, sources: [])] }
      #expect(rig.trace() == ["report 3: recalled 0"])
    default:
      rig.order { $0.unobtainable = [content.digest] }
      #expect(rig.trace() == ["report 3: finished 0 cannotStart"])
    }
    #expect(rig.core.cannotReach(content.digest) == (what == "elsewhere"))
    // What nobody waits for is nobody's trouble.
    rig.apply(.contentMissed(try Self.content(2, size: 20), "late", .unreachable))
    #expect(rig.trace() == [])
  }

  /// A copy is brought as well, whoever reads it here or does not.
  @Test(.checks("S154"), arguments: ["brought", "by nobody", "read meanwhile", "anew"])
  func aCopyWaitsForOthers(what: String) throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { $0.copies = [content] }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.apply(.contentMissed(content, "they cannot be reached", .unreachable))
    #expect(rig.trace() == ["report 2: ?10 "])
    switch what {
    case "brought":
      rig.apply(.contentsGained([content]))
      #expect(rig.trace() == ["report 3: +10 "])
    case "by nobody":
      rig.order { $0.unobtainable = [content.digest] }
      #expect(rig.trace() == ["report 3: -01 "])
    case "read meanwhile":
      rig.order { $0.dispatches = [Self.dispatch(0, reading: [content])] }
      rig.order { $0.recalls = [Rig.attempt(0)] }
      _ = rig.trace()
      #expect(rig.core.cannotReach(content.digest))
      return
    default:
      rig.apply(.disconnected)
      rig.welcome()
      _ = rig.trace()
    }
    #expect(!rig.core.cannotReach(content.digest))
  }

  /// A release that is obeyed between the making of a content and the word of it does not count.
  @Test func whatIsMadeAgainIsKept() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.apply(.contentsGained([content]))
    #expect(rig.trace() == ["report 2: +10 "])
    rig.order(acknowledged: 2) { $0.released = [content.digest] }
    #expect(rig.trace() == ["let go 1"])
    rig.apply(.contentsGained([content]))
    #expect(rig.trace() == ["keep 1", "report 3: +10 "])
    rig.apply(.contentsGained([content]))
    #expect(rig.trace() == ["report 4: +10 "])
  }

  @Test(.checks("S154")) func withoutAStoreNothingCanBeBrought() throws {
    var rig = Rig()
    rig.welcome()
    rig.order { $0.templates = [Rig.template(work: .call(OperationType(name: "t")))] }
    _ = rig.trace()
    let content = try Self.content(1, size: 10)
    rig.order { $0.dispatches = [Self.dispatch(0, reading: [content])] }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.apply(.contentMissed(content, "they cannot be reached", .unreachable))
    #expect(rig.trace() == ["report 2: finished 0 cannotStart"])
  }

  /// The coordinator knew that nobody can be reached, and found somebody before the search ended.
  @Test(.checks("S154")) func aHolderIsFoundDuringTheSearch() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { $0.dispatches = [Self.dispatch(0, reading: [content])] }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.order { orders in
      orders.holders = [ContentHolders(digest: content.digest, sources: [Self.source])]
    }
    #expect(rig.trace() == ["fetch 10 from tcp://other:1"])
  }

  @Test(.checks("S154")) func whatIsNotDeliveredIsTold() throws {
    var rig = Self.rig()
    let delivery = ContentDelivery(try Self.content(1, size: 10), to: Self.source)
    rig.order { $0.deliveries = [delivery] }
    #expect(rig.trace() == ["deliver 10 to tcp://other:1"])
    rig.apply(.undelivered([FailedDelivery(delivery, isUnreached: true)]))
    #expect(rig.trace() == ["report 2: !10 "])
  }

  /// The coordinator has to say anew who has it: no attempt fails because of that.
  @Test func whatHoldersDoNotGiveGivesItsReadersBack() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.dispatches = (0..<2).map { Self.dispatch($0, reading: [content]) }
    }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.apply(.contentMissed(content, "it is not granted", .holdersChanged))
    #expect(rig.trace() == ["report 2: recalled 0, recalled 1"])
    rig.order(acknowledged: 2) { $0.dispatches = [Self.dispatch(2, reading: [content])] }
    #expect(rig.trace() == ["fetch 10 from "])
  }

  /// A copy for which nobody waits is fetched, goes on when its last reader leaves, and is told to
  /// be lost if it does not come.
  @Test func copies() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.copies = [content]
      orders.dispatches = [Self.dispatch(0, reading: [content])]
    }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.order { $0.recalls = [Rig.attempt(0)] }
    #expect(rig.trace() == ["report 2: recalled 0"])
    rig.apply(.contentMissed(content, "by chance", .holdersChanged))
    #expect(rig.trace() == ["report 3: -\(content.digest.short.prefix(2)) "])
    rig.order { $0.copies = [content] }
    #expect(rig.trace() == ["fetch 10 from "])
    rig.apply(.contentsGained([content]))
    #expect(rig.trace() == ["report 4: +10 "])
    // It is there.
    rig.order { $0.copies = [content] }
    #expect(rig.trace() == [])
  }

  @Test func whatNobodyWaitsForIsNotFetched() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.dispatches = (0..<2).map { Self.dispatch($0, reading: [content]) }
    }
    rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0))] }
    _ = rig.trace()
    rig.order { $0.recalls = [Rig.attempt(1)] }
    #expect(rig.trace() == ["drop 010101010101", "report 3: recalled 1"])
    // It comes all the same, and again somebody waits.
    rig.order { $0.dispatches = [Rig.dispatch(2)] }
    rig.apply(.contentsGained([content]))
    #expect(rig.trace().contains { $0.contains("+10") })
  }

  @Test func aConversationBeginsWithAllThatIsThere() throws {
    var rig = Self.rig()
    let contents = try (1...3).map { try Self.content($0, size: Int64($0)) }
    rig.apply(.contentsGained(contents))
    rig.apply(.contentsLost([contents[1].digest]))
    #expect(rig.trace() == ["report 2: +1 +2 +3 ", "report 3: -02 "])
    rig.apply(.disconnected)
    rig.apply(.contentsLost([contents[0].digest]))
    rig.apply(.contentsGained([contents[1]]))
    _ = rig.trace()
    rig.welcome(increment: 2)
    #expect(rig.trace().last == "report 1: +2 +3 ")
  }

  /// What was gained again after the coordinator had decided to release it, stays.
  @Test func aReleaseThatIsLateDoesNotCount() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.apply(.contentsGained([content]))
    rig.apply(.contentsGained([content]))
    #expect(rig.trace() == ["report 2: +10 ", "report 3: +10 "])
    rig.order { orders in
      orders.heard = 2
      orders.released = [content.digest]
    }
    #expect(rig.trace() == [])
    rig.order { orders in
      orders.heard = 3
      orders.released = [content.digest]
    }
    #expect(rig.trace() == ["let go 1"])
  }

  /// A worker that leaves waits for an order that knows what is in its store.
  @Test(.checks("S148", "G42")) func itLeavesWhenNobodyNeedsItsStore() throws {
    var rig = Self.rig()
    rig.apply(.leave)
    #expect(rig.trace() == ["report 2:  leaving"])
    // Others fetch what it has said before.
    rig.order { $0.heard = 2 }
    #expect(rig.trace() == [] && rig.core.exit == nil)
    rig.apply(.contentsGained([try Self.content(1, size: 10)]))
    #expect(rig.trace() == ["report 3: +10  leaving"])
    // Decided before that report had come.
    rig.order { orders in
      orders.heard = 2
      orders.drain = true
    }
    #expect(rig.trace() == [] && rig.core.exit == nil)
    rig.order { orders in
      orders.heard = 3
      orders.drain = true
    }
    #expect(rig.trace() == ["goodbye"] && rig.core.exit == .drained)
  }

  /// What it has is needed again after it was told to leave, while something runs.
  @Test(.checks("S148", "G42")) func anOrderToLeaveIsTakenBack() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.apply(.contentsGained([content]))
    rig.order { $0.dispatches = [Rig.dispatch(0)] }
    rig.order { orders in
      orders.heard = 9
      orders.drain = true
    }
    rig.order { orders in
      orders.heard = 9
      orders.retained = [content.digest]
    }
    rig.end(0)
    _ = rig.trace()
    rig.order(acknowledged: 9) { $0.heard = 9 }
    #expect(rig.trace() == [] && rig.core.exit == nil)
    rig.order(acknowledged: 9) { $0.drain = true }
    #expect(rig.trace().contains("goodbye") && rig.core.exit == .drained)
  }

  /// A conversation that begins anew forgets the order, since the store is told anew; a stop waits
  /// for nobody.
  @Test(.checks("S148", "G42")) func theOrderToLeaveBelongsToItsConversation() throws {
    var rig = Self.rig()
    rig.apply(.contentsGained([try Self.content(1, size: 10)]))
    rig.order { $0.dispatches = [Rig.dispatch(0)] }
    rig.order { orders in
      orders.heard = 2
      orders.drain = true
    }
    #expect(rig.core.exit == nil)
    rig.apply(.disconnected)
    rig.welcome(increment: 2)
    rig.order { $0.drain = true }
    rig.end(0)
    _ = rig.trace()
    rig.order(acknowledged: 2) { $0.templates = [Rig.template(1)] }
    #expect(rig.trace() == ["learn t1 as 1"] && rig.core.exit == nil)
    rig.apply(.stop)
    #expect(rig.trace() == ["goodbye"] && rig.core.exit == .stopped)
  }

  @Test func ordersAboutTheStoreReachIt() throws {
    var rig = Self.rig()
    let content = try Self.content(1, size: 10)
    rig.order { orders in
      orders.grants = [GrantOrder(digest: content.digest, reader: [])]
      orders.released = [content.digest]
      orders.retained = [content.digest]
      orders.revoked = [content.digest.bytes]
    }
    #expect(rig.trace() == ["grant 1", "let go 1", "keep 1", "revoke"])
    #expect(rig.core.mayStoreOutputs)
  }

  @Test func withoutAStoreNothingIsTold() throws {
    var rig = Rig()
    rig.welcome()
    _ = rig.trace()
    rig.apply(.contentsGained([try Self.content(1, size: 1)]))
    #expect(rig.trace() == [])
    #expect(!rig.core.mayStoreOutputs)
  }

  /// What was there when an attempt came and has left the store since: the attempt is given back,
  /// whether it waits for room or for something else. A running one has it already.
  @Test func isGivenBackWhenItsInputsAreLost() throws {
    var rig = Self.rig(cpus: 1)
    let (here, missing) = (try Self.content(1, size: 10), try Self.content(2, size: 20))
    rig.apply(.contentsGained([here]))
    rig.order { orders in
      orders.dispatches = [
        Self.dispatch(0, reading: [here]), Self.dispatch(1, reading: [here]),
        Self.dispatch(2, reading: [here, missing]), Rig.dispatch(3),
      ]
    }
    #expect(rig.trace().contains("launch 0"))
    rig.apply(.contentsLost([here.digest]))
    #expect(rig.trace() == ["drop 020202020202", "report 4: -01 recalled 1, recalled 2"])
    #expect(rig.core.counts.assigned == 1, "the one that reads nothing stays")
    rig.end(0)
    #expect(rig.trace().contains("launch 3"))
  }
}
