// Limits of what steers operations, of blocks, and of what is told about operations: at each and
// one past it, and what contradicts itself.

import Citations
import MessageGenerators
import OpClusterModel
import OpClusterPresentation
import Testing

@testable import OpClusterWire

@Suite struct SteeringLimitTests {
  private let operation = OperationID(graph: GraphID(1), index: 0)
  private let conversation = Conversation(
    epoch: Epoch(1), session: WorkerSession(1), increment: 1)

  /// Good at the limit, refused one past it.
  private func expectLimit(
    _ limit: Int, sourceLocation: SourceLocation = #_sourceLocation,
    _ pass: (Int) throws -> Void
  ) {
    #expect(throws: Never.self, sourceLocation: sourceLocation) { try pass(limit) }
    let refusal = #expect(throws: WireError.self, sourceLocation: sourceLocation) {
      try pass(limit + 1)
    }
    #expect(refusal?.problem == .beyond(limit: limit), sourceLocation: sourceLocation)
  }

  private func pass(_ request: ClientRequest) throws {
    _ = try Wire.decodeClientMessage(Wire.encode(.request(RequestID(1), request)))
  }
  private func pass(_ reply: ClientReply) throws {
    _ = try Wire.decodeClientAnswer(Wire.encode(.reply(RequestID(1), reply), wording: \.forShell))
  }
  private func pass(_ message: CoordinatorMessage) throws {
    _ = try Wire.decodeCoordinatorMessage(Wire.encode(message, wording: \.forShell))
  }
  private func pass(_ record: Record) throws {
    _ = try Wire.decodeRecords(Wire.encode(records: [record]))
  }
  private func text(_ bytes: Int) -> String { String(repeating: "a", count: bytes) }
  private func bytes(_ count: Int) -> [UInt8] { Array(repeating: 1, count: count) }

  @Test func targets() {
    expectLimit(Limits.operationsPerTarget) { count in
      let target = OperationTarget.operations(Array(repeating: operation, count: count))
      try pass(.cancel(target, reason: "", grace: nil))
    }
    expectLimit(Limits.operationsPerTarget) { count in
      let target = WaitTarget.operations(Array(repeating: operation, count: count))
      try pass(.beginWait(operation, target))
    }
    expectLimit(2 * Limits.nameBytes) { size in
      try pass(.setQueue(.dependents(of: operation), queue: text(size)))
    }
    expectLimit(2 * Limits.nameBytes) { try pass(.beginWait(operation, .queue(text($0)))) }
    expectLimit(Limits.payloadBytes) { try pass(.addBlocks(operation, bytes($0))) }
  }

  /// A request without a target means nothing; it never means everything.
  @Test(arguments: [4, 12, 26, 27, 29] as [UInt64]) func targetsThatAreMissing(request: UInt64) {
    let empty = Protobuf.block(2, Protobuf.block(request, []))
    let refusal = #expect(throws: WireError.self) { try Wire.decodeClientMessage(empty) }
    #expect(refusal?.problem == .missing)
  }

  /// What cancel and setPriority named before they had targets is not read as one.
  @Test(arguments: [4, 12] as [UInt64]) func numbersThatWereRemoved(request: UInt64) {
    let former = Protobuf.block(1, Protobuf.number(1, 4))
    let bytes = Protobuf.block(2, Protobuf.block(request, former))
    let refusal = #expect(throws: WireError.self) { try Wire.decodeClientMessage(bytes) }
    #expect(refusal?.problem == .missing)
  }

  /// The walk counts what is inside targets and lists of types before anything is made of it:
  /// its errors name the field by number.
  @Test func emptyMessagesAreCountedFirst() {
    func empty(_ field: UInt64) -> [UInt8] {
      Array(repeating: Protobuf.block(field, []), count: 20_000).flatMap { $0 }
    }
    let labels = Protobuf.block(1, empty(8))
    for (request, target) in [(4, 4), (12, 3), (26, 1), (27, 1)] as [(UInt64, UInt64)] {
      let body = Protobuf.block(request, Protobuf.block(target, labels))
      #expect(throws: WireError("client message.8", .beyond(limit: Limits.labelsPerThing))) {
        try Wire.decodeClientMessage(Protobuf.block(2, body))
      }
    }
    let types = WireError.Problem.beyond(limit: WireLimits.typesPerWorker)
    let submit = Protobuf.block(2, Protobuf.block(2, Protobuf.block(3, empty(24))))
    #expect(throws: WireError("client message.24", types)) {
      try Wire.decodeClientMessage(submit)
    }
    let orders = Protobuf.block(3, Protobuf.block(4, empty(16)))
    #expect(throws: WireError("coordinator message.16", types)) {
      try Wire.decodeCoordinatorMessage(orders)
    }
    let blocks = WireError.Problem.beyond(limit: Limits.blocksPerOperation)
    #expect(throws: WireError("blocks.1", blocks)) { try Wire.decodeBlocks(empty(1)) }
    #expect(throws: WireError("block_results.1", blocks)) {
      try Wire.decodeBlockResults(empty(1))
    }
  }

  @Test func blocks() {
    let small = OperationBlock.call(OperationType(name: "t"), argument: [])
    expectLimit(Limits.blocksPerOperation) { count in
      let blocks = Array(repeating: small, count: count)
      _ = try Wire.decodeBlocks(Wire.encode(blocks: blocks))
    }
    // The rest of the list is always as long; the argument fills it.
    let limit = Limits.payloadBytes
    func list(_ size: Int) -> [UInt8] {
      Wire.encode(blocks: [.call(OperationType(name: "t"), argument: bytes(size))])
    }
    let frame = list(limit).count - limit
    expectLimit(limit) { size in
      let list = list(size - frame)
      #expect(list.count == size)
      _ = try Wire.decodeBlocks(list)
    }
  }

  /// The limits hold for joined lists as for single ones.
  @Test(.checks("S120")) func joinedBlocksAtTheLimit() throws {
    let half = Array(
      repeating: OperationBlock.call(OperationType(name: "t"), argument: []),
      count: Limits.blocksPerOperation / 2)
    let joined = Wire.encode(blocks: half) + Wire.encode(blocks: half)
    #expect(try Wire.decodeBlocks(joined).count == Limits.blocksPerOperation)
    let refusal = #expect(throws: WireError.self) {
      try Wire.decodeBlocks(joined + Wire.encode(blocks: [half[0]]))
    }
    #expect(refusal?.problem == .beyond(limit: Limits.blocksPerOperation))
  }

  @Test func blocksThatAreNone() {
    for bytes in [Protobuf.block(1, []), Protobuf.block(1, Protobuf.block(9, []))] {
      let block = #expect(throws: WireError.self) { try Wire.decodeBlocks(bytes) }
      #expect(block?.problem == .missing)
      let result = #expect(throws: WireError.self) { try Wire.decodeBlockResults(bytes) }
      #expect(result?.problem == .missing)
    }
  }

  @Test func blockResults() throws {
    expectLimit(Limits.blocksPerOperation) { count in
      let results = Array(repeating: BlockResult.skipped, count: count)
      _ = try Wire.decodeBlockResults(Wire.encode(blockResults: results))
    }
    func result(_ size: Int) -> [UInt8] {
      Wire.encode(blockResults: [.succeeded(bytes(size))])
    }
    let frame = result(Limits.outputBytes - 8).count - (Limits.outputBytes - 8)
    expectLimit(Limits.outputBytes) { size in
      let result = result(size - frame)
      #expect(result.count == size)
      _ = try Wire.decodeBlockResults(result)
    }
    expectLimit(Limits.reasonBytes) { size in
      _ = try Wire.decodeBlockResults(
        Protobuf.block(1, Protobuf.block(2, text(size))))
    }
    let long = Wire.encode(blockResults: [.failed(text(Limits.reasonBytes + 1))])
    #expect(try Wire.decodeBlockResults(long) == [.failed(text(Limits.reasonBytes))])
  }

  @Test func blocksOnTheirWay() {
    expectLimit(Limits.payloadBytes) { try pass(.blocksAdded(operation, bytes($0))) }
    expectLimit(Limits.payloadBytes) { size in
      var state = GraphState(graph: GraphID(1))
      state.addedBlocks = [.init(index: 0, output: bytes(size))]
      try pass(.restoredGraph(state))
    }
    expectLimit(Limits.outputBytes) { size in
      var state = GraphState(graph: GraphID(1))
      state.outputs = [.init(index: 0, output: bytes(size))]
      try pass(.restoredGraph(state))
    }
    expectLimit(Limits.payloadBytes) { size in
      var orders = WorkerOrders(conversation: conversation, number: 1, acknowledged: 0)
      let attempt = AttemptID(operation: operation, attempt: 1)
      orders.dispatches = [Dispatch(attempt: attempt, template: 0, argument: bytes(size))]
      try pass(.orders(orders))
    }
    expectLimit(WireLimits.typesPerWorker) { count in
      let types = Array(repeating: OperationType(name: "t"), count: count)
      var submission = GraphSubmission(name: "g")
      submission.templates = [OperationTemplate(name: "t", work: .blocks(types))]
      _ = try Wire.decodeSubmission(Wire.encode(submission: submission))
    }
  }

  @Test func whatWorkersAreTold() throws {
    expectLimit(WireLimits.sentenceBytes) { size in
      var generator = MessageGenerator(seed: 5)
      var welcome = generator.welcome()
      welcome.clientEndpoint = text(size)
      try pass(.welcome(welcome))
    }
    expectLimit(2 * Limits.nameBytes) { size in
      var generator = MessageGenerator(seed: 5)
      var announcement = generator.announcement()
      announcement.queueName = text(size)
      var orders = WorkerOrders(conversation: conversation, number: 1, acknowledged: 0)
      orders.templates = [announcement]
      try pass(.orders(orders))
    }
    expectLimit(2 * Limits.nameBytes) { size in
      var generator = MessageGenerator(seed: 5)
      var dispatch = Dispatch(attempt: generator.attempt(), template: 0)
      dispatch.queueName = text(size)
      var orders = WorkerOrders(conversation: conversation, number: 1, acknowledged: 0)
      orders.dispatches = [dispatch]
      try pass(.orders(orders))
    }
  }

  /// The usual costs nothing: first runs have no column.
  @Test func firstRunsAreFree() {
    func size(run: UInt32) -> Int {
      var orders = WorkerOrders(conversation: conversation, number: 1, acknowledged: 0)
      orders.dispatches = (0..<1_000).map { index in
        let operation = OperationID(graph: GraphID(1), index: UInt32(index))
        var dispatch = Dispatch(
          attempt: AttemptID(operation: operation, attempt: 1), template: 0)
        dispatch.run = run
        return dispatch
      }
      return Wire.encode(.orders(orders), wording: \.forShell).count
    }
    #expect(size(run: 2) - size(run: 1) >= 1_000)
  }

  @Test func rows() throws {
    expectLimit(WireLimits.blockersPerRow) { count in
      var row = OperationRow(id: operation, name: "", index: nil, state: .waiting)
      row.blockedBy = Array(repeating: operation, count: count)
      try pass(.operations([row], more: false))
    }
    var row = OperationRow(id: operation, name: "", index: nil, state: .executing)
    row.progress = .init(fraction: 1, text: text(Limits.reasonBytes + 1))
    let decoded = try Wire.decodeOperationRow(Wire.encode(operationRow: row))
    #expect(decoded.progress == .init(fraction: 1, text: text(Limits.reasonBytes)))
    for fraction in [Double.nan, -0.1, 1.000_001, .infinity, -.infinity, -.nan] {
      row.progress = .init(fraction: fraction, text: "")
      #expect(throws: WireError("operation.progress.fraction", .outOfRange)) {
        try Wire.decodeOperationRow(Wire.encode(operationRow: row))
      }
    }
  }

  @Test func spansThatAreNegative() {
    let negative = Span(nanoseconds: -1)
    for property in [\OperationTemplate.timeout, \.grace] {
      var submission = GraphSubmission(name: "g")
      submission.templates = [OperationTemplate(name: "t", work: .command)]
      submission.templates[0][keyPath: property] = negative
      let refusal = #expect(throws: WireError.self) { try pass(.submit(submission)) }
      #expect(refusal?.problem == .outOfRange)
    }
  }

  /// A continued graph takes over from itself alone, and at most all that a graph can have.
  @Test func continuedGraphs() {
    func pass(_ graph: UInt32, count: UInt32) throws {
      var reused = OperationRuns(graph: GraphID(7))
      if count > 0 { reused.append(first: 0, count: count) }
      var submission = GraphSubmission(name: "g")
      submission.continued = ContinuedGraph(graph: GraphID(graph), reused: reused)
      try self.pass(.submit(submission))
    }
    #expect(throws: Never.self) { try pass(7, count: 0) }
    #expect(throws: WireError("continued.reused", .outOfRange)) { try pass(8, count: 0) }
    expectLimit(Limits.operationsPerGraph) { try pass(7, count: UInt32($0)) }
  }

  /// An outcome, or none yet, for every operation: no fewer, no more, no other numbers.
  @Test func outcomesOfASubmission() {
    var submission = GraphSubmission(name: "g")
    submission.templates = [OperationTemplate(name: "t", count: 3, work: .command)]
    #expect(throws: Never.self) { try pass(.submission(submission, outcomes: [1, 0, 6])) }
    for outcomes in [[], [1, 1], [1, 1, 1, 1], [1, 1, 2, 2]] as [[UInt8]] {
      let refusal = #expect(throws: WireError.self) {
        try pass(.submission(submission, outcomes: outcomes))
      }
      #expect(refusal?.problem == .unequalColumns)
    }
    let refusal = #expect(throws: WireError.self) {
      try pass(.submission(submission, outcomes: [1, 7, 1]))
    }
    #expect(refusal?.problem == .unknownValue(7))
  }
}
