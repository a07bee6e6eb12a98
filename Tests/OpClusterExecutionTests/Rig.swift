// A worker's brain on a bench: orders in, effects and messages out as lines of text, no clock but
// the test's. Every step checks the invariants.

import OpClusterExecution
import OpClusterModel
import Testing

/// Drives one core as a body would, and writes down what leaves it.
struct Rig {
  var core: ExecutionCore
  var now = Instant(nanoseconds: 1_000_000_000)
  var lines: [String] = []
  var messages: [WorkerMessage] = []
  var effects: [ExecutionEffect] = []
  var conversation: Conversation?
  var ordersSent: UInt64 = 0
  /// The last report of the present conversation.
  private var lastReport: UInt64 = 0
  /// What the next welcome says of the coordinator's log.
  var known: HistoryMark?
  /// Launched and not ended, in order.
  var running: [AttemptID] = []
  var launches: [Launch] = []
  /// Reports that can wait do, without end; a worker sends them after some milliseconds.
  var collectsReports = false

  static let graph = GraphID(7)

  /// - Parameter hasStore: The worker has a store, and the coordinator knows of contents.
  init(
    cpus: Int64 = 2, gpus: Int64 = 0, settings: ExecutionSettings = ExecutionSettings(),
    hasStore: Bool = false
  ) {
    var identity = WorkerHello(
      name: "w", session: WorkerSession(5),
      capacity: Resources(cpus: ResourceAmount(cpus), gpus: ResourceAmount(gpus)))
    if hasStore { identity.store = ContentSource(endpoint: "tcp://w:1") }
    core = ExecutionCore(identity: identity, jitterSeed: 42, settings: settings, at: now)
  }

  static func attempt(_ index: UInt32, _ attempt: UInt32 = 1) -> AttemptID {
    AttemptID(operation: OperationID(graph: graph, index: index), attempt: attempt)
  }

  static func template(
    _ position: UInt32 = 0, firstIndex: UInt32 = 0, cpus: Int64 = 1, work: Work = .command
  ) -> TemplateAnnouncement {
    TemplateAnnouncement(
      graph: graph, graphName: "g", template: position, firstIndex: firstIndex,
      name: "t\(position)", isArray: true, indexRuns: [], work: work, payload: [],
      demand: Resources(cpus: ResourceAmount(cpus)), qos: .default)
  }

  static func dispatch(
    _ index: UInt32, attempt number: UInt32 = 1, template: UInt32 = 0,
    priority: Priority = .normal, place: UInt64 = 1, awaits: [UInt32] = [],
    policy: EdgePolicy = .succeeded, queue: UInt32 = 0, service: QualityOfService = .default
  ) -> Dispatch {
    var dispatch = Dispatch(
      attempt: attempt(index, number), template: template, priority: priority, place: place,
      awaits: awaits.map {
        LocalDependency(operation: OperationID(graph: graph, index: $0), policy: policy)
      })
    dispatch.queue = QueueID(queue)
    dispatch.service = service
    return dispatch
  }

  mutating func apply(_ event: ExecutionEvent) {
    core.apply(event, at: now, into: &effects)
    turn()
  }

  /// Starts what fits and carries the effects out; ends nothing by itself.
  mutating func turn() {
    while core.startReady(atMost: 8, at: now, into: &effects) > 0 {}
    for effect in effects { carryOut(effect) }
    effects.removeAll()
    while !(collectsReports && core.reportsCanWait(at: now)),
      let message = core.takeMessage(at: now)
    {
      messages.append(message)
      note(message)
    }
    #expect(core.checkInvariants() == [])
  }

  private mutating func carryOut(_ effect: ExecutionEffect) {
    switch effect {
    case .renewConversation: lines.append("renew")
    case .learn(let number, let announcement):
      lines.append("learn \(announcement.name) as \(number.position)")
    case .forget(let number): lines.append("forget \(number.position)")
    case .forgetGraph(let graph): lines.append("forget graph \(graph.number)")
    case .launch(let launch):
      running.append(launch.attempt)
      launches.append(launch)
      lines.append("launch \(Self.text(launch.attempt))")
    case .stop(let attempt): lines.append("stop \(Self.text(attempt))")
    case .kill(let attempt): lines.append("kill \(Self.text(attempt))")
    case .fetch(let content, let sources):
      lines.append("fetch \(content.size) from \(sources.map(\.endpoint).joined(separator: ","))")
    case .dropFetch(let digest): lines.append("drop \(digest.short)")
    case .deliver(let deliveries):
      for delivery in deliveries {
        lines.append("deliver \(delivery.content.size) to \(delivery.to.endpoint)")
      }
    case .grant(let grants): lines.append("grant \(grants.count)")
    case .revoke: lines.append("revoke")
    case .keep(let digests): lines.append("keep \(digests.count)")
    case .letGo(let digests): lines.append("let go \(digests.count)")
    }
  }

  static func text(_ attempt: AttemptID) -> String {
    attempt.attempt == 1
      ? "\(attempt.operation.index)" : "\(attempt.operation.index).\(attempt.attempt)"
  }

  private mutating func note(_ message: WorkerMessage) {
    switch message {
    case .hello(let hello):
      let assigned = hello.assigned.map(Self.text).joined(separator: ",")
      let executing = hello.executing.map(Self.text).joined(separator: ",")
      lastReport = 0
      lines.append("hello assigned=\(assigned) executing=\(executing)")
    case .report(let report):
      lastReport = report.number
      let entries = report.entries.map(Self.text).joined(separator: ", ")
      let contents =
        report.held.map { "+\($0.size) " } + report.lost.map { "-\($0.short.prefix(2)) " }
        + report.unreached.map { "?\($0.content.size) " }
        + report.undelivered.map { "!\($0.delivery.content.size) " }
      lines.append(
        "report \(report.number): \(contents.joined())\(entries)"
          + (report.isLeaving ? " leaving" : ""))
    case .goodbye(let last):
      // A report that does not arrive is noticed by its number (S12).
      lines.append(last == lastReport ? "goodbye" : "goodbye after \(last), not \(lastReport)")
    case .logChunk: lines.append("log?")
    }
  }

  static func text(_ entry: WorkerReport.Entry) -> String {
    switch entry {
    case .started(let attempt): return "started \(text(attempt))"
    case .recalled(let attempt): return "recalled \(text(attempt))"
    case .alreadyStarted(let attempt): return "already \(text(attempt))"
    case .cancelTaken(let attempt): return "taken \(text(attempt))"
    case .progress(let attempt, let fraction, _): return "progress \(text(attempt)) \(fraction)"
    case .finished(let attempt, let result):
      let flags = (result.wasStopped ? " stopped" : "") + (result.wasForced ? " forced" : "")
      return "finished \(text(attempt)) \(result.isSuccess ? "ok" : "\(result.cause)")\(flags)"
    }
  }

  /// Takes the lines written since the last time.
  mutating func trace() -> [String] {
    defer { lines = [] }
    return lines
  }

  // The coordinator's side

  /// Lets time come to the next deadline, until a hello is out, and welcomes it.
  mutating func welcome(increment: UInt32 = 1, stale: [AttemptID] = [], timing: Timing = Timing()) {
    while !isGreeting { passTime() }
    let conversationsBefore = core.counts.conversations
    let fresh = Conversation(
      epoch: Epoch(1), session: core.identity.session, increment: increment)
    conversation = fresh
    ordersSent = 0
    var answer = Welcome(
      conversation: fresh, version: 1, worker: WorkerID(1), timing: timing, stale: stale)
    answer.known = known
    answer.takesContents = core.identity.store != nil
    apply(.message(.welcome(answer)))
    guard core.counts.conversations == conversationsBefore else { return }
    // That hello had been given up; the next one is answered.
    passTime()
    welcome(increment: increment, stale: stale, timing: timing)
  }

  var isGreeting: Bool {
    if case .hello = messages.last { core.conversation == nil } else { false }
  }

  /// To the next deadline, exactly.
  mutating func passTime() {
    guard let next = core.nextDeadline else { return }
    now = max(now, next)
    apply(.timePassed)
  }

  mutating func advance(_ span: Span) {
    let end = now + span
    while let next = core.nextDeadline, next <= end {
      now = max(now, next)
      apply(.timePassed)
    }
    now = end
  }

  mutating func order(
    acknowledged: UInt64 = 0, _ fill: (inout WorkerOrders) -> Void = { _ in }
  ) {
    guard let conversation else { return }
    ordersSent += 1
    var orders = WorkerOrders(
      conversation: conversation, number: ordersSent, acknowledged: acknowledged)
    fill(&orders)
    apply(.message(.orders(orders)))
  }

  mutating func end(_ index: UInt32, attempt: UInt32 = 1, _ result: AttemptResult = .success) {
    let attempt = Self.attempt(index, attempt)
    running.removeAll { $0 == attempt }
    apply(.ended(attempt, result))
  }

  static func failure(_ cause: FailureCause = .failed) -> AttemptResult {
    var result = AttemptResult()
    result.cause = cause
    return result
  }
}
