// X2: a client with a key that may submit, and asks for what costs others: demands that are all
// different, selections of many runs, blocks, queues, graphs cancelled in a row, names that steer
// terminals, keys with another content. What it gets is what its quota says, and it is billed for
// it: a bystander's graphs cost what they did.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

let costAttack = FaultRow(
  number: "X2", name: "a client that costs what it can", promise: "G29 G27 G19 G38 G4",
  injection: "2,000 templates of different demands; selections of 10,000 runs and more; blocks "
    + "and queues beyond their quotas; 12 graphs cancelled in a row; names with control "
    + "characters; a key with other contents; then kill -9 of the coordinator",
  isShort: true, run: costs)

/// X2
private func costs(_ trial: Trial) async throws {
  try await Cluster.with(try trial.keyedShape(workers: 1)) { cluster in
    let ring = try KeyRing(of: cluster)
    let keys = SocketKeys.client(
      try ring.add("costly", .submitter), server: ring.server.publicKey)
    let stage = Stage(cluster, keys, trial)
    try await trial.withBystanders(cluster, limit: 20, growth: 160) {
      for (what, part) in [
        ("different demands", stage.differentDemands),
        ("cancelled graphs", stage.cancelledGraphs), ("selections", stage.selections),
        ("blocks", stage.blocks), ("queues", stage.queues), ("names", stage.names),
        ("keys", stage.keysWithOtherContents),
      ] as [(String, @Sendable () async throws -> Void)] {
        let start = Moment.now
        try await part()
        trial.note("\(what): \(Moment.text(Moment.now.seconds(since: start))) s")
      }
    }
    try await restart(cluster, trial)
  }
}

/// What everybody sees is the same behind a kill, and small again.
private func restart(_ cluster: Cluster, _ trial: Trial) async throws {
  let before = try await everything(cluster)
  try await cluster.kill("opcoord")
  try await cluster.startCoordinator()
  let after = try await everything(cluster)
  trial.injected("kill -9 of the coordinator")
  trial.expect(before == after, "G4: \(before.count) graphs before, \(after.count) after")
  let resident = Surroundings.residentBytes(try cluster.process("opcoord"))
  trial.note("\(after.count) graphs are the same after a kill, \(resident >> 20) MiB resident")
}

private func everything(_ cluster: Cluster) async throws -> [String] {
  let connection = try await cluster.reach()
  let rows = try await connection.graphs(Selection(graphs: .all))
  await connection.close()
  return rows.map { "\($0.graph.number) \($0.name) \($0.state) \($0.counts)" }
}

/// One attacker, stage by stage, each over a connection of its own.
private struct Stage: Sendable {
  private let cluster: Cluster
  private let keys: SocketKeys
  private let trial: Trial
  private let graphs: Int

  init(_ cluster: Cluster, _ keys: SocketKeys, _ trial: Trial) {
    self.cluster = cluster
    self.keys = keys
    self.trial = trial
    graphs = trial.scale.isShort ? 10 : 40
  }

  private func asking<Value: Sendable>(
    _ body: @escaping @Sendable (KeyedAsker) throws -> Value
  ) async throws -> Value {
    let (address, keys) = (cluster.address, keys)
    return try await onThread("costly") { try body(try KeyedAsker(address, keys)) }
  }

  // MARK: - Demands

  /// What is waiting costs nothing of a turn that is not about it.
  func differentDemands() async throws {
    let calm = try await Toll.measured(on: cluster, graphs: graphs)
    trial.note("without: \(calm.text)")
    let count = trial.scale.count(2_000, short: 200)
    let graph = try await asking { try $0.submit(demanding(count, from: 1)) }
    trial.injected("template of a demand of its own", times: count)
    let beside = try await Toll.measured(on: cluster, graphs: graphs)
    trial.expectNear(beside, calm, "\(count) different demands")
    try await asking { try $0.cancel(.graph(graph)) }
  }

  /// Demands are forgotten with the graphs that had them.
  func cancelledGraphs() async throws {
    let count = trial.scale.count(20_000, short: 100)
    let process = try cluster.process("opcoord")
    var first = 0
    for round in 1...12 {
      try await asking { asker in
        let graph = try asker.submit(demanding(count, from: Int64(round * count)))
        try asker.cancel(.graph(graph))
      }
      if round == 2 { first = Surroundings.residentBytes(process) }
    }
    trial.injected("graph of \(count) different demands, cancelled", times: 12)
    let growth = (Surroundings.residentBytes(process) - first) >> 20
    trial.note("from the second to the twelfth cancelled graph opcoord grew by \(growth) MiB")
    trial.expect(growth <= 48, "G29: opcoord grew by \(growth) MiB in ten cancelled graphs")
  }

  // MARK: - Selections

  func selections() async throws {
    let size = UInt32(trial.scale.count(100_000, short: 5_000))
    let repetitions = trial.scale.count(20, short: 1)
    let process = try cluster.process("opcoord")
    let start = Surroundings.processorSeconds(process)
    let (broken, asked, graph) = try await asking { asker -> ([String], Int, GraphID) in
      var submission = GraphSubmission(name: "wide")
      submission.templates = [OperationTemplate(name: "n", count: size, work: Flood.noop)]
      submission.templates[0].requirements = Flood.nowhere
      let graph = try asker.submit(submission)
      var broken: [String] = []
      let many = ManyRuns.all(of: graph)
      for (what, selection, isTaken) in many {
        for request in ManyRuns.requests(selection) {
          for _ in 0..<(isTaken ? repetitions : 1) {
            let refusal = try asker.refusal(of: request)
            let isRight =
              isTaken
              ? refusal?.code != .limitExceeded && refusal?.code != .badRequest
              : refusal != nil
            if !isRight { broken.append("\(what): \(refusal.map { "\($0)" } ?? "taken")") }
          }
        }
      }
      return (broken, asker.answered, graph)
    }
    broken.forEach { trial.broken("G29: \($0)") }
    trial.injected("question or change for a selection of many runs", times: asked)
    let each = (Surroundings.processorSeconds(process) - start) / Double(asked)
    trial.note("\(Moment.text(each * 1000)) ms of processor for a selection of many runs")
    trial.expect(each <= 0.5, "G29: \(Moment.text(each)) s of processor for one selection")
    try await asking { try $0.cancel(.graph(graph)) }
  }

  // MARK: - Blocks and queues

  /// Blocks that come later are counted as what came with the submission is.
  func blocks() async throws {
    // The short form does not come to the bound; the tests of quotas do.
    let most = UInt32(trial.scale.isShort ? 20 : 400)
    let (bytes, refusal, pastOne) = try await asking { asker in
      let type = OperationType(name: "noop")
      var submission = GraphSubmission(name: "blocks")
      submission.templates = [OperationTemplate(name: "b", count: 400, work: .blocks([type]))]
      submission.templates[0].isHeld = true
      let graph = try asker.submit(submission)
      let argument = [UInt8](repeating: 7, count: 200_000)
      let block = Wire.encode(blocks: [.call(type, argument: argument)])
      func add(_ index: UInt32) throws -> Refusal? {
        try asker.refusal(of: .addBlocks(OperationID(graph: graph, index: index), block))
      }
      _ = try add(0)
      let pastOne = try add(0)
      var bytes = block.count
      var refusal: Refusal?
      for index in 1..<most where refusal == nil {
        refusal = try add(index)
        if refusal == nil { bytes += block.count }
      }
      try asker.cancel(.graph(graph))
      return (bytes, refusal, pastOne)
    }
    trial.injected("blocks of 200 kB", times: bytes / 200_000)
    trial.note("\(bytes >> 20) MiB of blocks were taken, then: \(refusal?.message ?? "no more")")
    trial.expect(
      trial.scale.isShort || refusal?.code == .busy, "G29: \(bytes >> 20) MiB of blocks were taken")
    trial.expect(
      bytes <= Limits.pendingBytesPerPrincipal + 400 * Limits.pendingBytesPerOperation,
      "G29: \(bytes >> 20) MiB of blocks were taken")
    trial.expect(
      pastOne?.code == .limitExceeded,
      "G29: blocks of one operation: \(String(describing: pastOne))")
  }

  /// Queues that come with graphs are counted, for who brings them and for all; one more costs no
  /// more because there are many.
  func queues() async throws {
    let calm = try await Toll.measured(on: cluster, graphs: graphs)
    let most = trial.scale.isShort ? 16 : 2 * Limits.queues / Limits.queuesPerGraph
    let process = try cluster.process("opcoord")
    let (count, refusal, pastOne, early, late) = try await asking { asker in
      var submission = GraphSubmission(name: "queues")
      submission.templates = [OperationTemplate(name: "n", work: Flood.noop)]
      submission.templates[0].requirements = Flood.nowhere
      submission.queues = (0...Limits.queuesPerGraph).map {
        .own(QueueSettings(name: "q\($0)"))
      }
      let pastOne = try asker.refusal(of: .submit(submission))
      submission.queues.removeLast()
      var count = 0
      var refusal: Refusal?
      var spent: [Double] = []
      while refusal == nil, spent.count < most {
        let start = Surroundings.processorSeconds(process)
        refusal = try asker.refusal(of: .submit(submission))
        spent.append(Surroundings.processorSeconds(process) - start)
        if refusal == nil { count += submission.queues.count }
      }
      let some = min(20, spent.count / 2)
      return (
        count, refusal, pastOne, spent.prefix(some).reduce(0, +), spent.suffix(some).reduce(0, +)
      )
    }
    let beside = try await Toll.measured(on: cluster, graphs: graphs)
    try await asking { try $0.cancel(Selection(graphs: .active)) }
    trial.injected("queue of a graph's own", times: count)
    trial.note("\(count) queues were taken, then: \(refusal?.message ?? "no more")")
    trial.note(
      "the first 20 of these graphs cost \(Moment.text(early)) s of processor, the last 20 "
        + "\(Moment.text(late))")
    trial.expect(
      late <= 4 * early + 0.2,
      "G29: where there are \(count) queues, 20 graphs cost \(Moment.text(late)) s, not "
        + "\(Moment.text(early))")
    trial.expectNear(beside, calm, "\(count) queues")
    trial.expect(
      count <= Limits.queuesPerPrincipal && (trial.scale.isShort || refusal?.code == .busy),
      "G29: \(count) queues of one client were taken")
    trial.expect(pastOne != nil, "G29: \(Limits.queuesPerGraph + 1) queues of one graph")
  }

  // MARK: - Names and keys

  func names() async throws {
    let (taken, asked) = try await asking { asker in
      var taken: [String] = []
      for name in HostileNames.all {
        for (place, request) in HostileNames.requests(name)
        where try asker.refusal(of: request) == nil {
          taken.append("\(place) \(name.debugDescription)")
        }
      }
      return (taken, asker.answered)
    }
    trial.injected("name that steers a terminal, ends a path or never ends", times: asked)
    trial.expect(taken.isEmpty, "G38: taken as names: \(taken)")
  }

  /// G19-FIELDS: whatever differs, the key stands for the first content alone.
  func keysWithOtherContents() async throws {
    let broken = try await asking { asker in
      let first = HostileKeys.submission
      let graph = try asker.submit(first)
      var broken: [String] = []
      for (what, change) in HostileKeys.changes {
        var other = first
        change(&other)
        let reply = try asker.ask(.submit(other))
        guard case .refused(let refusal) = reply, refusal.code == .conflict else {
          broken.append("another \(what) under the same key: \(reply)")
          continue
        }
      }
      guard case .accepted(graph, _, repeated: true) = try asker.ask(.submit(first)) else {
        return broken + ["the same content is not the same"]
      }
      try asker.cancel(.graph(graph))
      return broken
    }
    trial.injected("other content under a known key", times: HostileKeys.changes.count)
    broken.forEach { trial.broken("G19: \($0)") }
  }
}

// MARK: - What it says

/// Each template waits for an amount of memory that no other wants and no machine has.
private func demanding(_ count: Int, from first: Int64) -> GraphSubmission {
  var graph = GraphSubmission(name: "demands")
  for number in 0..<count {
    var template = OperationTemplate(
      name: "d\(number)", work: .call(OperationType(name: "noop")))
    template.demand = Resources(
      cpus: ResourceAmount(1), memoryBytes: 1 << 50 + first + Int64(number))
    graph.templates.append(template)
  }
  return graph
}

/// Selections that are made of very many parts.
enum ManyRuns {
  /// As many as a selection may have, none beside another.
  static let apart = (0..<UInt32(Limits.indexRunsPerSelection)).map {
    IndexRun(first: $0 * 2 + 1, count: 1)
  }

  /// What it is, the selection, and whether it is within the bounds.
  static func all(of graph: GraphID) -> [(what: String, selection: Selection, isTaken: Bool)] {
    let most = UInt32(Limits.indexRunsPerSelection)
    let wide = (0..<most).map { IndexRun(first: $0 % 97, count: .max) }
    let stepped = (0..<most).map {
      IndexRun(first: $0, count: .max, step: 2 + $0 % UInt32(Limits.indexStepsPerSelection))
    }
    let tooMany = apart + [IndexRun(first: 1, count: 1)]
    let tooStepped = (0...UInt32(Limits.indexStepsPerSelection)).map {
      IndexRun(first: 1, count: .max, step: 2 + $0)
    }
    return [
      ("runs apart", apart, true), ("runs backwards", apart.reversed(), true),
      ("runs on top of each other", wide, true), ("runs of all steps", stepped, true),
      ("a run too many", tooMany, false), ("a step too many", tooStepped, false),
    ].map { what, runs, isTaken in
      var selection = Selection.graph(graph)
      selection.operation = "n"
      selection.elements = runs
      return (what, selection, isTaken)
    }
  }

  static func questions(_ selection: Selection) -> [ClientRequest] {
    [
      .operations(selection, after: nil, limit: .max), .explain(selection),
      .graphs(selection, after: nil, limit: .max),
    ]
  }

  static func requests(_ selection: Selection) -> [ClientRequest] {
    questions(selection) + [.setPriority(.selection(selection), .low)]
  }
}

private enum HostileNames {
  static let all = [
    "\u{1b}]0;t\u{7}\u{1b}[2J", "a\u{9b}31m", "\u{202e}cba", "a\nb", "a\u{7f}", "a\0b",
    "\u{2066}x", "line\u{2028}", String(repeating: "n", count: Limits.nameBytes + 1),
  ]

  /// Everywhere where a submitter can put a name.
  static func requests(_ name: String) -> [(place: String, request: ClientRequest)] {
    func graph(_ change: (inout GraphSubmission) -> Void) -> ClientRequest {
      var graph = GraphSubmission(name: "g")
      graph.templates = [OperationTemplate(name: "n", work: Flood.noop)]
      graph.templates[0].requirements = Flood.nowhere
      change(&graph)
      return .submit(graph)
    }
    let label = Label(key: name, value: "v")
    return [
      ("graph", graph { $0.name = name }), ("operation", graph { $0.templates[0].name = name }),
      ("label", graph { $0.labels = [label] }),
      ("label of an operation", graph { $0.templates[0].labels = [label] }),
      ("queue of a graph", graph { $0.queues = [.own(QueueSettings(name: name))] }),
      ("queue", .createQueue(QueueSettings(name: name))),
    ]
      + (name.utf8.count > Limits.nameBytes
        ? [] : [("key", graph { $0.key = SubmissionKey(name) })])
  }
}

private enum HostileKeys {
  static var submission: GraphSubmission {
    var graph = GraphSubmission(key: SubmissionKey("contested"), name: "contested")
    var template = OperationTemplate(name: "n", work: .command)
    template.payload = Wire.encode(
      command: CommandSpecification(form: .arguments([CommandText("true")])))
    template.requirements = Flood.nowhere
    graph.templates = [template, template]
    graph.templates[1].name = "m"
    return graph
  }

  /// One field of each kind; all of them are looked at where keys are decided.
  static let changes: [(what: String, change: @Sendable (inout GraphSubmission) -> Void)] = [
    ("name", { $0.name = "other" }), ("count", { $0.templates[0].count = 2 }),
    ("command", { $0.templates[0].payload.append(0) }),
    ("edge", { $0.groupEdges = [GroupEdge(from: 0, to: 1, policy: .finished)] }),
    ("retry", { $0.templates[0].retry = RetryPolicy(maximum: 3, reasons: [.any]) }),
    ("require", { $0.templates[0].requirements = [] }),
    ("timeout", { $0.templates[0].timeout = .seconds(5) }),
    ("label", { $0.templates[1].labels = [Label(key: "k", value: "v")] }),
    (
      "gpus",
      { graph in
        let gpu = Resources.NamedAmount(name: "gpu", amount: ResourceAmount(1))
        graph.templates[0].demand.custom = [gpu]
      }
    ),
    ("policy", { $0.failurePolicy = .cancel }),
    ("queue", { $0.queues = [.own(QueueSettings(name: "q", isSuspended: true))] }),
  ]
}
