// The bounds of messages (G32, G33): limits at and one past them, columns that do not fit, numbers
// that are none, what is unknown, what is nested without end. Field numbers are those of proto/.

import MessageGenerators
import OpClusterModel
import OpClusterWire
import Testing

@Suite struct MessageBoundsTests {
  /// Columns of a report with so many `started` entries; `attempts` says otherwise where given.
  private func report(
    kinds: [UInt8], graphs: [UInt64] = [1], counts: [UInt64]? = nil, deltas: Int? = nil,
    more: [UInt8] = []
  ) -> [UInt8] {
    let total = kinds.count
    let operations =
      Protobuf.column(1, graphs) + Protobuf.column(2, counts ?? [UInt64(total)])
      + Protobuf.column(3, Array(repeating: 2, count: deltas ?? total))
    let attempts = Protobuf.block(5, Protobuf.block(1, operations))
    return Protobuf.block(2, Protobuf.block(4, kinds) + attempts + more)
  }

  private func problem(_ bytes: [UInt8]) -> WireError.Problem? {
    do {
      _ = try Wire.decodeWorkerMessage(bytes)
      return nil
    } catch { return error.problem }
  }

  @Test func entriesAtTheLimitAndOnePastIt() {
    let limit = Limits.entriesPerMessage
    #expect(problem(report(kinds: Array(repeating: 1, count: limit))) == nil)
    #expect(
      problem(report(kinds: Array(repeating: 1, count: limit + 1))) == .beyond(limit: limit))
  }

  @Test func messageBytesAtTheLimitAndOnePastIt() {
    // An unknown field of the right length fills the message: ignored, but counted.
    let limit = Limits.messageBytes
    let goodbye = Protobuf.block(4, [])
    let room = limit - goodbye.count - 2 - Protobuf.varint(UInt64(limit)).count
    let atLimit = goodbye + Protobuf.block(77, Array(repeating: 0, count: room))
    #expect(atLimit.count == limit)
    #expect(problem(atLimit) == nil)
    #expect(problem(atLimit + [0]) == .beyond(limit: limit))
  }

  @Test func columnsThatDoNotFit() {
    #expect(problem(report(kinds: [1, 1], deltas: 1)) == .unequalColumns)
    #expect(problem(report(kinds: [1, 1], counts: [3])) == .unequalColumns)
    #expect(problem(report(kinds: [1, 1], counts: [0xffff_ffff])) == .unequalColumns)
    #expect(problem(report(kinds: [1, 1], counts: [1, 1])) == .unequalColumns)
    #expect(problem(report(kinds: [1, 1], graphs: [1, 2], counts: [2, 0])) == .outOfRange)
    // A result for an entry that has not finished; one beyond the entries; one without a place.
    let one = Protobuf.block(7, Protobuf.number(1, 1))
    #expect(problem(report(kinds: [1], more: Protobuf.column(6, [0]) + one)) == .unequalColumns)
    #expect(problem(report(kinds: [2], more: Protobuf.column(6, [1]) + one)) == .unequalColumns)
    #expect(problem(report(kinds: [2], more: one)) == .unequalColumns)
    #expect(problem(report(kinds: [2], more: Protobuf.column(6, [0]) + one)) == nil)
    // 2³² − 1 results announced.
    let many = Protobuf.block(7, Protobuf.number(1, 0xffff_ffff))
    #expect(problem(report(kinds: [2], more: Protobuf.column(6, [0]) + many)) == .unequalColumns)
  }

  @Test(arguments: [Double.nan, -0.1, 1.000_001, .infinity, -.infinity, -.nan])
  func progressThatIsNone(fraction: Double) {
    let bits = fraction.bitPattern
    let raw = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
    let more = Protobuf.block(8, raw) + Protobuf.block(9, "text")
    #expect(problem(report(kinds: [6], more: more)) == .outOfRange)
  }

  @Test func unknownKindsAndCauses() throws {
    #expect(problem(report(kinds: [7])) == .unknownValue(7))
    #expect(problem(report(kinds: [0])) == .unknownValue(0))
    #expect(problem([]) == .missing)
    #expect(problem(Protobuf.block(9, [])) == .missing)
    // A cause that a later version may have is a failure.
    let results = Protobuf.number(1, 1) + Protobuf.column(2, [4_000_000_000])
    let bytes = report(
      kinds: [2], more: Protobuf.column(6, [0]) + Protobuf.block(7, results))
    guard case .report(let report) = try Wire.decodeWorkerMessage(bytes),
      case .finished(_, let result) = report.entries.first
    else {
      Issue.record("not a report of an end")
      return
    }
    #expect(result.cause == .failed)
  }

  @Test func unknownRefusalCodesAreShownAll() throws {
    let refusal = Protobuf.number(1, 250) + Protobuf.block(2, "no")
    let bytes = Protobuf.block(2, Protobuf.number(1, 9) + Protobuf.block(2, refusal))
    #expect(
      try Wire.decodeClientAnswer(bytes)
        == .reply(RequestID(9), .refused(Refusal(.badRequest, "no"))))
  }

  @Test func unknownFieldsAreIgnored() throws {
    for seed in 0..<200 {
      var generator = MessageGenerator(seed: UInt64(seed))
      let message = generator.workerMessage()
      let extra =
        Protobuf.number(900, .max) + Protobuf.block(901, "later") + Protobuf.varint(902 << 3 | 5)
        + [1, 2, 3, 4] + Protobuf.varint(903 << 3 | 1) + [1, 2, 3, 4, 5, 6, 7, 8]
      let bytes = extra + Wire.encode(message) + extra
      #expect(try Wire.decodeWorkerMessage(bytes) == message)
    }
  }

  @Test func nesting() {
    var nested: [UInt8] = []
    for _ in 0..<10_000 { nested = Protobuf.block(2, nested) }
    // No message of ours contains itself: for a report this is a strange number, skipped.
    _ = problem(nested)
    #expect(throws: WireError.self) { try Wire.decodeClientMessage(nested) }
    #expect(throws: WireError.self) { try Wire.decodeClientAnswer(nested) }
    #expect(throws: WireError.self) { try Wire.decodeCoordinatorMessage(nested) }
    _ = try? Wire.decodeRecords(nested)
    let groups = Array(repeating: UInt8(5 << 3 | 3), count: 10_000)
    #expect(problem(groups) == .malformed)
    #expect(throws: WireError.self) { try Wire.decodeSubmission(groups) }
  }

  @Test func textsThatAreNotUTF8() {
    let hello = Protobuf.block(1, Protobuf.block(3, [0xc3, 0x28]))
    #expect(problem(hello) == .malformed)
  }

  @Test func workerNames() {
    for (name, good) in [
      ("w", true), ("A.b_c:9-d", true), (String(repeating: "a", count: 128), true),
      (String(repeating: "a", count: 129), false), ("", false), ("a b", false), ("é", false),
      ("a/b", false),
    ] {
      #expect((problem(Protobuf.block(1, Protobuf.block(3, name))) == nil) == good, "\(name)")
    }
  }

  /// Two bytes must not become hundreds, even for a key that is allowed in.
  @Test func emptyMessagesByTheMillion() {
    let labels = [[UInt8]](repeating: [6 << 3 | 2, 0], count: 1_000_000).flatMap { $0 }
    let hello = Protobuf.block(1, labels)
    #expect(problem(hello) == .beyond(limit: Limits.labelsPerThing))
    let templates = [[UInt8]](repeating: [3 << 3 | 2, 0], count: 1_000_000).flatMap { $0 }
    let submit = Protobuf.block(2, Protobuf.block(2, templates))
    let refusal = #expect(throws: WireError.self) { try Wire.decodeClientMessage(submit) }
    #expect(refusal?.problem == .beyond(limit: Limits.templatesPerGraph))
    let repeated = Array(repeating: Protobuf.block(1, []), count: 2).flatMap { $0 }
    #expect(problem(repeated) == .beyond(limit: 1))
  }

  @Test func negativeAmountsAndSpans() {
    var hello = MessageGenerator(seed: 1).helloWithoutChance
    hello.capacity.memoryBytes = -1
    #expect(problem(Wire.encode(.hello(hello))) == .outOfRange)
    var orders = WorkerOrders(
      conversation: Conversation(epoch: Epoch(1), session: WorkerSession(1), increment: 1),
      number: 1, acknowledged: 0)
    let attempt = AttemptID(operation: OperationID(graph: GraphID(1), index: 0), attempt: 1)
    orders.cancels = [CancelOrder(attempt: attempt, grace: Span(nanoseconds: -1))]
    #expect(throws: WireError("orders.cancel_grace", .outOfRange)) {
      try Wire.decodeCoordinatorMessage(Wire.encode(.orders(orders)) { _ in "" })
    }
  }
}

extension MessageGenerator {
  /// The same hello for ever.
  var helloWithoutChance: WorkerHello {
    WorkerHello(
      versions: ProtocolVersions(lowest: 1, highest: 1), build: "b1", name: "w1",
      session: WorkerSession(0x0102_0304_0506_0708),
      capacity: Resources(
        cpus: ResourceAmount(4), memoryBytes: 1 << 30, gpus: ResourceAmount(tenThousandths: 5000),
        custom: [Resources.NamedAmount(name: "slot", amount: ResourceAmount(1))]),
      labels: [Label(key: "zone", value: "a")], types: [OperationType(name: "sum", version: 2)],
      assigned: [AttemptID(operation: OperationID(graph: GraphID(3), index: 11), attempt: 2)],
      executing: [
        AttemptID(operation: OperationID(graph: GraphID(3), index: 9), attempt: 1),
        AttemptID(operation: OperationID(graph: GraphID(3), index: 8), attempt: 1),
      ])
  }
}
