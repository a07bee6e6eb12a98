// X3: a client with a key that may only look, and takes what looking can cost: subscriptions and
// questions whose selections have very many parts, pages without end, connections that say nothing.
// It changes nothing, and others are served as before.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

let observerAttack = FaultRow(
  number: "X3", name: "an observer that takes what it can", promise: "G29 G27 G36 G33",
  injection: "every request that changes anything; subscriptions and questions with 10,000 runs "
    + "and more; pages of 2^32 rows; connections over which nothing is said",
  isShort: true, run: observe)

/// X3
private func observe(_ trial: Trial) async throws {
  try await Cluster.with(try trial.keyedShape(workers: 1)) { cluster in
    let ring = try KeyRing(of: cluster)
    let keys = SocketKeys.client(
      try ring.add("looker", .observer), server: ring.server.publicKey)
    let connection = try await cluster.reach()
    let graph = try await prey(connection, trial)
    let calm = try await Toll.measured(on: cluster, graphs: trial.scale.isShort ? 10 : 40)
    trial.note("without: \(calm.text)")
    let attack = Looking(cluster: cluster, keys: keys, trial: trial, graph: graph, calm: calm)
    try await trial.withBystanders(cluster, limit: 20, growth: 160) {
      for (what, part) in [
        ("changes", attack.changes), ("questions", attack.questions),
        ("subscriptions", attack.subscriptions), ("silence", attack.silence),
      ] as [(String, @Sendable () async throws -> Void)] {
        let start = Moment.now
        try await part()
        trial.note("\(what): \(Moment.text(Moment.now.seconds(since: start))) s")
      }
    }
    let row = try await connection.graphs(.graph(graph)).first
    trial.expect(
      row?.state == .running && row?.counts.finished == 0,
      "G36: an observer changed graph \(graph.number): \(String(describing: row))")
    await connection.close()
  }
}

/// Somebody's graph, which waits.
private func prey(_ connection: ClusterConnection, _ trial: Trial) async throws -> GraphID {
  var submission = GraphSubmission(name: "prey")
  let size = UInt32(trial.scale.count(100_000, short: 5_000))
  submission.templates = [OperationTemplate(name: "n", count: size, work: Flood.noop)]
  submission.templates[0].requirements = Flood.nowhere
  let reply = try await connection.request(.submit(submission), timeout: .seconds(60))
  guard case .accepted(let graph, _, _) = reply else { throw Trouble("\(reply)") }
  return graph
}

private struct Looking: Sendable {
  let cluster: Cluster
  let keys: SocketKeys
  let trial: Trial
  let graph: GraphID
  let calm: Toll

  private func asking<Value: Sendable>(
    _ body: @escaping @Sendable (KeyedAsker) throws -> Value
  ) async throws -> Value {
    let (address, keys) = (cluster.address, keys)
    return try await onThread("looker") { try body(try KeyedAsker(address, keys)) }
  }

  // MARK: - What it may not

  func changes() async throws {
    let graph = graph
    let taken = try await asking { asker -> [String] in
      try Self.changing(graph).compactMap { request in
        let refusal = try asker.refusal(of: request)
        let isRight = refusal?.code == .forbidden && refusal?.hint.isEmpty == false
        return isRight ? nil : "\(request): \(String(describing: refusal))"
      }
    }
    trial.injected("request that may change something", times: Self.changing(graph).count)
    taken.forEach { trial.broken("G36: an observer says \($0)") }
    let (address, keys) = (cluster.workerAddress, keys)
    let refusals = try await onThread("looker") {
      let worker = try VillainWorker(address, keys, name: "looker", 1)
      try worker.listen { !$0.refusals.isEmpty || $0.conversation != nil }
      return worker.refusals.map(\.code)
    }
    trial.expect(refusals == [.forbidden], "G36: an observer serves: \(refusals)")
  }

  private static func changing(_ graph: GraphID) -> [ClientRequest] {
    let id = OperationID(graph: graph, index: 0)
    let all = Selection(graphs: .all)
    let target = OperationTarget.selection(all)
    let every: [ClientRequest] = [
      .submit(Load.probe("observed")), .enqueue([id], queue: "main"),
      .cancel(target, reason: "", grace: nil), .cancelQueue("main", reason: ""),
      .suspendGraphs(all, true), .createQueue(QueueSettings(name: "q")),
      .changeQueue("main", QueueChange(isSuspended: true)), .removeQueue("main"),
      .addDependency(from: id, to: OperationID(graph: graph, index: 1), .succeeded),
      .removeDependency(from: id, to: OperationID(graph: graph, index: 1)),
      .setPriority(target, .high), .hold(target, true), .setQueue(target, queue: "main"),
      .addBlocks(id, [1]), .beginWait(id, .queue("main")), .endWait(id), .drainWorker("w1"),
      .resumeWorker("w1"), .forgetWorker("w1"), .removeGraphs([graph]),
      .place([], avoided: [], writer: ContentAsker()), .reusable(Load.probe("observed")),
      .enrol(name: "looker", publicKey: [UInt8](repeating: 1, count: Limits.publicKeyBytes)),
    ]
    precondition(every.allSatisfy(changes), "something of it only asks")
    return every
  }

  /// A new kind of request does not compile until somebody says whether it changes anything,
  /// or costs what a submission costs.
  private static func changes(_ request: ClientRequest) -> Bool {
    switch request {
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .drainWorker, .resumeWorker, .forgetWorker, .removeGraphs, .place,
      .bring, .reusable, .enrol:
      true
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers,
      .configuration, .ping, .log, .locate, .subscribe, .grantCredit, .unsubscribe:
      false
    }
  }

  // MARK: - What it may

  func questions() async throws {
    let repetitions = trial.scale.count(20, short: 1)
    let process = try cluster.process("opcoord")
    let start = Surroundings.processorSeconds(process)
    let (graph, isShort) = (graph, trial.scale.isShort)
    let (broken, asked) = try await asking { asker in
      var broken: [String] = []
      for (what, selection, isTaken) in ManyRuns.all(of: graph) {
        for question in ManyRuns.questions(selection).prefix(isShort ? 1 : 3) {
          for _ in 0..<(isTaken ? repetitions : 1) {
            let reply = try asker.ask(question)
            if let problem = Self.problem(reply, isTaken: isTaken) {
              broken.append("\(what): \(problem)")
            }
          }
        }
      }
      for question in Self.wide(graph, ranges: isShort ? 5_000 : 60_000) {
        if let problem = Self.problem(try asker.ask(question), isTaken: nil) {
          broken.append(problem)
        }
      }
      return (broken, asker.answered)
    }
    broken.forEach { trial.broken("G29: \($0)") }
    trial.injected("question about very many things", times: asked)
    let each = (Surroundings.processorSeconds(process) - start) / Double(asked)
    trial.note("\(Moment.text(each * 1000)) ms of processor for such a question")
    trial.expect(each <= 0.5, "G29: \(Moment.text(each)) s of processor for one question")
  }

  /// Everything, everything again in as many parts as there may be, and ends of numbers.
  private static func wide(_ graph: GraphID, ranges count: UInt32) -> [ClientRequest] {
    let all = Selection(graphs: .all)
    let last = GraphID(.max)
    let ranges = (0..<count).map {
      Selection.ClosedRangeOfGraphs(GraphID(UInt32.max - $0), last)
    }
    let many = Selection(graphs: .numbers(ranges + [.init(GraphID(0), last)]))
    var odd = Selection.graph(graph)
    odd.operation = String(repeating: "*?", count: Limits.nameBytes / 2)
    odd.states = StateWord.allCases
    odd.labels = (0..<Limits.labelsPerThing).map { Label(key: "k\($0)", value: "v") }
    let first = AttemptSelection(operation: OperationID(graph: graph, index: 0), attempt: .max)
    return [all, many, odd].flatMap { selection -> [ClientRequest] in
      [
        .graphs(selection, after: nil, limit: .max),
        .operations(selection, after: nil, limit: .max), .explain(selection),
        .structure(selection),
      ]
    } + [
      .submission(graph), .submission(last), .workers, .configuration,
      .log(first, .standardOutput, offset: .min, maximumBytes: .max),
      .log(first, .standardError, offset: .max, maximumBytes: .max),
    ]
  }

  /// No page is longer than a page; what is within the bounds is taken, what is beyond is not.
  ///
  /// - Parameter isTaken: nil where either will do.
  private static func problem(_ reply: ClientReply, isTaken: Bool?) -> String? {
    let rows: Int
    switch reply {
    case .graphs(let all, _): rows = all.count
    case .operations(let all, _): rows = all.count
    case .explanations(let all, _): rows = all.count
    case .refused(let refusal):
      let isBound = refusal.code == .limitExceeded || refusal.code == .badRequest
      return isTaken == true && isBound ? "\(refusal)" : nil
    default: rows = 0
    }
    if isTaken == false { return "more than a selection may have was taken" }
    return rows <= Limits.rowsPerReply ? nil : "\(rows) rows in one reply"
  }

  /// What it selects is kept as long as it listens, so that there is a bound of it.
  func subscriptions() async throws {
    let connections = trial.scale.count(8, short: 1)
    let isShort = trial.scale.isShort
    let (graph, process) = (graph, try cluster.process("opcoord"))
    let before = Surroundings.residentBytes(process)
    let isOver = Switch()
    let taken = Counter()
    let refused = Counter()
    let listening = Task { [self] in
      try await asking { asker in
        let (address, keys) = (cluster.address, keys)
        let askers = try [asker] + (1..<connections).map { _ in try KeyedAsker(address, keys) }
        for asker in askers {
          // One more than a client may have.
          for number in 0...UInt64(64) {
            var selection = Selection.graph(graph)
            selection.elements = isShort ? Array(ManyRuns.apart.prefix(1_000)) : ManyRuns.apart
            let wish = EventSubscription(
              number: number, selection: selection, since: number % 2 == 0 ? 0 : nil)
            let refusal = try asker.refusal(of: .subscribe(wish))
            _ = refusal == nil ? taken.next() : refused.next()
          }
        }
        while !isOver.isOn {
          for asker in askers { try asker.stay() }
          usleep(200_000)
        }
      }
    }
    let count = trial.scale.isShort ? 10 : 40
    try await eventually("all subscriptions are decided", within: .seconds(300)) {
      taken.count + refused.count == connections * 65
    }
    let beside = try await Toll.measured(on: cluster, graphs: count)
    let growth = (Surroundings.residentBytes(process) - before) >> 20
    isOver.turnOn()
    try await listening.value
    trial.injected("subscription of 10,000 runs", times: connections * 65)
    trial.note(
      "\(taken.count) subscriptions were taken, \(refused.count) refused; opcoord grew by "
        + "\(growth) MiB")
    trial.expect(taken.count > 0 && refused.count > 0, "G29: \(taken.count) subscriptions taken")
    trial.expect(growth <= 64, "G29: subscriptions of one observer take \(growth) MiB")
    trial.expectNear(beside, calm, "subscriptions of one observer")
  }

  /// Who does not say hello is in nobody's quota, and is cut.
  func silence() async throws {
    let count = trial.scale.count(500, short: 10)
    let (address, keys, isShort) = (cluster.address, keys, trial.scale.isShort)
    let isOver = Switch()
    let counter = Counter()
    let silent = Task {
      try await onThread("silent") { () throws -> Int in
        let dealers = try (0..<count).map { _ in
          defer { _ = counter.next() }
          return try KeyedDealer(address, keys)
        }
        let deadline = MonotonicClock.now() + 60_000_000_000
        while !isOver.isOn || !isShort {
          let cut = try dealers.count { dealer in
            _ = try dealer.receive()
            return dealer.isCut
          }
          if cut == count || MonotonicClock.now() > deadline { return cut }
          usleep(200_000)
        }
        return count
      }
    }
    try await eventually("all are connected", within: .seconds(120)) { counter.count == count }
    let beside = try await Toll.measured(on: cluster, graphs: trial.scale.isShort ? 10 : 40)
    trial.expectNear(beside, calm, "\(count) silent connections")
    isOver.turnOn()
    let cut = try await silent.value
    trial.injected("connection over which nothing is said", times: count)
    // The short form does not wait for the half minute.
    trial.expect(cut == count, "G29: \(count - cut) of \(count) silent connections stay")
  }
}
