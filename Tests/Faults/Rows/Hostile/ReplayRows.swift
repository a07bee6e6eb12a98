// F52: every kind of message that real peers say is recorded by taps in both links, over TCP with
// keys, and said again: doubled, out of order, later, over other connections, and to later lives of
// the coordinator. Nothing is lost, nothing happens twice, no told answer changes.

import Glibc
import OpClusterClient
import OpClusterKeys
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

let replayRow = FaultRow(
  number: "F52B", name: "every recorded kind of message again", promise: "G12 G13 G14 G19",
  injection: "taps in all links: each kind doubled, reordered, late, over another connection, and "
    + "after restarts of opcoord", run: replayedKinds)

/// F52
private func replayedKinds(_ trial: Trial) async throws {
  let lives = trial.scale.count(5, short: 2)
  let replayer = Replayer(copies: trial.scale.count(10, short: 1))
  try await trial.underLoad(trial.keyedShape(workers: 0)) { cluster, load in
    let ring = try KeyRing(of: cluster)
    let rule: Tap.Rule = { replayer.rule($0) }
    let clients = try Tap(to: cluster.address, of: ring, isForWorkers: false, rule: rule)
    let workers = try Tap(to: cluster.workerAddress, of: ring, isForWorkers: true, rule: rule)
    for name in ["w1", "w2"] {
      try cluster.startWorker(name, ["--coordinator", workers.address])
    }
    let shape = LoadShape(graphs: 1, operationsPerGraph: 1, longest: 0)
    let mixed = try Load(shape, on: cluster, address: clients.address)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in [8, 9] { group.addTask { try await mixed.probe(client) } }
      var talk = Talk(cluster: cluster, load: load, clients: clients, workers: workers)
      for life in 1...lives {
        if life > 1 {
          try await cluster.kill("opcoord")
          try await cluster.startCoordinator()
          replayer.restarted()
        }
        for _ in 0..<2 { try await talk.sayEverything() }
        try await talk.enrol(ring)
      }
      // What was recorded too late for one of the ways.
      for _ in 0..<10 where !replayer.missing.isEmpty { try await talk.sayEverything() }
      replayer.end()
      mixed.stop()
      try await group.waitForAll()
    }
    mark("judge")
    judge(replayer, trial)
    try await expectSameAnswers(mixed, cluster, trial)
    // The load ends without taps: they only pass on from now on.
    try await trial.settle(load, cluster)
    for name in ["w1", "w2"] { cluster.daemon(name)?.signal(SIGTERM) }
    for name in ["w1", "w2"] { try await cluster.daemon(name)?.ended() }
    try await clients.end()
    try await workers.end()
  }
}

private func judge(_ replayer: Replayer, _ trial: Trial) {
  let counts = replayer.counts
  for way in ReplayWay.allCases {
    let count = counts.values.reduce(0) { $0 + ($1[way] ?? 0) }
    trial.injected("message \(way.rawValue)", times: count)
  }
  trial.note("\(counts.count) kinds of messages were recorded: \(counts.keys.sorted())")
  for kind in MessageKinds.wanted.subtracting(counts.keys).sorted() {
    trial.broken("nobody said '\(kind)': it was not recorded")
  }
  let missing = replayer.missing
  for kind in missing where MessageKinds.wanted.contains(where: { kind.hasPrefix($0 + " ") }) {
    trial.broken("not said again: \(kind)")
  }
  if !missing.isEmpty { trial.note("not said again: \(missing)") }
}

/// G19: what clients behind the tap were told is what the journal has.
private func expectSameAnswers(_ mixed: Load, _ cluster: Cluster, _ trial: Trial) async throws {
  let journal = JournalModel(try await JournalLine.all(of: cluster))
  for (key, graph) in mixed.accepted {
    trial.expect(journal.graphs[key]?.graph == graph, "G19: \(key) was told \(graph.number)")
  }
  trial.expect(!mixed.accepted.isEmpty, "no client was served behind the tap")
}

/// A client that makes everybody say everything once.
private struct Talk {
  let cluster: Cluster
  let load: Load
  let clients: Tap
  let workers: Tap
  private var round = 0

  init(cluster: Cluster, load: Load, clients: Tap, workers: Tap) {
    self.cluster = cluster
    self.load = load
    self.clients = clients
    self.workers = workers
  }

  mutating func sayEverything() async throws {
    round += 1
    mark("round \(round)")
    let connection = try await cluster.reach(clients.address)
    let other = try await cluster.reach(clients.address)
    // What a held-back message waits for: another one behind it.
    let isOver = Switch()
    let pinging = Task {
      while !isOver.isOn {
        for one in [connection, other] { _ = try? await one.request(.ping, timeout: .seconds(2)) }
        try? await Task.sleep(for: .milliseconds(5))
      }
    }
    try await follow(connection)
    mark("steer")
    try await steer(connection)
    mark("run")
    try await run(connection)
    mark("drain")
    try await drain(connection)
    mark("drained")
    isOver.turnOn()
    await pinging.value
    await connection.close()
    await other.close()
  }

  /// Says it, and takes whatever comes of it: refusals are answers too.
  @discardableResult
  private func ask(
    _ connection: ClusterConnection, _ request: ClientRequest
  ) async -> ClientReply? {
    let r = try? await connection.request(request, timeout: .seconds(5))
    if r == nil { mark("no answer to \(MessageKinds.name(of: request))") }
    return r
  }

  private func submit(
    _ connection: ClusterConnection, _ name: String, _ templates: [OperationTemplate],
    edges: [GroupEdge] = [], _ change: (inout GraphSubmission) -> Void = { _ in }
  ) async throws -> GraphID {
    var graph = GraphSubmission(key: SubmissionKey("talk-\(name)-\(round)"), name: "talk")
    graph.templates = templates
    graph.groupEdges = edges
    change(&graph)
    return try await load.submit(graph, over: connection)
  }

  private func follow(_ connection: ClusterConnection) async throws {
    let wish = EventSubscription(number: 9, selection: Selection(graphs: .all))
    await ask(connection, .subscribe(wish))
    await ask(connection, .grantCredit(subscription: 9, events: 100))
    await ask(connection, .unsubscribe(subscription: 9))
    for request: ClientRequest in [.queues, .workers, .configuration, .ping] {
      await ask(connection, request)
    }
  }

  /// What can be said about operations that do not run.
  private func steer(_ connection: ClusterConnection) async throws {
    let queue = "q-\(round)"
    await ask(connection, .createQueue(QueueSettings(name: queue)))
    await ask(connection, .changeQueue(queue, QueueChange(limit: .atMost(2))))
    var held = OperationTemplate(
      name: "h", count: 4, work: .call(OperationType(name: "noop")))
    held.isHeld = true
    var blocks = OperationTemplate(name: "b", work: .blocks([]))
    blocks.payload = Wire.encode(blocks: [.call(OperationType(name: "noop"), argument: [])])
    blocks.work = .blocks([OperationType(name: "noop")])
    blocks.isHeld = true
    let graph = try await submit(connection, "held", [held, blocks])
    let declared = try await submit(connection, "declared", [held]) { $0.isDeclaredOnly = true }
    func member(_ index: UInt32) -> OperationID { OperationID(graph: graph, index: index) }
    let more = Wire.encode(blocks: [.call(OperationType(name: "noop"), argument: [])])
    for request: ClientRequest in [
      .enqueue([OperationID(graph: declared, index: 0)], queue: queue),
      .suspendGraphs(.graph(graph), true), .suspendGraphs(.graph(graph), false),
      .addDependency(from: member(0), to: member(1), .finished),
      .removeDependency(from: member(0), to: member(1)),
      .setPriority(.operations([member(1)]), .high), .hold(.operations([member(2)]), false),
      .hold(.operations([member(2)]), true), .setQueue(.operations([member(3)]), queue: queue),
      .addBlocks(member(4), more), .graphs(.graph(graph), after: nil, limit: 10),
      .operations(.graph(graph), after: nil, limit: 10), .structure(.graph(graph)),
      .explain(.graph(graph)), .submission(graph),
      .cancel(.operations([member(0)]), reason: "replay", grace: nil),
      .cancelQueue(queue, reason: "replay"),
      .cancel(.selection(.graph(graph)), reason: "replay", grace: nil),
      .cancel(.selection(.graph(declared)), reason: "replay", grace: nil),
      .hold(.selection(.graph(declared)), false), .removeQueue(queue),
    ] { await ask(connection, request) }
  }

  /// What can be said while operations run: waits, logs, progress, recalls, cancellations.
  private func run(_ connection: ClusterConnection) async throws {
    var blocks = OperationTemplate(name: "b", work: .blocks([]))
    let sleep = OperationType(name: "sleep")
    blocks.work = .blocks([sleep, sleep])
    blocks.payload = Wire.encode(
      blocks: ["0.05", "0.3"].map { .call(sleep, argument: Array($0.utf8)) })
    let progress = try await submit(connection, "blocks", [blocks])
    let chain = try await submit(
      connection, "chain",
      [
        Load.command(
          "a", .shell(interpreter: ["/bin/sh", "-c"], text: CommandText("echo talk; sleep 60"))),
        OperationTemplate(name: "b", work: .call(OperationType(name: "noop"))),
        OperationTemplate(name: "c", work: .call(OperationType(name: "noop"))),
      ],
      edges: [
        GroupEdge(from: 0, to: 1, policy: .finished), GroupEdge(from: 1, to: 2, policy: .finished),
      ])
    func member(_ index: UInt32) -> OperationID { OperationID(graph: chain, index: index) }
    try await eventually("the chain runs") {
      let rows = try? await connection.operations(.graph(chain))
      return rows?.first.map { $0.state == .executing || $0.state.isEnd } ?? false
    }
    for request: ClientRequest in [
      .log(
        AttemptSelection(operation: member(0)), .standardOutput, offset: 0, maximumBytes: 100),
      .beginWait(member(0), .operations([OperationID(graph: progress, index: 0)])),
      .endWait(member(0)),
      .cancel(.operations([member(2)]), reason: "replay", grace: nil),
      .cancel(.operations([member(1)]), reason: "replay", grace: nil),
      .cancel(.operations([member(0)]), reason: "replay", grace: .milliseconds(200)),
    ] { await ask(connection, request) }
    try await eventually("the chain has ended") {
      (try? await connection.operations(.graph(chain)).allSatisfy { $0.state.isEnd }) ?? false
    }
  }

  /// A worker comes and is asked to go.
  private func drain(_ connection: ClusterConnection) async throws {
    let name = "w\(round + 10)"
    try cluster.startWorker(name, ["--coordinator", workers.address])
    try await eventually("\(name) is connected") {
      (try? await connection.workers().contains { $0.name == name && $0.state == .connected })
        ?? false
    }
    let worker = cluster.daemon(name)
    try await eventually("\(name) has gone", within: .seconds(60)) {
      if worker?.end != nil { return true }
      await ask(connection, .drainWorker(name))
      try await Task.sleep(for: .milliseconds(100))
      return false
    }
  }

  /// An invitation is used behind a tap, again and again: one key comes of it.
  func enrol(_ ring: KeyRing) async throws {
    mark("enrol")
    let invited = try ring.invite()
    let (address, name) = (clients.target.address, "enrolled-\(round)")
    let added = try await onThread("enrol") { () throws -> [Bool] in
      let key = KeyPair.random().publicKey.bytes
      var results: [Bool] = []
      let request = Wire.encode(
        ClientMessage.request(RequestID(7), .enrol(name: name, publicKey: key)))
      for _ in 0..<3 {
        guard
          let dealer = try? KeyedDealer(
            address, .client(invited, server: ring.server.publicKey), within: 0.5)
        else { continue }
        _ = try dealer.send(Wire.encode(ClientMessage.hello(ClientHello())))
        for _ in 0..<2 { _ = try dealer.send(request) }
        for bytes in try dealer.receive(within: 2_000) + dealer.receive(within: 200) {
          if case .reply(RequestID(7), let reply)? = try? Wire.decodeClientAnswer(bytes) {
            if case .enrolled = reply { results.append(true) } else { results.append(false) }
          }
        }
      }
      return results
    }
    let keys = try ring.folder.allowed().keys.count { $0.name == name }
    guard keys == 1, added.contains(true) else {
      throw Trouble("G37: an invitation used again gave \(keys) keys, \(added)")
    }
    mark("enrolled")
    // The same words of a key that may not: refused, and recorded for the taps.
    let connection = try await cluster.reach(clients.address)
    for _ in 0..<3 {
      await ask(connection, .enrol(name: name, publicKey: invited.publicKey.bytes))
    }
    await connection.close()
  }
}

extension StateWord {
  /// It is one of an ended operation.
  fileprivate var isEnd: Bool { Outcome.allCases.contains { StateWord($0) == self } }
}

func mark(_ t: String) {
  let b = Array("\(Moment.now.nanoseconds/1_000_000) \(t)\n".utf8)
  _ = unsafe write(2, b, b.count)
}
