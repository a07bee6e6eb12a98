// Plays the commands of a script in a world: commands gather what one turn takes in, `turn` (and
// the end of a step) lets the scheduler take it, and the trace says what came of it.

import OpClusterModel

@testable import OpClusterScheduling

struct ScriptPlayer {
  private(set) var world = World()
  private var names = ScriptNames()
  private var requests: [UInt64: String] = [:]
  private var peers: [PeerID: String] = [:]
  private var inputs: [Input] = []
  /// What each request would make known if it were accepted.
  private var submitted: [UInt64: GraphSubmission] = [:]
  private var lastEntries: [String: [WorkerReport.Entry]] = [:]
  /// How long operations take: time passes by so much before a turn that ends some.
  private var pace = Span.seconds(1)
  private var endsSome = false
  /// Workers that say nothing while time passes.
  private var silent: Set<String> = []
  private var trace: [String] = []
  /// The own sequence of each operation's newest event (S106).
  private var sequences: [OperationID: UInt32] = [:]
  private(set) var problem: String?

  init() { world.turns = [] }

  /// The trace of one step.
  mutating func play(_ commands: [String]) throws(ScriptError) -> [String] {
    trace = []
    for command in commands where !command.hasPrefix("#") { try play(command) }
    flush()
    return trace
  }

  private mutating func play(_ command: String) throws(ScriptError) {
    let words = command.split(separator: " ").map(String.init)
    guard let verb = words.first else { return }
    let rest = Array(words.dropFirst())
    switch verb {
    case "turn": flush()
    case "pace": pace = try duration(rest.first ?? "")
    case "worker": try join(rest)
    case "lose": try lose(rest)
    case "wait": try wait(rest.first ?? "")
    case "silent": silent.formUnion(rest)
    case "restart": restartCoordinator()
    case "clock": try setClock(rest.first ?? "")
    case "submit": try submit(rest)
    default:
      if let at = world.workers.firstIndex(where: { $0.name == verb }) {
        try speak(at, rest)
      } else {
        ask(try request(verb, rest), as: command)
      }
    }
  }

  // MARK: - Turns

  private mutating func flush() {
    if inputs.isEmpty { return }
    if endsSome { world.now = world.now + pace }
    endsSome = false
    let taken = inputs
    inputs = []
    world.step { scheduler, turn in
      for input in taken { scheduler.handle(input, into: &turn) }
    }
    tell()
  }

  /// Puts every turn that was closed since the last time into words.
  private mutating func tell() {
    for turn in world.turns ?? [] {
      learn(from: turn)
      let words = ScriptTrace(names: names, requests: requests, peers: peers)
      trace += words.lines(of: turn)
      check(turn)
    }
    world.turns = []
    if problem == nil, let broken = world.brokenInvariant { problem = "invariant: \(broken)" }
  }

  private mutating func learn(from turn: SchedulingTurn) {
    for record in turn.records {
      switch record {
      case .workerJoined(let id, let name, _): names.workers[id] = name
      case .queueCreated(let id, let settings): names.queues[id] = settings.name
      case .queueChanged(let id, let settings): names.queues[id] = settings.name
      default: break
      }
    }
    for case .toClient(_, let request, .accepted(let graph, _, false)) in turn.afterDurable {
      if let submission = submitted.removeValue(forKey: request.number) {
        names.forget(graph: graph.number)
        names.add(submission, graph: graph.number)
      }
    }
    for case .toClient(_, let request, .refused) in turn.afterDurable {
      if submitted.removeValue(forKey: request.number) != nil {
        names.forget(graph: world.scheduler.counters.lastGraph + 1)
      }
    }
  }

  /// S106: every operation's events are gapless.
  private mutating func check(_ turn: SchedulingTurn) {
    for run in turn.events {
      run.forEach { event in
        guard case .operation(let id, let own) = event.subject else { return }
        if own != sequences[id, default: 0] + 1, problem == nil {
          problem = "event \(own) of \(names.name(id)) came after \(sequences[id, default: 0])"
        }
        sequences[id] = own
      }
    }
  }

  /// A new life of the coordinator, out of its journal; nobody is connected any more (S150).
  private mutating func restartCoordinator() {
    flush()
    world.scheduler = world.replayed()
    for at in world.workers.indices { silent.insert(world.workers[at].name) }
    world.beginLife()
    tell()
  }

  /// `clock 30s`, `clock -30s`: the wall clock goes on by so much, and nothing else does.
  private mutating func setClock(_ text: String) throws(ScriptError) {
    flush()
    let isBack = text.hasPrefix("-")
    let shift = try duration(isBack ? String(text.dropFirst()) : text).nanoseconds / 1_000_000
    world.wallShift += isBack ? -shift : shift
  }

  // MARK: - Clients

  private mutating func ask(_ request: ClientRequest, as text: String) {
    world.lastRequest += 1
    requests[world.lastRequest] = text
    inputs.append(.client(PeerID(1), RequestID(world.lastRequest), request))
  }

  private mutating func submit(_ words: [String]) throws(ScriptError) {
    let submission = try SubmissionParser.parse(words, names)
    ask(.submit(submission), as: "submit")
    let waiting = UInt32(submitted.count)
    submitted[world.lastRequest] = submission
    names.add(submission, graph: world.scheduler.counters.lastGraph + 1 + waiting)
  }

  private func request(
    _ verb: String, _ words: [String]
  ) throws(ScriptError) -> ClientRequest {
    func id(_ at: Int) throws(ScriptError) -> OperationID {
      guard at < words.count, let id = names.operation(words[at]) else {
        throw ScriptError("\(verb): no operation at word \(at + 1)")
      }
      return id
    }
    switch verb {
    case "cancel": return .cancel(try target(words), reason: "", grace: nil)
    case "cancel-queue": return .cancelQueue(words.first ?? "", reason: "")
    case "enqueue":
      let ids = try operations(words.dropLast())
      return .enqueue(ids, queue: (words.last ?? "").keyAndValue.1)
    case "move":
      return .setQueue(try target(words.dropLast()), queue: (words.last ?? "").keyAndValue.1)
    case "hold", "release": return .hold(try target(words), verb == "hold")
    case "add-blocks": return .addBlocks(try id(0), Array(words[1].utf8))
    case "depend":
      let need = words[1].split(separator: ":").map(String.init)
      guard let from = names.operation(need[0]) else { throw ScriptError("no \(need[0])") }
      let policy = need.count == 2 ? try edgePolicy(need[1]) : .finished
      return .addDependency(
        from: from, to: try id(0), policy, allowsCycle: words.last == "cycles")
    case "undepend": return .removeDependency(from: try id(1), to: try id(0))
    case "priority":
      let word = words.last ?? ""
      let priority = Priority(word: word) ?? Priority(normalising: Int(word) ?? 0)
      return .setPriority(try target(words.dropLast()), priority)
    case "suspend-graph", "resume-graph":
      return .suspendGraphs(try selection(["graph"] + words), verb == "suspend-graph")
    case "begin-wait":
      if words.count == 2, words[1].hasPrefix("queue=") {
        return .beginWait(try id(0), .queue(words[1].keyAndValue.1))
      }
      var ids: [OperationID] = []
      for at in 1..<words.count { ids.append(try id(at)) }
      return .beginWait(try id(0), .operations(ids))
    case "end-wait": return .endWait(try id(0))
    case "submission": return .submission(GraphID(UInt32(words.first ?? "") ?? 0))
    case "drain": return .drainWorker(words.first ?? "")
    case "show": return .operations(try selection(words), after: nil, limit: 0)
    case "why": return .explain(try selection(words))
    case "queues": return .queues()
    case "workers": return .workers
    case "queue": return try queueRequest(words)
    default: throw ScriptError("unknown command \(verb)")
    }
  }

  /// `each a b` for an explicit set, `after a` for what depends on it, else a selection.
  private func target(_ words: some Collection<String>) throws(ScriptError) -> OperationTarget {
    let words = Array(words)
    switch words.first ?? "" {
    case "each": return .operations(try operations(words.dropFirst()))
    case "after":
      guard let first = try operations(words.dropFirst()).first else {
        throw ScriptError("after what?")
      }
      return .dependents(of: first)
    default: return .selection(try selection(words))
    }
  }

  private func operations(_ words: ArraySlice<String>) throws(ScriptError) -> [OperationID] {
    var ids: [OperationID] = []
    for word in words {
      guard let id = names.operation(word) else { throw ScriptError("no operation \(word)") }
      ids.append(id)
    }
    return ids
  }

  /// `graph 1`, `tag x`, `level low`, `like 1 a*` for a pattern in a graph, or an operation.
  private func selection(_ words: [String]) throws(ScriptError) -> Selection {
    let value = words.count > 1 ? words[1] : ""
    switch words.first ?? "" {
    case "graph": return .graph(GraphID(UInt32(value) ?? 0))
    case "like":
      var selection = Selection.graph(GraphID(UInt32(value) ?? 0))
      selection.operation = words.last
      return selection
    case "tag":
      var selection = Selection(graphs: .all)
      selection.labels = [Label(key: "tag", value: value)]
      return selection
    case "level":
      var selection = Selection(graphs: .all)
      selection.priority = Priority(word: value)
      return selection
    case let name:
      let parts = name.split(separator: "/").map(String.init)
      guard let group = names.group(parts[0]) else { throw ScriptError("no \(name)") }
      var selection = Selection.graph(GraphID(group.graph))
      selection.operation = parts[0]
      if parts.count == 2, let shown = UInt32(parts[1]) {
        selection.elements = [IndexRun(first: shown, count: 1)]
      }
      return selection
    }
  }

  private func queueRequest(_ words: [String]) throws(ScriptError) -> ClientRequest {
    guard words.count >= 2 else { throw ScriptError("queue: which, and what?") }
    if words[0] == "remove" { return .removeQueue(words[1]) }
    let isNew = words[0] == "create"
    var settings = QueueSettings(name: words[isNew ? 1 : 0])
    var change = QueueChange()
    for word in words.dropFirst(isNew ? 2 : 1) {
      let (key, value) = word.keyAndValue
      switch key {
      case "limit":
        settings.maximumConcurrent = UInt32(value)
        change.limit = UInt32(value).map { .atMost($0) } ?? .unlimited
      case "suspended", "suspend":
        settings.isSuspended = true
        change.isSuspended = true
      case "resume": change.isSuspended = false
      case "pool":
        settings.pool = value.isEmpty ? [] : [LabelRequirement(word: value)]
        change.pool = settings.pool
      case "name": change.newName = value
      case "qos":
        settings.qos = QualityOfService(word: value) ?? .default
        change.qos = settings.qos
      default: throw ScriptError("queue: unknown \(word)")
      }
    }
    return isNew ? .createQueue(settings) : .changeQueue(settings.name, change)
  }

  // MARK: - Workers

  private mutating func join(_ words: [String]) throws(ScriptError) {
    var worker = FakeWorker(
      name: words[0], session: WorkerSession(UInt64(world.workers.count + 1)),
      peer: PeerID(UInt64(100 + world.workers.count)))
    for word in words.dropFirst() {
      let (key, value) = word.keyAndValue
      switch key {
      case "slots": worker.capacity.cpus = ResourceAmount(Int64(value) ?? 1)
      case "memory": worker.capacity.memoryBytes = Int64(value) ?? 0
      case "label": worker.labels.append(Label(word: value))
      case "types":
        worker.types = value.split(separator: ",").map { OperationType(word: String($0)) }
      default: throw ScriptError("worker: unknown \(word)")
      }
    }
    world.workers.append(worker)
    greet(world.workers.count - 1)
  }

  private mutating func greet(_ at: Int) {
    peers[world.workers[at].peer] = world.workers[at].name
    inputs.append(world.hello(of: at))
  }

  /// What a worker does and says: `w1 start a end b=5 fail c`, `w1 quietly start a`.
  private mutating func speak(_ at: Int, _ words: [String]) throws(ScriptError) {
    var isQuiet = false
    var rest = words[...]
    while let verb = rest.popFirst() {
      switch verb {
      case "quietly": isQuiet = true
      case "reports": break
      case "leaving": world.workers[at].isLeaving = true
      case "goodbye":
        let told = rest.first.flatMap { $0.hasPrefix("after=") ? UInt64($0.dropFirst(6)) : nil }
        if told != nil { rest.removeFirst() }
        inputs.append(.worker(world.workers[at].peer, .goodbye(lastReport: told ?? 0)))
        isQuiet = true
      case "gone":
        silent.insert(world.workers[at].name)
        inputs.append(.gone(world.workers[at].peer))
        isQuiet = true
      case "back", "restarted":
        silent.remove(world.workers[at].name)
        if verb == "restarted" { restart(at) }
        world.workers[at].peer.number += 1000
        greet(at)
        isQuiet = true
      case "repeats": world.workers[at].outbox = lastEntries[world.workers[at].name] ?? []
      default:
        guard let what = rest.popFirst() else { throw ScriptError("\(verb) what?") }
        try act(at, verb, what)
      }
    }
    if isQuiet { return }
    lastEntries[world.workers[at].name] = world.workers[at].outbox
    if let report = world.nextReport(of: at) { inputs.append(report) }
  }

  private mutating func restart(_ at: Int) {
    world.workers[at].session.number += 1000
    world.workers[at].assigned = []
    world.workers[at].executing = []
    world.workers[at].outbox = []
    world.workers[at].known = nil
  }

  private mutating func act(_ at: Int, _ verb: String, _ what: String) throws(ScriptError) {
    let (name, value) = what.keyAndValue
    guard let id = names.operation(name) else { throw ScriptError("no operation \(name)") }
    let name0 = world.workers[at].name
    switch verb {
    case "start":
      guard let held = world.workers[at].assigned.first(where: { $0.attempt.operation == id })
      else {
        throw ScriptError("\(name0) does not hold \(name)")
      }
      if !held.awaits.isEmpty { throw ScriptError("\(name) still waits at \(name0)") }
      world.start(at, id)
    case "end", "fail", "stop", "fail-badly", "fail-unknown", "fail-missing", "fail-stopped":
      guard world.workers[at].executing.contains(where: { $0.operation == id }) else {
        throw ScriptError("\(name0) does not run \(name)")
      }
      world.end(at, id, result(verb, value))
      world.workers[at].clearAwaits()
      endsSome = true
    case "cancel-taken":
      for attempt in world.workers[at].executing where attempt.operation == id {
        world.workers[at].outbox.append(.cancelTaken(attempt))
      }
    case "progress":
      for attempt in world.workers[at].executing where attempt.operation == id {
        let fraction = (Double(value) ?? 0) / 100
        world.workers[at].outbox.append(.progress(attempt, fraction: fraction, text: "so far"))
      }
    case "forget": world.workers[at].assigned.removeAll { $0.attempt.operation == id }
    case "claim":
      // Says that it ended an attempt that may never have been its own.
      let attempt = AttemptID(operation: id, attempt: UInt32(value) ?? 1)
      world.workers[at].outbox.append(.finished(attempt, .success))
    default: throw ScriptError("a worker cannot \(verb)")
    }
  }

  private func result(_ verb: String, _ value: String) -> AttemptResult {
    var result = AttemptResult()
    result.output = Array(value.utf8)
    switch verb {
    case "fail": result = .failure(Int32(value) ?? 1)
    case "fail-badly": result.cause = .badArgument
    case "fail-unknown": result.cause = .unknownType
    case "fail-missing": result.cause = .missingInput
    case "fail-stopped": result.cause = .workerStopped
    case "stop": result.wasStopped = true
    default: break
    }
    return result
  }

  // MARK: - Time

  /// A worker falls silent until its lease has run out; the others go on speaking.
  private mutating func lose(_ words: [String]) throws(ScriptError) {
    guard let name = words.first, world.workers.contains(where: { $0.name == name }) else {
      throw ScriptError("lose whom?")
    }
    let lease = world.scheduler.timing.lost.nanoseconds / 1_000_000
    silent.insert(name)
    try wait("\(lease + 1000)ms")
  }

  /// Time passes heartbeat by heartbeat, at which every worker speaks that is not silent.
  private mutating func wait(_ text: String) throws(ScriptError) {
    flush()
    let end = world.now + (try duration(text))
    let beat = world.scheduler.timing.heartbeat
    while world.now < end {
      world.now = min(end, world.now + beat)
      for at in world.workers.indices where !silent.contains(world.workers[at].name) {
        let outbox = world.workers[at].outbox
        world.workers[at].outbox = []
        if let report = world.nextReport(of: at) { inputs.append(report) }
        world.workers[at].outbox = outbox
      }
      inputs.append(.tick())
      flush()
    }
  }
}
