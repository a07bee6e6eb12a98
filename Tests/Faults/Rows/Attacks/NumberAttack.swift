// X1: every number of a submission, a cancellation and a worker's report, each at the ends of its
// type in turn, over real sockets to real daemons: nobody's process ends, now or at the next start,
// and what people ask about it afterwards is shown.

import Glibc
import MessageGenerators
import OpClusterClient
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

let numberAttack = FaultRow(
  number: "X1", name: "numbers at the ends of their types", promise: "G33 G4",
  injection: "each number of a failing operation's submission, of a cancellation and of a worker's "
    + "report replaced by 2^63 - 1, 2^63, 2^64 - 1, 2^32, by clients and workers with keys",
  isShort: true, run: numbers)

/// As they stand on the wire: the ends of signed and unsigned numbers of 32 and 64 bits, and of the
/// signed ones that are written as zigzags.
private let ends: [UInt64] = [
  UInt64(Int64.max), 1 << 63, .max, .max - 1, UInt64(UInt32.max), UInt64(Int32.max), 1 << 32,
]

/// X1
private func numbers(_ trial: Trial) async throws {
  var shape = try trial.keyedShape(workers: 1)
  shape.workerFlags = [["--resource", "honest=1000"]]
  try await Cluster.with(shape) { cluster in
    let ring = try KeyRing(of: cluster)
    let submitter = SocketKeys.client(
      try ring.add("s", .submitter), server: ring.server.publicKey)
    let worker = SocketKeys.client(
      try ring.add("villain", .worker), server: ring.server.publicKey)
    let chosen = trial.scale.isShort ? Array(ends.prefix(3)) : ends
    try await trial.withBystanders(cluster, limit: 10, growth: 160, resource: "honest") {
      try await submitOddNumbers(chosen, submitter, cluster, trial)
      try await reportOddNumbers(chosen, worker, submitter, cluster, trial)
      try await look(at: cluster, trial)
      // What was taken is replayed.
      try await Task.sleep(for: .milliseconds(100))
    }
    try await cluster.kill("opcoord")
    try await cluster.startCoordinator()
    try await look(at: cluster, trial)
    trial.expect(cluster.daemon("w1")?.end == nil, "G33: the worker ended")
  }
}

/// What people ask; no command may end by a signal or an error of its own.
private func look(at cluster: Cluster, _ trial: Trial) async throws {
  let graphs = try await cluster.connect().graphs(Selection(graphs: .all)).map(\.graph.number)
  var commands = [["ls"], ["ls", "-o", "json"], ["worker", "ls"], ["doctor"]]
  for graph in graphs.suffix(40) {
    commands += [["show", "\(graph)"], ["ls", "\(graph)/*", "-o", "json"], ["why", "\(graph)"]]
  }
  for words in commands {
    let child = try cluster.startOpbatch(words)
    let status = try await child.ended()
    trial.injected("opbatch command about it")
    trial.expect(
      (0..<64).contains(status), "G33: opbatch \(words) ended with \(status): \(child.error)")
  }
  trial.note("\(graphs.count) graphs are shown, \(commands.count) commands")
}

// MARK: - Clients

/// Fails at once and is tried again, with every time and number said.
private func failing(_ name: String) -> GraphSubmission {
  var command = CommandSpecification(form: .arguments([CommandText("false")]))
  command.timeout = .seconds(3_000)
  command.grace = .seconds(3)
  command.successStatuses = [7]
  command.maximumOutputBytes = 1_000
  var template = OperationTemplate(name: "odd", count: 1, work: .command)
  template.payload = Wire.encode(command: command)
  template.retry = RetryPolicy(
    maximum: 2, reasons: [.any, .exit(1, 3), .signal(9)], backoff: .milliseconds(1),
    backoffPercent: 150, maximumBackoff: .seconds(2))
  template.timeout = .seconds(3_000)
  template.grace = .seconds(3)
  template.maximumLosses = 3
  template.maximumParallel = 2
  template.allowedFailures = .exitStatuses([3])
  template.demand = Resources(cpus: ResourceAmount(1), memoryBytes: 1 << 20)
  template.notBefore = .after(.milliseconds(1))
  var submission = GraphSubmission(name: name)
  submission.templates = [template, template]
  submission.templates[1].name = "other"
  submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .finished)]
  submission.failureScopes = [
    FailureScope(first: 0, count: 1, maximumFailures: 1, cancelsRunning: false)
  ]
  submission.maximumFailures = 5
  return submission
}

private func submitOddNumbers(
  _ ends: [UInt64], _ keys: SocketKeys, _ cluster: Cluster, _ trial: Trial
) async throws {
  let address = cluster.address
  let count = try await onThread("villain") { () throws -> Int in
    let client = try HostileClient(address, keys)
    var count = 0
    let all = Selection(graphs: .all)
    let words: [ClientRequest] = [
      .submit(failing("odd")),
      .cancel(.selection(all), reason: "odd", grace: .seconds(2)),
      .operations(all, after: OperationID(graph: GraphID(1), index: 1), limit: 5),
      .subscribe(EventSubscription(number: 7, selection: all, since: 3, credit: 9)),
      .grantCredit(subscription: 7, events: 3),
    ]
    for (number, word) in words.enumerated() {
      let good = Wire.encode(ClientMessage.request(RequestID(UInt64(number + 1)), word))
      for end in ends {
        for odd in FutureMessages.withEachNumber(good, replacedBy: end) {
          try client.say(odd)
          count += 1
        }
      }
    }
    return count
  }
  trial.injected("request with a number at the end of its type", times: count)
}

// MARK: - Workers

/// One operation for each odd report: the villain is given it, and says how it ended.
private func reportOddNumbers(
  _ ends: [UInt64], _ worker: SocketKeys, _ submitter: SocketKeys, _ cluster: Cluster,
  _ trial: Trial
) async throws {
  let (clients, workers) = (cluster.address, cluster.workerAddress)
  let count = try await onThread("villain") { () throws -> Int in
    let client = try HostileClient(clients, submitter)
    var count = 0
    var reports = 1
    for end in ends {
      var at = 0
      while at < reports {
        count += 1
        try client.say(villainy(count))
        let villain = try VillainWorker(workers, worker, name: "villain-\(count)", UInt64(count))
        try villain.awaitDispatches(1)
        reports = try villain.reportEnd(oddly: end, at: at)
        at += 1
      }
    }
    return count
  }
  trial.injected("report with a number at the end of its type", times: count)
}

/// For the villain alone: nobody else offers the type.
private func villainy(_ number: Int) -> [UInt8] {
  var submission = GraphSubmission(name: "for-villain-\(number)")
  submission.templates = [
    OperationTemplate(name: "odd", work: .call(OperationType(name: "villainy")))
  ]
  submission.templates[0].retry = RetryPolicy(
    maximum: 1, reasons: [.any], backoff: .longest, maximumBackoff: .longest)
  return Wire.encode(.request(RequestID(UInt64(number) + 1_000), .submit(submission)))
}
