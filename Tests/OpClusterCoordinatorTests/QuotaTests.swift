// Quotas of principals, the bounds of what waits for a peer, for the disk and for the history: each
// at its limit and one past it (G27, G29). Pure, but for the last.

import Citations
import Glibc
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ
import Synchronization
import Testing

@testable import OpClusterCoordinator

@Suite struct QuotaTests {
  private let one = QuotaHolder.key("one")
  private let other = QuotaHolder.key("other")
  private let start = Instant(nanoseconds: 5_000_000_000)

  private func book(_ change: (inout Quotas) -> Void) -> QuotaBook {
    var quotas = Quotas()
    change(&quotas)
    return QuotaBook(quotas)
  }

  /// A burst of `Limits.burstSeconds`, one more is refused, and again after the time that was said.
  @Test func requestsPerSecond() {
    var book = book { $0.requestsPerSecond = 10 }
    for _ in 0..<(10 * Limits.burstSeconds) {
      #expect(book.take(bytes: 1, operations: 0, by: one, at: start) == nil)
    }
    let refusal = book.take(bytes: 1, operations: 0, by: one, at: start)
    #expect(refusal?.code == .busy && refusal?.retryAfter == .milliseconds(100))
    #expect(book.take(bytes: 1, operations: 0, by: other, at: start) == nil)
    let early = start + .milliseconds(99)
    #expect(book.take(bytes: 1, operations: 0, by: one, at: early) != nil)
    let later = start + .milliseconds(100)
    #expect(book.take(bytes: 1, operations: 0, by: one, at: later) == nil)
    #expect(book.take(bytes: 1, operations: 0, by: one, at: later) != nil)
  }

  @Test func requestBytesPerSecond() {
    var book = book { $0.requestBytesPerSecond = 1_000 }
    let burst = 1_000 * Limits.burstSeconds
    #expect(book.take(bytes: burst, operations: 0, by: one, at: start) == nil)
    let refusal = book.take(bytes: 500, operations: 0, by: one, at: start)
    #expect(refusal?.retryAfter == .milliseconds(500))
    // Larger than any burst: once everything else is paid for.
    #expect(book.take(bytes: burst * 3, operations: 0, by: other, at: start) == nil)
    #expect(book.take(bytes: 1, operations: 0, by: other, at: start) != nil)
  }

  /// The built-in rates, at each and one past it.
  @Test func builtInRates() {
    var book = QuotaBook(Quotas())
    for _ in 0..<(Limits.requestsPerSecond * Limits.burstSeconds) {
      #expect(book.take(bytes: 1, operations: 0, by: one, at: start) == nil)
    }
    #expect(book.take(bytes: 1, operations: 0, by: one, at: start)?.code == .busy)
    let burst = Limits.requestBytesPerSecond * Limits.burstSeconds
    #expect(book.take(bytes: burst, operations: 0, by: other, at: start) == nil)
    #expect(book.take(bytes: Limits.messageBytes, operations: 0, by: other, at: start) != nil)
  }

  @Test func pendingOperations() {
    var book = QuotaBook(Quotas())
    #expect(book.take(bytes: 1, operations: Limits.pendingOperations, by: one, at: start) == nil)
    book.began(GraphID(1), operations: Limits.pendingOperations, by: one)
    let refusal = book.take(bytes: 1, operations: 1, by: one, at: start)
    #expect(refusal?.code == .busy && refusal?.retryAfter != nil)
    #expect(book.take(bytes: 1, operations: 0, by: one, at: start) == nil)
    #expect(book.take(bytes: 1, operations: 1, by: other, at: start) == nil)
    book.ended(GraphID(1))
    book.ended(GraphID(1))
    #expect(book.take(bytes: 1, operations: Limits.pendingOperations, by: one, at: start) == nil)
    #expect(
      book.take(bytes: 1, operations: Limits.pendingOperations + 1, by: other, at: start) != nil)
  }

  /// `Limits.pendingBytesPerPrincipal` and `Limits.pendingBytes`: what graphs have beyond
  /// `Limits.pendingBytesPerOperation`; the first of each always fits, and what is small at all
  /// times.
  @Test func pendingBytes() {
    var book = QuotaBook(Quotas())
    let most = Limits.pendingBytesPerPrincipal
    #expect(book.lackOfRoom(for: 1, bytes: most * 3, by: one) == nil)
    book.began(GraphID(1), operations: 1, bytes: most, by: one)
    let rest = Limits.pendingBytesPerOperation
    #expect(book.lackOfRoom(for: 1, bytes: rest * 2, by: one) == nil)
    let refusal = book.lackOfRoom(for: 1, bytes: rest * 2 + 1, by: one)
    #expect(refusal?.code == .busy && refusal?.lacksRoom == true && refusal?.retryAfter != nil)
    #expect(book.lackOfRoom(for: 1_000, bytes: 1_000 * rest, by: one) == nil)
    book.began(GraphID(2), operations: 1, bytes: most, by: other)
    let third = QuotaHolder.key("third")
    let free = Limits.pendingBytes - 2 * (most - rest)
    #expect(book.lackOfRoom(for: 1, bytes: free + rest, by: third) == nil)
    #expect(book.lackOfRoom(for: 1, bytes: free + rest + 1, by: third)?.lacksRoom == true)
    book.ended(GraphID(2))
    #expect(book.lackOfRoom(for: 1, bytes: most, by: third) == nil)
    #expect(book.lackOfRoom(for: 1, bytes: rest * 2 + 1, by: one) != nil)
    book.ended(GraphID(1))
    #expect(book.lackOfRoom(for: 1, bytes: most * 3, by: one) == nil)
  }

  /// Blocks that are added to operations count like those that came with them, by whoever
  /// adds them, up to `Limits.pendingBytesPerPrincipal`, and until the graph has ended.
  @Test(.checks("G29")) func addedBlocks() {
    var book = QuotaBook(Quotas())
    let most = Limits.pendingBytesPerPrincipal
    book.began(GraphID(1), operations: 10, bytes: 100, by: one)
    book.added(most - 1, to: GraphID(1), by: other)
    #expect(book.lackOfRoom(forBlocks: 1, by: other) == nil)
    let refusal = book.lackOfRoom(forBlocks: 2, by: other)
    #expect(refusal?.code == .busy && refusal?.lacksRoom == true && refusal?.retryAfter != nil)
    #expect(book.lackOfRoom(for: 1, bytes: most, by: other)?.lacksRoom == true)
    #expect(book.lackOfRoom(forBlocks: most, by: one) == nil)
    // A graph of an earlier life belongs to nobody, what is added to it does.
    book.added(most, to: GraphID(2), by: one)
    #expect(book.lackOfRoom(forBlocks: 1, by: one) != nil)
    book.ended(GraphID(2))
    #expect(book.lackOfRoom(forBlocks: 1, by: one) == nil)
    book.ended(GraphID(1))
    #expect(book.lackOfRoom(forBlocks: most, by: other) == nil)
    book.forgetIdle(at: start + .seconds(1))
    #expect(book.count == 0)
  }

  /// `Limits.queuesPerPrincipal`: those that come with graphs, and go with them.
  @Test func queuesOfGraphs() {
    var book = QuotaBook(Quotas())
    book.began(GraphID(1), operations: 1, by: one)
    book.brought(Limits.queuesPerPrincipal - 1, with: GraphID(1), by: one)
    #expect(book.lackOfRoom(for: 1, queues: 1, by: one) == nil)
    #expect(book.lackOfRoom(for: 1, queues: 2, by: one)?.lacksRoom == true)
    #expect(book.lackOfRoom(for: 1, queues: 0, by: one) == nil)
    #expect(book.lackOfRoom(for: 1, queues: 2, by: other) == nil)
    book.ended(GraphID(1))
    #expect(book.lackOfRoom(for: 1, queues: Limits.queuesPerPrincipal, by: one) == nil)
  }

  /// `Limits.queuesPerPrincipal`: those that it made count with those of its graphs, until somebody
  /// removes them.
  @Test func queuesOfTheCluster() {
    var book = QuotaBook(Quotas())
    book.brought(Limits.queuesPerPrincipal - 2, with: GraphID(1), by: one)
    book.made(QueueID(1), by: one)
    #expect(book.lackOfRoomForAQueue(by: one) == nil)
    book.made(QueueID(2), by: one)
    #expect(book.lackOfRoomForAQueue(by: one)?.code == .limitExceeded)
    #expect(book.lackOfRoom(for: 1, queues: 1, by: one)?.lacksRoom == true)
    #expect(book.lackOfRoomForAQueue(by: other) == nil)
    book.removed(QueueID(1))
    book.removed(QueueID(1))
    book.removed(QueueID(77))
    #expect(book.lackOfRoomForAQueue(by: one) == nil)
    book.removed(QueueID(2))
    book.ended(GraphID(1))
    book.forgetIdle(at: start)
    #expect(book.count == 0)
  }

  @Test func connectionsPerPrincipal() {
    var book = QuotaBook(Quotas())
    for _ in 0..<Limits.connectionsPerPrincipal { #expect(book.connect(one) == nil) }
    #expect(book.connect(one)?.code == .busy)
    #expect(book.connect(other) == nil)
    book.disconnect(one)
    #expect(book.connect(one) == nil)
  }

  /// The book itself is bounded: an account that says nothing is forgotten.
  @Test func idleAccountsAreForgotten() {
    var book = QuotaBook(Quotas())
    for number in 0..<1_000 {
      _ = book.take(
        bytes: 1, operations: 0, by: .connection(PeerID(UInt64(number))), at: start)
    }
    book.began(GraphID(7), operations: 3, by: one)
    #expect(book.count == 1_001)
    book.forgetIdle(at: start + .seconds(1))
    #expect(book.count == 1)
    book.ended(GraphID(7))
    book.forgetIdle(at: start + .seconds(1))
    #expect(book.count == 0)
  }
}

@Suite struct BufferBoundTests {
  private func peer() -> Peer {
    Peer(id: PeerID(1), Sender(connection: RoutingID(number: 1)), .local, at: .zero)
  }

  @Test func messagesPerSlowPeer() {
    var peer = peer()
    let kept = (0..<Limits.messagesPerSlowPeer).allSatisfy { _ in peer.keep([1]) }
    let isOneMoreKept = peer.keep([1])
    #expect(kept && !isOneMoreKept)
    peer.dropKept(1)
    let isItsPlaceTaken = peer.keep([1])
    #expect(isItsPlaceTaken)
  }

  @Test func bytesPerSlowPeer() {
    var peer = peer()
    let half = [UInt8](repeating: 0, count: Limits.bytesPerSlowPeer / 2)
    let kept = [half, half, [1]].map { peer.keep($0) }
    #expect(kept == [true, true, false])
    #expect(peer.outboxBytes == Limits.bytesPerSlowPeer)
    peer.dropKept(2)
    #expect(peer.outboxBytes == 0)
    // One always fits.
    let keptAgain = [half + half + [1], [1]].map { peer.keep($0) }
    #expect(keptAgain == [true, false])
  }

  @Test func peersPerSocket() {
    var table = PeerTable()
    for number in 1...Limits.peersPerSocket {
      #expect(!table.isFull)
      let sender = Sender(connection: RoutingID(number: UInt32(number)))
      table.add(PeerID(UInt64(number)), sender, .local, at: .zero)
    }
    #expect(table.isFull)
    table.remove(PeerID(1))
    #expect(!table.isFull)
  }

  private func turn(_ commit: UInt64, bytes: Int) -> UnreleasedTurn {
    let reply = UnreleasedEffect.reply(PeerID(1), [UInt8](repeating: 0, count: bytes))
    return UnreleasedTurn(
      commit: commit, items: bytes > 0 ? [reply] : [], events: .runs([]), lastEvent: 0, since: .zero
    )
  }

  @Test func unreleasedTurns() {
    var queue = ReleaseQueue(durable: 0)
    for number in 1...UInt64(Limits.unreleasedTurns) {
      #expect(!queue.isFull)
      queue.append(turn(number, bytes: 0))
    }
    #expect(queue.isFull)
    queue.becameDurable(through: 1)
    _ = queue.next()
    #expect(!queue.isFull)
  }

  @Test func unreleasedBytes() {
    var queue = ReleaseQueue(durable: 0)
    queue.append(turn(1, bytes: Limits.unreleasedBytes - 1))
    #expect(!queue.isFull)
    queue.append(turn(2, bytes: 1))
    #expect(queue.isFull && queue.bytes == Limits.unreleasedBytes)
    queue.becameDurable(through: 2)
    while queue.next() != nil {}
    #expect(!queue.isFull && queue.bytes == 0)
  }

  /// Questions that wait, while the reader is kept: one more is turned away, and only of who has
  /// some waiting.
  @Test func historyQuestions() throws {
    let journal = MemoryJournal.open(
      disk: MemoryDisk(), observer: JournalObserver(onDurable: { _ in }, onFailure: { _ in }))
    let isKept = Atomic(true)
    let answers = Atomic<Int>(0)
    let thread = try HistoryThread(journal.journal) { answer in
      guard case .room = answer else { return }
      answers.add(1, ordering: .sequentiallyConsistent)
      while isKept.load(ordering: .sequentiallyConsistent) { sched_yield() }
    }
    let one = HistoryTurns.Asker.principal(.key("one"))
    #expect(thread.ask(.room, of: one))
    try eventually("the reader is kept") { answers.load(ordering: .sequentiallyConsistent) == 1 }
    for _ in 1..<Limits.historyQuestionsPerPrincipal { #expect(thread.ask(.room, of: one)) }
    #expect(!thread.ask(.room, of: one))
    #expect(thread.ask(.room, of: .coordinator))
    isKept.store(false, ordering: .sequentiallyConsistent)
    try eventually("room") { thread.ask(.room, of: one) }
    try eventually("all are answered") {
      answers.load(ordering: .sequentiallyConsistent) == Limits.historyQuestionsPerPrincipal + 2
    }
    thread.stop()
  }

  @Test func logQuestions() {
    var relay = LogRelay()
    let attempt = AttemptID(operation: OperationID(graph: GraphID(1), index: 0), attempt: 1)
    let question = LogQuestion(
      peer: PeerID(1), request: RequestID(1),
      attempt: AttemptSelection(operation: attempt.operation),
      stream: .standardOutput, offset: 0, maximumBytes: .max)
    for _ in 0..<Limits.logQuestions {
      #expect(!relay.isFull)
      let asked = relay.ask(
        question, attempt: attempt, worker: PeerID(9), workerName: "w", deadline: .zero)
      // Output flows no faster than it is asked for, a piece at a time (G26).
      #expect(asked.maximumBytes == UInt32(Limits.logChunkBytes))
    }
    #expect(relay.isFull)
    #expect(relay.workerGone(PeerID(9)).count == Limits.logQuestions)
    #expect(!relay.isFull)
  }
}

/// Quotas over real sockets.
@Suite struct QuotaServiceTests {
  /// Refused with the time to come again; obeyed, it is taken; the others never notice.
  @Test(.checks("G27", "G29")) func aFloodIsToldToWait() throws {
    let service = try Service(.memory(.init()), in: TestFolder()) {
      $0.quotas.requestsPerSecond = 4
    }
    let flood = try TestClient(service)
    let other = try TestClient(service)
    var refusal: Refusal?
    for _ in 0..<500 where refusal == nil {
      if case .refused(let words) = try flood.ask(.ping) { refusal = words }
    }
    let wait = try #require(refusal?.retryAfter)
    #expect(refusal?.code == .busy && wait >= .milliseconds(50) && wait <= .seconds(2))
    guard case .pong = try other.ask(.ping) else {
      Issue.record("another client is refused, too")
      return
    }
    try eventually("the request is taken") {
      guard case .pong = try flood.ask(.ping) else { return false }
      return true
    }
  }

  /// Asks on in spite of refusals, until it is put out. It asks for what no passing of time allows,
  /// so that a slow machine refuses as often as a quick one.
  private func flood(_ service: Service) throws {
    let flood = try TestClient(service)
    let excess = ClientRequest.createQueue(QueueSettings(name: "q"))
    for _ in 0..<Limits.refusalsInARow {
      guard case .refused = try flood.ask(excess) else {
        Issue.record("a queue was made")
        return
      }
    }
    // One more puts it out, and those that arrive after that cut it.
    try eventually("it is cut") {
      _ = try? flood.send(excess, within: 0)
      return flood.dealer.nextEventNow() == .disconnected
    }
  }

  /// Who asks on in spite of refusals is put out, and is not let in again before its time is over.
  /// Who goes on even then is cut.
  @Test func whoDoesNotObeyIsPutOut() throws {
    let service = try Service(.memory(.init()), in: TestFolder()) {
      $0.quotas.queues = 0
      $0.banishment = .seconds(600)
    }
    try flood(service)
    let dealer = try Dealer(service.ready.clientEndpoint)
    try dealer.send(Wire.encode(ClientMessage.hello(ClientHello(build: "test"))))
    let answer = try #require(try dealer.receive())
    guard case .reply(RequestID(0), .refused(let refusal)) = try Wire.decodeClientAnswer(answer)
    else {
      Issue.record("it was let in at once")
      return
    }
    #expect(refusal.code == .busy)
    #expect(refusal.retryAfter.map { $0 > .zero && $0 <= .seconds(600) } == true)
    for _ in 0...CoordinatorLimits.framesInVain { try dealer.send([1]) }
    while try dealer.nextEvent() != .disconnected {}
  }

  /// It is heard again after that.
  @Test func whoWasPutOutIsHeardLater() throws {
    let service = try Service(.memory(.init()), in: TestFolder()) {
      $0.quotas.queues = 0
      $0.banishment = .seconds(1)
    }
    try flood(service)
    // A connection may be cut with its hello, and then nobody answers it: one attempt must not take
    // all the time there is.
    try eventually("a new connection is served") {
      guard let again = try? TestClient(service, within: 1_000) else { return false }
      guard case .pong = try again.ask(.ping) else { return false }
      return true
    }
  }

  /// Queues that a client makes are its own until they are removed, by whomever.
  @Test(.checks("G29")) func queuesAreGivenBack() throws {
    let service = try Service(.memory(.init()), in: TestFolder()) { $0.quotas.queues = 2 }
    let client = try TestClient(service)
    for name in ["a", "b"] {
      guard case .done = try client.ask(.createQueue(QueueSettings(name: name))) else {
        Issue.record("queue \(name) was refused")
        return
      }
    }
    guard case .refused(let refusal) = try client.ask(.createQueue(QueueSettings(name: "c")))
    else {
      Issue.record("a third queue was made")
      return
    }
    #expect(refusal.code == .limitExceeded && refusal.hint == .removeQueues)
    guard case .done = try client.ask(.removeQueue("a")) else {
      Issue.record("the queue was not removed")
      return
    }
    guard case .done = try client.ask(.createQueue(QueueSettings(name: "c"))) else {
      Issue.record("there is room for one more")
      return
    }
    guard case .queues(let rows, more: true) = try client.ask(.queues(limit: 2)),
      case .queues(let rest, more: false) = try client.ask(.queues(after: rows.last?.queue))
    else {
      Issue.record("the queues do not come in pages")
      return
    }
    #expect((rows + rest).map(\.settings.name) == ["default", "b", "c"])
  }

  /// Pending operations: a graph too many waits until another one has ended.
  @Test func pendingOperationsAreGivenBack() throws {
    let service = try Service(.memory(.init()), in: TestFolder()) {
      $0.quotas.pendingOperations = 4
    }
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(chainGraph("first"))
    guard case .refused(let refusal) = try client.ask(.submit(arrayGraph("second", 2))) else {
      Issue.record("five operations were taken")
      return
    }
    #expect(refusal.code == .busy && refusal.retryAfter != nil && refusal.lacksRoom)
    try worker.work(through: 3)
    #expect(try client.awaitEnd(of: graph).state == .succeeded)
    try eventually("room for the second graph") {
      guard case .accepted = try client.ask(.submit(arrayGraph("second", 2))) else { return false }
      return true
    }
  }
}
