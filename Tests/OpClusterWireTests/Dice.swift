// A small deterministic generator of numbers and of the words that everything is made of. The
// same seed gives the same words on every machine.

import OpClusterModel

struct Dice {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  /// SplitMix64.
  mutating func bits() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
  mutating func below(_ bound: Int) -> Int { Int(bits() % UInt64(max(bound, 1))) }
  mutating func bool() -> Bool { bits() & 1 == 1 }

  /// Zero, small, large and extreme numbers.
  mutating func number<Number: FixedWidthInteger>() -> Number {
    switch below(6) {
    case 0: 0
    case 1: .max
    case 2: .min
    case 3: Number(truncatingIfNeeded: bits())
    default: Number(truncatingIfNeeded: below(100))
    }
  }
  /// Never negative.
  mutating func span() -> Span {
    switch below(4) {
    case 0: .zero
    case 1: Span(nanoseconds: .max)
    default: Span(nanoseconds: Int64(bits() >> 20))
    }
  }
  mutating func wallTime() -> WallTime { WallTime(milliseconds: number()) }

  mutating func text(_ limit: Int = 24) -> String {
    let letters = ["a", "Z", "0", "é", "日", "𝄞", " ", "\n", "\"", "/", "\u{0}"]
    var text = ""
    for _ in 0..<below(12) { text += letters[below(letters.count)] }
    while text.utf8.count > limit { text.removeLast() }
    return text
  }
  mutating func bytes(_ most: Int = 24) -> [UInt8] {
    (0..<below(most)).map { _ in UInt8(truncatingIfNeeded: bits()) }
  }
  mutating func one<Value>(of values: [Value]) -> Value { values[below(values.count)] }
  mutating func member<Value: CaseIterable>(_ type: Value.Type) -> Value {
    one(of: Array(Value.allCases))
  }
  mutating func maybe<Value>(_ make: (inout Dice) -> Value) -> Value? {
    bool() ? make(&self) : nil
  }
  mutating func many<Value>(_ most: Int = 5, _ make: (inout Dice) -> Value) -> [Value] {
    (0..<below(most)).map { _ in make(&self) }
  }

  // Identifiers
  mutating func graph() -> GraphID { GraphID(below(3) == 0 ? number() : UInt32(below(4) + 1)) }
  mutating func operation() -> OperationID { OperationID(graph: graph(), index: number()) }
  mutating func attempt() -> AttemptID {
    AttemptID(operation: operation(), attempt: below(3) == 0 ? number() : 1)
  }
  mutating func worker() -> WorkerID { WorkerID(number()) }
  mutating func queue() -> QueueID { QueueID(number()) }
  mutating func conversation() -> Conversation {
    Conversation(
      epoch: Epoch(number()), session: WorkerSession(number()), increment: number())
  }

  // Things
  mutating func label() -> Label { Label(key: text(), value: text()) }
  mutating func labels() -> [Label] { many { $0.label() } }
  mutating func type() -> OperationType {
    OperationType(name: text(), version: number(), fingerprint: number())
  }
  mutating func resources(negative: Bool = false) -> Resources {
    var names: Set<String> = []
    for _ in 0..<below(4) { names.insert(text()) }
    let amount = { (dice: inout Dice) -> Int64 in
      let value: Int64 = dice.number()
      return negative ? value : value & .max
    }
    return Resources(
      cpus: ResourceAmount(tenThousandths: amount(&self)), memoryBytes: amount(&self),
      gpus: ResourceAmount(tenThousandths: amount(&self)),
      custom: names.sorted().map { name in
        Resources.NamedAmount(name: name, amount: ResourceAmount(tenThousandths: amount(&self)))
      })
  }
  mutating func indexRuns() -> [IndexRun] {
    many(4) { dice in
      IndexRun(first: dice.number(), count: dice.number(), step: dice.bool() ? 1 : dice.number())
    }
  }
  mutating func work() -> Work {
    switch below(4) {
    case 0: .nothing
    case 1: .command
    case 2: .blocks(many { $0.type() })
    default: .call(type())
    }
  }
  mutating func settings() -> QueueSettings {
    QueueSettings(
      name: text(), qos: member(QualityOfService.self),
      maximumConcurrent: maybe { $0.number() }, isSuspended: bool())
  }
  mutating func reason() -> CancelReason {
    switch below(3) {
    case 0: .request(text())
    case 1: .dependency(operation(), member(Outcome.self))
    default: .failurePolicy
    }
  }
  mutating func result() -> AttemptResult {
    var result = AttemptResult()
    if below(3) == 0 { return result }
    if bool() { result.cause = member(FailureCause.self) }
    if bool() { result.exitStatus = number() }
    if bool() { result.signal = number() }
    result.wasStopped = below(4) == 0
    result.wasForced = below(4) == 0
    if bool() { result.maximumResidentBytes = number() }
    if bool() { result.processorMicroseconds = number() }
    if bool() { result.startedAt = wallTime() }
    if bool() { result.endedAt = wallTime() }
    if below(4) == 0 { result.output = bytes() }
    if below(4) == 0 { result.diagnostic = text() }
    return result
  }
  mutating func history() -> AttemptHistory {
    var history = AttemptHistory(
      attempt: attempt(), outcome: maybe { $0.member(Outcome.self) },
      reason: maybe { $0.reason() }, workerName: one(of: ["", "w1", "w2", "日本"]),
      result: result())
    if below(4) == 0 { history.run = number() }
    if below(4) == 0 { history.count = number() }
    return history
  }
  mutating func refusal() -> Refusal {
    Refusal(
      member(Refusal.Code.self), text(), hint: text(), operations: many { $0.operation() })
  }
  mutating func timing() -> Timing {
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
  mutating func chunk() -> LogChunk {
    LogChunk(
      number: number(), offset: number(), bytes: bytes(), size: number(), isComplete: bool(),
      problem: text())
  }
  mutating func versions() -> ProtocolVersions {
    let lowest: UInt32 = number()
    return ProtocolVersions(lowest: lowest, highest: bool() ? .max : lowest)
  }
}
