// The life of one `map`: submits jobs as arrays, hears how they end, decides what follows. One task
// owns it; what others see is told to it as a `MapHappening`.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterOneLiners
import OpClusterPresentation
import OpClusterReading
import Synchronization

/// What the run hears of.
enum MapHappening: Sendable {
  case events([Event])
  case arguments(MapInput.Chunk)
  /// Time for a look: at logs that grow, at a start that was put off.
  case look
  case interrupted
  /// The user waits no longer.
  case left
  case failed(any Error)
}

/// A graph of jobs.
final class MapGraph {
  let id: GraphID
  var jobs: [MapJob]
  var unended: Int
  /// How many of its jobs may run at once; nil: no limit of ours.
  var limit: Int?
  /// Jobs whose output is not printed yet.
  var unprinted: Int

  init(_ id: GraphID, _ jobs: [ComposedJob], limit: Int?) {
    self.id = id
    self.jobs = jobs.map { MapJob(composed: $0) }
    (unended, unprinted) = (jobs.count, jobs.count)
    self.limit = limit
  }

  /// The places that it takes or may take.
  var places: Int { min(limit ?? unended, unended) }
}

struct MapJob {
  var composed: ComposedJob
  var startedAt = WallTime.unknown
  var endedAt = WallTime.unknown
  var worker: WorkerID?
  var outcome: Outcome?
  /// Known for jobs that failed.
  var result: AttemptResult?
  var log = MapLogPosition()

  var hasRun: Bool { worker != nil && outcome != .skipped && outcome != .cancelled }

  /// Its status as a shell has it, 128 + n for a signal.
  var status: Int32 {
    if outcome == .succeeded { return 0 }
    let result = result ?? .success
    if result.signal != 0 { return 128 + result.signal }
    if result.cause == .cannotStart { return CommandRun.startStatus(result).code }
    return result.exitStatus == 0 ? 255 : result.exitStatus
  }
}

/// One job of a graph.
struct MapJobPlace {
  var graph: MapGraph
  var at: Int
  var operation: OperationID { OperationID(graph: graph.id, index: UInt32(at)) }
  var job: MapJob { graph.jobs[at] }
}

final class MapRun {
  private let connection: ClusterConnection
  private let source: MapInput
  private let settings: MapSettings
  private let console: Console
  private let output: MapOutput
  private let inbox: AsyncStream<MapHappening>.Continuation
  private let happenings: AsyncStream<MapHappening>
  /// The graphs that have not ended, for the task that hears Ctrl-C.
  private let living = LivingGraphs()

  private var graphs: [GraphID: MapGraph] = [:]
  private var newest: MapGraph?
  /// Read and not submitted.
  private var pending: ArraySlice<JobArguments> = []
  private var isReading = false
  private var inputHasEnded = false
  private var problem: InputProblem?
  /// Jobs that ended; in the order in which they are printed.
  private var order = MapOrder()
  private var unended = 0
  private var submitted = 0
  private var tally = JobTally()
  private var freeSlots: [Int] = []
  private var nextStart: ContinuousClock.Instant?
  /// The exit status by `--halt`.
  private var haltStatus: Int32?
  private var isInterrupted = false

  init(
    _ connection: ClusterConnection, _ source: MapInput, _ settings: MapSettings,
    _ cluster: MapCluster, _ console: Console
  ) throws {
    self.connection = connection
    self.source = source
    self.settings = settings
    self.console = console
    output = try MapOutput(
      Reader(connection: connection, timeout: nil), settings, cluster, console)
    (happenings, inbox) = AsyncStream.makeStream()
    if settings.composer.usesSlots { freeSlots = Array((1...(settings.places ?? 1)).reversed()) }
    order.isKept = settings.keepsOrder
  }

  /// Runs all jobs; returns the status of the command.
  func run() async throws -> ExitStatus {
    var tasks = [listen(), hearInterrupts()]
    if settings.printing != .together || settings.showsBar { tasks.append(lookOften()) }
    defer { for task in tasks { task.cancel() } }
    do {
      try await goOn()
    } catch {
      // Nobody waits for the jobs any more.
      await living.cancelGraphs(connection, kill: false)
      throw error
    }
    output.endBar()
    if let problem { throw problem }
    if isInterrupted { return .interrupted }
    return ExitStatus(code: haltStatus ?? tally.exitStatus)
  }

  private func goOn() async throws {
    try await advance()
    if isDone { return }
    for await happening in happenings {
      switch happening {
      case .events(let events): try await take(events)
      case .arguments(let chunk): take(chunk)
      case .look: try await output.showRunning(runningJobs)
      case .interrupted: isInterrupted = true
      case .left: return
      case .failed(let error): throw error
      }
      try await advance()
      if isDone { return }
    }
  }

  private var stops: Bool { isInterrupted || haltStatus != nil || problem != nil }

  private var isDone: Bool {
    let isAll = inputHasEnded && pending.isEmpty
    return unended == 0 && order.isEmpty && (isInterrupted || haltStatus != nil || isAll)
  }

  /// Everything that can be done now.
  private func advance() async throws {
    try await submit()
    try await widen()
    read()
    try await showOutputs()
    tellProgress()
  }

  // What others do

  /// Subscribes at once, not when its task first runs: nobody would follow a graph that was
  /// submitted before.
  private func listen() -> Task<Void, Never> {
    let own = EventSubscription(
      number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true)
    let batches = connection.events(own)
    return Task { [inbox] in
      do {
        for try await batch in batches { inbox.yield(.events(batch.events)) }
      } catch {
        inbox.yield(.failed(error))
      }
    }
  }

  /// The first signal cancels; the second kills and leaves at once.
  private func hearInterrupts() -> Task<Void, Never> {
    Task { [connection, inbox, console, living] in
      var count = 0
      for await signal in console.interrupts {
        count += 1
        console.say(
          (console.errorIsTerminal ? "\n" : "")
            + GraphRun.cancelling(signal, isFirst: count == 1))
        if count == 1 { inbox.yield(.interrupted) }
        await living.cancelGraphs(connection, kill: count > 1)
        if count > 1 { inbox.yield(.left) }
      }
    }
  }

  private func lookOften() -> Task<Void, Never> {
    Task { [inbox] in
      while !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(100))
        inbox.yield(.look)
      }
    }
  }

  // Input

  /// Asks for more arguments, if there is room for their jobs.
  private func read() {
    let room = Limits.oneLinersUnderWay - order.count - pending.count
    guard !isReading, !inputHasEnded, !stops, pending.isEmpty, room > 0 else { return }
    isReading = true
    let most = min(room, Limits.oneLinersPerGraph)
    Task { [source, inbox] in inbox.yield(.arguments(await source.nextChunk(atMost: most))) }
  }

  private func take(_ chunk: MapInput.Chunk) {
    isReading = false
    inputHasEnded = chunk.isEnd
    if let found = chunk.problem { problem = found }
    pending = chunk.jobs[...]
    if settings.finished.count > 0 {
      pending.removeAll { settings.finished.contains($0.sequence) }
    }
  }

  // Submission

  /// How many further jobs may be under way; nil: any number.
  private var free: Int? {
    guard let places = settings.places else { return nil }
    if settings.composer.usesSlots { return freeSlots.count }
    // A queue of the cluster has no limit of ours, and an array's limit is its own.
    if settings.hasNamedQueue { return unended == 0 ? places : 0 }
    return places - graphs.values.reduce(0) { $0 + $1.places }
  }

  private func submit() async throws {
    guard haltStatus == nil, !isInterrupted else {
      pending = []
      return
    }
    while !pending.isEmpty {
      var count = pending.count
      let limit = free
      if let limit, limit <= 0 { return }
      if settings.composer.usesSlots { count = min(count, freeSlots.count) }
      if let delay = settings.delay {
        let now = ContinuousClock.now
        if let nextStart, nextStart > now { return look(at: nextStart) }
        nextStart = now + delay
        count = 1
      }
      var jobs: [ComposedJob] = []
      jobs.reserveCapacity(count)
      for arguments in pending.prefix(count) {
        var arguments = arguments
        if settings.composer.usesSlots { arguments.slot = freeSlots.popLast() ?? 1 }
        jobs.append(settings.composer.job(arguments))
      }
      pending = pending.dropFirst(count)
      try await submit(jobs, limit: limit)
    }
  }

  private func submit(_ jobs: [ComposedJob], limit: Int?) async throws {
    let submission = try settings.graphSubmission(jobs, limit: limit, after: tally)
    let accepted = try await GraphRun.submit(submission, connection)
    let graph = MapGraph(accepted.graph, jobs, limit: limit)
    living.noteGraph(graph.id)
    graphs[graph.id] = graph
    newest = graph
    unended += jobs.count
    order.addGraph(graph)
    if submitted == 0 { noticeWaiting(graph.id) }
    submitted += jobs.count
    // What was interrupted meanwhile.
    if isInterrupted { await living.cancelGraphs(connection, kill: false) }
  }

  private func noticeWaiting(_ graph: GraphID) {
    let (connection, console, living) = (connection, console, living)
    Task { try? await WaitingNotice(connection, console).watch(graph) { living.noneStarted } }
  }

  private func look(at time: ContinuousClock.Instant) {
    Task { [inbox] in
      try? await Task.sleep(until: time, clock: .continuous)
      inbox.yield(.look)
    }
  }

  /// Gives the newest graph the places that older ones no longer need.
  private func widen() async throws {
    guard let places = settings.places, let newest, let limit = newest.limit,
      !settings.hasNamedQueue, graphs.count > 1 || limit < places, newest.unended > limit
    else { return }
    let others = graphs.values.reduce(0) { $0 + ($1.id == newest.id ? 0 : $1.places) }
    guard places - others > limit else { return }
    newest.limit = places - others
    do throws(ClientError) {
      _ = try await connection.request(
        .changeQueue(
          "\(newest.id.number)/map", QueueChange(limit: .atMost(UInt32(places - others)))))
    } catch {
      // The graph has just ended, and its queue with it.
      guard case .refused = error.kind else { throw error }
    }
  }

  // Events

  private var runningJobs: [MapJobPlace] {
    guard settings.printing != .together else { return [] }
    return graphs.values.flatMap { graph in
      graph.jobs.indices.filter { graph.jobs[$0].worker != nil && graph.jobs[$0].outcome == nil }
        .map { MapJobPlace(graph: graph, at: $0) }
    }
  }

  private func take(_ events: [Event]) async throws {
    var failed: [MapJobPlace] = []
    for event in events {
      guard case .operation(let id, _) = event.subject, let graph = graphs[id.graph],
        graph.jobs.indices.contains(Int(id.index))
      else { continue }
      let at = Int(id.index)
      switch event.kind {
      case .attemptStarted(_, let worker):
        graph.jobs[at].worker = worker
        graph.jobs[at].startedAt = event.time
        // A further attempt has a log of its own.
        graph.jobs[at].log = MapLogPosition()
        living.noteStart()
      case .isFinished(let outcome) where graph.jobs[at].outcome == nil:
        graph.jobs[at].outcome = outcome
        graph.jobs[at].endedAt = event.time
        ended(MapJobPlace(graph: graph, at: at), &failed)
      default: break
      }
    }
    try await settle(failed)
  }

  private func ended(_ place: MapJobPlace, _ failed: inout [MapJobPlace]) {
    place.graph.unended -= 1
    unended -= 1
    if place.graph.unended == 0 { living.dropGraph(place.graph.id) }
    let slot = place.job.composed.arguments.slot
    if slot > 0, settings.composer.usesSlots { freeSlots.append(slot) }
    order.end(place)
    switch place.job.outcome {
    case .succeeded:
      tally.succeeded += 1
      checkHalt(place)
    case .cancelled, .skipped, nil: break
    case .failed, .timedOut, .lost: failed.append(place)
    }
  }

  /// Learns how jobs failed, and counts them.
  private func settle(_ failed: [MapJobPlace]) async throws {
    guard !failed.isEmpty else { return }
    try await output.readResults(of: failed)
    for place in failed {
      tally.failed += 1
      checkHalt(place)
    }
    if haltStatus != nil, !isInterrupted { await halt() }
  }

  private func checkHalt(_ place: MapJobPlace) {
    guard let rule = settings.halt, haltStatus == nil else { return }
    let total = inputHasEnded && pending.isEmpty ? submitted : nil
    guard rule.isReached(tally, total: total) else { return }
    haltStatus = rule.exitStatus(tally, total: total ?? submitted, last: place.job.status)
    let words: [HaltRule.Event: String] = [
      .fail: "failed", .success: "succeeded", .done: "finished",
    ]
    let word = words[rule.event] ?? "ended"
    console.say("this job \(word): \(safe(place.job.composed.text))")
    let (connection, living) = (connection, living)
    Task { await living.halt(connection, kill: rule.killsRunning) }
  }

  private func halt() async {
    await living.halt(connection, kill: settings.halt?.killsRunning ?? false)
  }

  // Output

  /// Prints some of what can be printed; the rest follows after what has happened meanwhile.
  private func showOutputs() async throws {
    let places = order.next(atMost: MapOutput.jobsAtOnce)
    guard !places.isEmpty else { return }
    try await output.showOutputs(of: places)
    for place in places {
      place.graph.unprinted -= 1
      if place.graph.unprinted == 0 {
        graphs[place.graph.id] = nil
        if newest?.id == place.graph.id { newest = nil }
      }
    }
    if order.hasNext { inbox.yield(.events([])) }
  }

  private func tellProgress() {
    guard settings.showsBar else { return }
    output.showBar(
      done: submitted - unended, total: submitted + pending.count, isTotal: inputHasEnded,
      failed: tally.failed)
  }
}

/// The jobs that ended and are not printed.
struct MapOrder {
  var isKept = false
  /// All unprinted jobs, in the order of the input; only if that is kept.
  private var submitted: [MapJobPlace] = []
  private var ended: [MapJobPlace] = []
  private var first = 0
  /// The number of unprinted jobs, those that run included.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func addGraph(_ graph: MapGraph) {
    count += graph.jobs.count
    guard isKept else { return }
    submitted += graph.jobs.indices.map { MapJobPlace(graph: graph, at: $0) }
  }

  mutating func end(_ place: MapJobPlace) {
    if !isKept { ended.append(place) }
  }

  var hasNext: Bool {
    isKept
      ? first < submitted.count && submitted[first].job.outcome != nil : first < ended.count
  }

  mutating func next(atMost most: Int) -> [MapJobPlace] {
    var places: [MapJobPlace] = []
    while hasNext, places.count < most {
      places.append(isKept ? submitted[first] : ended[first])
      first += 1
    }
    count -= places.count
    if first > Limits.oneLinersPerGraph || count == 0 {
      if isKept { submitted.removeFirst(first) } else { ended.removeFirst(first) }
      first = 0
    }
    return places
  }
}

/// The graphs that may have to be stopped. Any task.
final class LivingGraphs: Sendable {
  private struct State {
    var graphs: Set<GraphID> = []
    var hasStarted = false
  }
  private let state = Mutex(State())

  func noteGraph(_ graph: GraphID) { state.withLock { _ = $0.graphs.insert(graph) } }
  func dropGraph(_ graph: GraphID) { state.withLock { _ = $0.graphs.remove(graph) } }
  func noteStart() { state.withLock { $0.hasStarted = true } }
  var noneStarted: Bool { state.withLock { !$0.hasStarted && !$0.graphs.isEmpty } }

  private var selection: Selection? {
    let graphs = state.withLock { $0.graphs }
    return graphs.isEmpty ? nil : Selection.graphs(Array(graphs))
  }

  /// Cancels everything. A limit of its own, so that a lost coordinator cannot keep us.
  func cancelGraphs(_ connection: ClusterConnection, kill: Bool) async {
    guard let selection else { return }
    _ = try? await connection.request(
      .cancel(.selection(selection), reason: "interrupted", grace: kill ? .zero : nil),
      timeout: kill ? .seconds(2) : .seconds(10))
  }

  /// Cancels what has not begun, or everything.
  func halt(_ connection: ClusterConnection, kill: Bool) async {
    guard var selection else { return }
    if !kill { selection.states = [.declared, .waiting, .held, .ready, .dispatched] }
    _ = try? await connection.request(
      .cancel(.selection(selection), reason: "halt", grace: nil), timeout: .seconds(10))
  }
}
