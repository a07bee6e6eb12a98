// A small deterministic generator of numbers and of the words that everything is made of. The
// same seed gives the same words on every machine.

package import OpClusterModel

/// Things that live in some world under test, by the names that messages give them.
package struct KnownThings {
  package var graphs: [(graph: GraphID, operations: UInt32)] = []
  package var conversations: [Conversation] = []
  /// Queues, workers, templates, labels.
  package var names: [String] = []
  package init() {}
}

package struct MessageGenerator {
  private var state: UInt64
  /// What exists somewhere: most identifiers and names are taken from it, where it is not empty.
  package var known = KnownThings()
  package init(seed: UInt64) { state = seed }

  /// SplitMix64.
  package mutating func bits() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
  package mutating func below(_ bound: Int) -> Int { Int(bits() % UInt64(max(bound, 1))) }
  package mutating func bool() -> Bool { bits() & 1 == 1 }

  /// Zero, small, large and extreme numbers: the ends of the type, their neighbours, and what is
  /// the end of a smaller one.
  package mutating func number<Number: FixedWidthInteger>() -> Number {
    switch below(8) {
    case 0: 0
    case 1: .max - Number(truncatingIfNeeded: below(3))
    case 2: .min + Number(truncatingIfNeeded: below(3))
    case 3: Number(truncatingIfNeeded: bits())
    case 4: Number(truncatingIfNeeded: (UInt64(1) << UInt64(below(64))) &- 1)
    default: Number(truncatingIfNeeded: below(100))
    }
  }
  /// The same, the nearest that is in a range: what a decoder leaves as it is.
  package mutating func bounded<Number: FixedWidthInteger>(
    _ range: ClosedRange<Number>
  ) -> Number {
    min(max(number(), range.lowerBound), range.upperBound)
  }
  /// Never negative.
  package mutating func span() -> Span {
    switch below(4) {
    case 0: .zero
    case 1: .longest
    default: Span(nanoseconds: Int64(bits() >> 20))
    }
  }
  package mutating func wallTime() -> WallTime { WallTime(milliseconds: number()) }

  package mutating func text(_ limit: Int = 24) -> String {
    if !known.names.isEmpty, below(3) > 0 { return one(of: known.names) }
    let letters = ["a", "Z", "0", "é", "日", "𝄞", " ", "\n", "\"", "/", "\u{0}"]
    var text = ""
    for _ in 0..<below(12) { text += letters[below(letters.count)] }
    while text.utf8.count > limit { text.removeLast() }
    return text
  }
  package mutating func bytes(_ most: Int = 24) -> [UInt8] {
    (0..<below(most)).map { _ in UInt8(truncatingIfNeeded: bits()) }
  }
  package mutating func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }
  package mutating func member<Value: CaseIterable>(_ type: Value.Type) -> Value {
    one(of: Array(Value.allCases))
  }
  package mutating func maybe<Value>(_ make: (inout MessageGenerator) -> Value) -> Value? {
    bool() ? make(&self) : nil
  }
  package mutating func many<Value>(_ most: Int = 5, _ make: (inout MessageGenerator) -> Value)
    -> [Value]
  {
    (0..<below(most)).map { _ in make(&self) }
  }

  // Identifiers
  package mutating func graph() -> GraphID {
    if !known.graphs.isEmpty, below(6) > 0 { return one(of: known.graphs).graph }
    return GraphID(below(3) == 0 ? number() : UInt32(below(4) + 1))
  }
  package mutating func operation() -> OperationID {
    if !known.graphs.isEmpty, below(6) > 0 {
      let (graph, operations) = one(of: known.graphs)
      return OperationID(graph: graph, index: UInt32(below(Int(operations))))
    }
    return OperationID(graph: graph(), index: number())
  }
  package mutating func attempt() -> AttemptID {
    AttemptID(operation: operation(), attempt: below(3) == 0 ? number() : 1)
  }
  package mutating func worker() -> WorkerID { WorkerID(number()) }
  package mutating func queue() -> QueueID { QueueID(number()) }
  package mutating func conversation() -> Conversation {
    if !known.conversations.isEmpty, below(6) > 0 { return one(of: known.conversations) }
    return Conversation(
      epoch: Epoch(number()), session: WorkerSession(number()), increment: number())
  }

  // Things
  package mutating func label() -> Label { Label(key: text(), value: text()) }
  package mutating func labels() -> [Label] { many { $0.label() } }
  package mutating func type() -> OperationType {
    OperationType(name: text(), version: number(), fingerprint: number())
  }
  package mutating func resources(negative: Bool = false) -> Resources {
    var names: Set<String> = []
    for _ in 0..<below(4) { names.insert(text()) }
    let amount = { (generator: inout MessageGenerator) -> Int64 in
      let value: Int64 = generator.number()
      return negative ? value : value & .max
    }
    return Resources(
      cpus: ResourceAmount(tenThousandths: amount(&self)), memoryBytes: amount(&self),
      gpus: ResourceAmount(tenThousandths: amount(&self)),
      custom: names.sorted().map { name in
        Resources.NamedAmount(name: name, amount: ResourceAmount(tenThousandths: amount(&self)))
      })
  }
  package mutating func indexRuns() -> [IndexRun] {
    many(4) { generator in
      IndexRun(
        first: generator.number(), count: generator.number(),
        step: generator.bool() ? 1 : generator.number())
    }
  }
  package mutating func work() -> Work {
    switch below(4) {
    case 0: .nothing
    case 1: .command
    case 2: .blocks(many { $0.type() })
    default: .call(type())
    }
  }
  package mutating func settings() -> QueueSettings {
    QueueSettings(
      name: text(), qos: member(QualityOfService.self),
      maximumConcurrent: maybe { $0.number() }, isSuspended: bool(), pool: requirements())
  }
  package mutating func requirements() -> [LabelRequirement] {
    many { generator in
      LabelRequirement(key: generator.text(), values: generator.many { $0.text() })
    }
  }
  package mutating func reason() -> CancelReason {
    switch below(3) {
    case 0: .request(text())
    case 1: .dependency(operation(), member(Outcome.self))
    default: .failurePolicy
    }
  }
  package mutating func result() -> AttemptResult {
    var result = AttemptResult()
    if below(3) == 0 { return result }
    if bool() { result.cause = member(FailureCause.self) }
    if bool() { result.exitStatus = bounded(0...Limits.exitStatus) }
    if bool() { result.signal = bounded(0...Limits.signal) }
    result.wasStopped = below(4) == 0
    result.wasForced = below(4) == 0
    if bool() { result.maximumResidentBytes = bounded(0...Limits.measuredAmount) }
    if bool() { result.processorMicroseconds = bounded(0...Limits.measuredAmount) }
    if bool() { result.startedAt = wallTime() }
    if bool() { result.endedAt = wallTime() }
    if below(4) == 0 { result.output = bytes() }
    if below(4) == 0 { result.diagnostic = text() }
    return result
  }
  package mutating func history() -> AttemptHistory {
    var history = AttemptHistory(
      attempt: attempt(), outcome: maybe { $0.member(Outcome.self) },
      reason: maybe { $0.reason() }, workerName: one(of: ["", "w1", "w2", "日本"]),
      result: result())
    if below(4) == 0 { history.run = number() }
    if below(4) == 0 { history.count = number() }
    if bool() { history.readyAt = wallTime() }
    return history
  }
  package mutating func refusal() -> Refusal {
    Refusal(
      member(Refusal.Code.self), text(), hint: advice(), operations: many { $0.operation() },
      retryAfter: maybe { Span(nanoseconds: Int64($0.below(3_600_000_000_000) + 1)) },
      lacksRoom: bool())
  }
  package mutating func timing() -> Timing {
    var timing = Timing()
    timing.heartbeat = span()
    timing.suspect = span()
    timing.lost = span()
    timing.resync = span()
    timing.grace = span()
    timing.orphan = span()
    timing.fence = span()
    return timing
  }
  package mutating func chunk() -> LogChunk {
    LogChunk(
      number: number(), offset: bounded(0...Limits.measuredAmount), bytes: bytes(),
      size: bounded(0...Limits.measuredAmount), isComplete: bool(), problem: text())
  }
  package mutating func versions() -> ProtocolVersions {
    let lowest: UInt32 = number()
    return ProtocolVersions(lowest: lowest, highest: bool() ? .max : lowest)
  }
}
