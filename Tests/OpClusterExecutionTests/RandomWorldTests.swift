// A coordinator that does everything at random, from a seed, over a link that breaks: whatever it
// does, the promises of the worker hold. A failing seed is named in the message.

import Citations
import OpClusterExecution
import OpClusterModel
import Testing

/// Chance from a seed.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// What the coordinator and the checker know.
struct World {
  var rig = Rig(cpus: 3, gpus: 2)
  var generator: Seeded
  var nextIndex: UInt32 = 0
  var increment: UInt32 = 0
  /// What each dispatched attempt awaited.
  var awaits: [AttemptID: [UInt32]] = [:]
  var dispatched: [AttemptID] = []
  var recalledAnswers: Set<AttemptID> = []
  var abandoned: Set<AttemptID> = []
  var ended: [AttemptID: AttemptResult] = [:]
  var succeeded: Set<UInt32> = []
  var reported: Set<AttemptID> = []
  var lastReport: UInt64 = 0
  var seenLaunches = 0
  var seenMessages = 0
  var launched: Set<AttemptID> = []
  var problems: [String] = []

  init(seed: UInt64) {
    generator = Seeded(state: seed)
    reconnect()
  }

  mutating func reconnect() {
    increment += 1
    rig.apply(.disconnected)
    while rig.core.conversation == nil {
      while !rig.lines.contains(where: { $0.hasPrefix("hello") }) { rig.passTime() }
      let stale = rig.running.filter { _ in generator.chance(10) }
      abandoned.formUnion(stale)
      rig.welcome(increment: increment, stale: stale)
    }
    rig.lines = []
    lastReport = 0
    // Templates are told once a conversation.
    rig.order {
      $0.templates = [Rig.template(), Rig.template(1, cpus: 3)]
      // The gpus never bound what runs; that they add up is an invariant.
      $0.templates[0].demand.gpus = ResourceAmount(tenThousandths: 5_000)
      $0.templates[1].demand.gpus = ResourceAmount(1)
    }
    observe()
  }

  /// One step of chance.
  mutating func step() {
    switch Int.random(in: 0..<100, using: &generator) {
    case ..<30: dispatch()
    case ..<65: endOne()
    case ..<75: recall()
    case ..<82: cancel()
    case ..<85: stale()
    case ..<92: rig.order(acknowledged: UInt64.random(in: 0...lastReport, using: &generator))
    case ..<95: rig.advance(.milliseconds(Int64.random(in: 0...3_000, using: &generator)))
    case ..<97: repeatDispatch()
    default: reconnect()
    }
    observe()
    if rig.core.conversation == nil { reconnect() }
  }

  private mutating func dispatch() {
    var dispatches: [Dispatch] = []
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let priority = Priority.allCases.randomElement(using: &generator)!
      var awaited: [UInt32] = []
      if nextIndex > 0, generator.chance(50) {
        awaited.append(
          UInt32.random(in: (nextIndex > 6 ? nextIndex - 6 : 0)..<nextIndex, using: &generator))
      }
      var dispatch = Rig.dispatch(
        nextIndex, template: generator.chance(15) ? 1 : 0, priority: priority,
        place: UInt64.random(in: 0..<50, using: &generator), awaits: awaited)
      // Sometimes a further attempt of an old one, whatever became of it.
      if let again = dispatched.randomElement(using: &generator), generator.chance(15) {
        dispatch.attempt = AttemptID(operation: again.operation, attempt: again.attempt + 1)
        guard !dispatched.contains(dispatch.attempt) else { continue }
        let older = dispatched.filter { $0.operation == again.operation }
        abandoned.formUnion(older)
      } else {
        nextIndex += 1
      }
      dispatch.awaits.removeAll { $0.operation == dispatch.attempt.operation }
      awaits[dispatch.attempt] = dispatch.awaits.map(\.operation.index)
      dispatched.append(dispatch.attempt)
      dispatches.append(dispatch)
    }
    rig.order { $0.dispatches = dispatches }
  }

  private mutating func endOne() {
    guard let attempt = rig.running.randomElement(using: &generator) else { return }
    let result = generator.chance(80) ? AttemptResult.success : Rig.failure()
    ended[attempt] = result
    if result.isSuccess { succeeded.insert(attempt.operation.index) }
    rig.end(attempt.operation.index, attempt: attempt.attempt, result)
  }

  private mutating func recall() {
    guard let attempt = dispatched.randomElement(using: &generator) else { return }
    rig.order { $0.recalls = [attempt] }
  }

  private mutating func cancel() {
    guard let attempt = dispatched.randomElement(using: &generator) else { return }
    rig.order { $0.cancels = [CancelOrder(attempt: attempt, grace: .seconds(1))] }
  }

  private mutating func stale() {
    guard let attempt = dispatched.randomElement(using: &generator) else { return }
    abandoned.insert(attempt)
    rig.order { $0.stale = [attempt] }
  }

  private mutating func repeatDispatch() {
    guard let attempt = dispatched.randomElement(using: &generator) else { return }
    rig.order { $0.dispatches = [Rig.dispatch(attempt.operation.index, attempt: attempt.attempt)] }
  }

  /// Looks at what has left the worker since the last look.
  private mutating func observe() {
    for launch in rig.launches[seenLaunches...] {
      let attempt = launch.attempt
      if !launched.insert(attempt).inserted { problems.append("\(attempt) launched twice") }
      if recalledAnswers.contains(attempt) { problems.append("\(attempt) launched after recall") }
      for awaited in awaits[attempt] ?? [] where !succeeded.contains(awaited) {
        problems.append("\(attempt) launched before \(awaited) succeeded")
      }
    }
    seenLaunches = rig.launches.count
    for case .report(let report) in rig.messages[seenMessages...] {
      if report.number != lastReport + 1, report.number != 1 { problems.append("a gap") }
      lastReport = report.number
      for entry in report.entries { note(entry) }
    }
    seenMessages = rig.messages.count
  }

  private mutating func note(_ entry: WorkerReport.Entry) {
    switch entry {
    case .recalled(let attempt):
      recalledAnswers.insert(attempt)
      if rig.running.contains(attempt), !abandoned.contains(attempt) {
        problems.append("\(attempt) runs and was given back")
      }
    case .finished(let attempt, _):
      reported.insert(attempt)
      if ended[attempt] == nil { problems.append("\(attempt) reported before its end") }
    case .started, .alreadyStarted, .cancelTaken, .progress: break
    }
  }

  /// Ends everything that runs and can run, then looks whether every end was reported.
  mutating func heal() {
    var rounds = 0
    while let attempt = rig.running.first {
      ended[attempt] = .success
      succeeded.insert(attempt.operation.index)
      rig.end(attempt.operation.index, attempt: attempt.attempt)
      observe()
      rounds += 1
      if rounds > 100_000 {
        problems.append("does not come to rest")
        return
      }
    }
    reconnect()
    for attempt in launched.sorted() where !abandoned.contains(attempt) {
      if !reported.contains(attempt) { problems.append("the end of \(attempt) was never told") }
    }
    rig.order(acknowledged: lastReport)
    if rig.core.counts.unacknowledged != 0 { problems.append("keeps what is durable") }
    if rig.core.counts.running != 0 { problems.append("runs something") }
  }
}

@Suite struct RandomWorldTests {
  // G14 (each attempt at most once), S115 (each end told until acknowledged), S148 (recalled never
  // launched), S151 (awaits never violated).
  @Test(.checks("S115", "S148", "S151", "G14"), arguments: 0..<60) func promisesHold(seed: Int) {
    var world = World(seed: UInt64(seed))
    for _ in 0..<150 where world.problems.isEmpty { world.step() }
    if world.problems.isEmpty { world.heal() }
    #expect(world.problems == [], "seed \(seed)")
    #expect(world.launched.count > 5, "seed \(seed) did too little")
  }

  // House rule 7: the same events, the same lines.
  @Test func sameSeedSameTrace() {
    func lines() -> [WorkerMessage] {
      var world = World(seed: 4711)
      for _ in 0..<150 { world.step() }
      return world.rig.messages
    }
    #expect(lines() == lines())
  }
}
