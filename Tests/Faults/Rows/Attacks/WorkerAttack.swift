// X4: a worker with a key of its own that lies: about attempts which it never had, with outputs and
// pieces of logs that are too long, under names of others, twice under its own. Others' operations
// end as they ended, once.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster
import Synchronization

let workerAttack = FaultRow(
  number: "X4", name: "a worker that lies", promise: "G12 G13 G14 G33 G36",
  injection: "reports of attempts of others and of none, ends told twice, outputs and logs that "
    + "are too long, hellos under the names of others and twice under its own",
  isShort: true, run: lie)

/// X4
private func lie(_ trial: Trial) async throws {
  var shape = try trial.keyedShape(workers: 1)
  shape.workerFlags = [["--resource", "honest=1000"]]
  try await Cluster.with(shape) { cluster in
    let ring = try KeyRing(of: cluster)
    let server = ring.server.publicKey
    let villainy = Villainy(
      cluster: cluster, trial: trial,
      submitter: .client(try ring.add("s", .submitter), server: server),
      worker: .client(try ring.add("villain", .worker), server: server))
    _ = try ring.add("villain-2", .worker)
    try await trial.withBystanders(cluster, limit: 20, growth: 160, resource: "honest") {
      try await villainy.otherNames()
      try await villainy.itsOwnName()
      try await villainy.tooMuch()
      try await villainy.lies()
    }
    try await judge(cluster, trial)
  }
}

/// What nobody lied about: every graph of the bystander succeeded, each operation ended once.
private func judge(_ cluster: Cluster, _ trial: Trial) async throws {
  let connection = try await cluster.reach()
  let rows = try await connection.graphs(Selection(graphs: .all))
    .filter { $0.name.hasPrefix("bystander") }
  await connection.close()
  for row in rows where row.state != .succeeded {
    trial.broken("G12: graph \(row.graph.number) of a bystander is \(row.state)")
  }
  let journal = JournalModel(try await JournalLine.all(of: cluster))
  journal.violations.forEach { trial.broken($0) }
  trial.note("\(rows.count) graphs of a bystander succeeded, each operation once")
  trial.expect(!rows.isEmpty, "there was no bystander")
  trial.expect(cluster.daemon("w1")?.end == nil, "G33: the honest worker ended")
}

private struct Villainy {
  let cluster: Cluster
  let trial: Trial
  let submitter: SocketKeys
  let worker: SocketKeys

  private func villain<Value: Sendable>(
    _ body:
      @escaping @Sendable (KeyedAsker, @escaping (String, UInt64) throws -> VillainWorker)
      throws -> Value
  ) async throws -> Value {
    let (clients, workers) = (cluster.address, cluster.workerAddress)
    let (submitter, worker) = (submitter, worker)
    return try await onThread("villain") {
      try body(try KeyedAsker(clients, submitter)) { name, session in
        try VillainWorker(workers, worker, name: name, session)
      }
    }
  }

  /// For the villain alone: nobody else offers the type.
  private static func bait(_ count: UInt32) -> GraphSubmission {
    var submission = GraphSubmission(name: "for-villain")
    submission.templates = [
      OperationTemplate(
        name: "bait", count: count, work: .call(OperationType(name: "villainy")))
    ]
    return submission
  }

  private func forget(_ graph: GraphID) async throws {
    try await villain { asker, _ in try asker.cancel(.graph(graph)) }
  }

  // MARK: - Names

  /// A key is good for names that begin with it, but for those of a longer key.
  func otherNames() async throws {
    let names = ["villain-2", "villain-2-a", "w1", "honest", "villai", "villainous", ""]
    let served = try await villain { _, begin -> [String] in
      try names.enumerated().compactMap { number, name in
        let worker = try begin(name, UInt64(100 + number))
        try worker.listen { !$0.refusals.isEmpty || $0.conversation != nil }
        return worker.conversation == nil ? nil : name
      }
    }
    trial.injected("hello under a name of somebody else", times: names.count)
    trial.expect(served.isEmpty, "G36: the key 'villain' serves as \(served)")
    trial.expect(cluster.daemon("w1")?.end == nil, "G36: w1 was put out")
  }

  /// Two processes under one name: one of them serves, and what it does counts once.
  func itsOwnName() async throws {
    let (first, second, graph) = try await villain { asker, begin in
      let graph = try asker.submit(Self.bait(1))
      let first = try begin("villain-1", 1)
      try first.awaitDispatches(1)
      let attempt = first.dispatched[0]
      try first.report([.started(attempt)])
      let second = try begin("villain-1", 2)
      try second.listen(2) { $0.conversation != nil || !$0.refusals.isEmpty }
      try first.listen(within: 200)
      // Both say that it ended, each as it likes.
      var failed = AttemptResult()
      failed.cause = .failed
      failed.exitStatus = 1
      try second.report([.finished(attempt, failed)])
      try first.report([.finished(attempt, .success), .finished(attempt, failed)])
      try first.listen(within: 200)
      let counts = (first.conversation != nil, second.conversation != nil)
      try second.say(.goodbye(lastReport: 0))
      try first.say(.goodbye(lastReport: 0))
      return (counts.0, counts.1, graph)
    }
    trial.injected("second worker of one name")
    trial.note("the first of two of one name was let in: \(first), the second: \(second)")
    try await forget(graph)
  }

  // MARK: - Words

  /// Outputs, sentences and pieces of logs beyond their bounds.
  func tooMuch() async throws {
    let graph = try await villain { asker, begin in
      let graph = try asker.submit(Self.bait(4))
      var long = AttemptResult.success
      long.output = [UInt8](repeating: 65, count: Limits.outputBytes + 1)
      var sentence = AttemptResult.success
      sentence.diagnostic = String(repeating: "x", count: 1 << 20)
      for (number, result) in [long, sentence].enumerated() {
        // Names of their own: the goodbye of the first may come after the hello of the second.
        let worker = try begin("villain-9\(number)", UInt64(10 + number))
        try worker.awaitDispatches(1)
        guard let attempt = worker.dispatched.first else { continue }
        try worker.report([.started(attempt), .finished(attempt, result)])
        try worker.listen(within: 500)
        try worker.say(.goodbye(lastReport: 0))
      }
      return graph
    }
    trial.injected("output or sentence that is too long", times: 2)
    let connection = try await cluster.reach()
    for row in try await connection.operations(.graph(graph)) {
      let length = row.result?.diagnostic.utf8.count ?? 0
      trial.expect(
        length <= Limits.diagnosticBytes, "G26: a sentence of \(length) bytes was kept")
    }
    await connection.close()
    try await forget(graph)
    try await logs()
  }

  /// Whoever asks for a piece of a log gets a piece, or hears why not.
  private func logs() async throws {
    let clients = (cluster.address, submitter)
    let pieces: [(bytes: Int, offset: UInt64, size: UInt64)] = [
      (Limits.logChunkBytes + 1, 0, 1 << 40), (8 << 20, 0, 8 << 20), (10, .max, .max),
    ]
    let (got, graph) = try await villain { asker, begin in
      let graph = try asker.submit(Self.bait(1))
      let worker = try begin("villain-5", 50)
      try worker.awaitDispatches(1)
      guard let attempt = worker.dispatched.first else { throw Trouble("nothing to do") }
      try worker.report([.started(attempt)])
      var got: [Int] = []
      for (number, piece) in pieces.enumerated() {
        let answer = Answer()
        _ = try startThread(name: "reader") {
          let reader = try? KeyedAsker(clients.0, clients.1)
          let selection = AttemptSelection(operation: attempt.operation)
          answer.give(
            (try? reader?.ask(
              .log(selection, .standardOutput, offset: 0, maximumBytes: .max))) ?? .effect(false))
        }
        guard try worker.listen(until: { $0.logRequests.count > number }) else { break }
        let request = worker.logRequests[number]
        // Unasked for, then the answer.
        for other in [request.number &+ 77, request.number] {
          try worker.say(
            .logChunk(
              LogChunk(
                number: other, offset: piece.offset,
                bytes: [UInt8](repeating: 66, count: piece.bytes), size: piece.size,
                isComplete: false)))
        }
        try worker.listen(60) { _ in answer.isGiven }
        if case .log(let chunk)? = answer.value { got.append(chunk.bytes.count) }
        if worker.refusals.count > number { break }
      }
      try worker.say(.goodbye(lastReport: 0))
      return (got, graph)
    }
    trial.injected("piece of a log that is too long", times: pieces.count)
    trial.expect(
      got.allSatisfy { $0 <= Limits.logChunkBytes }, "G26: pieces of \(got) bytes were handed on")
    try await forget(graph)
  }

  /// Whatever it says of what it never had: it is named, and put out after some of it.
  func lies() async throws {
    let connection = try await cluster.reach()
    let graphs = try await connection.graphs(Selection(graphs: .all)).map(\.graph)
    let (put, said) = try await villain { asker, begin in
      let graph = try asker.submit(Self.bait(1))
      let worker = try begin("villain-7", 70)
      try worker.awaitDispatches(1)
      let newest = (graphs.map(\.number).max() ?? 1)
      var said = 0
      while worker.refusals.isEmpty, said < 4 * Limits.liesPerWorker {
        // Those of the bystander that run now, that were, and that will be.
        let target = GraphID(newest &+ UInt32(said) &- 8)
        let attempt = AttemptID(
          operation: OperationID(graph: target, index: UInt32(said % 2)), attempt: 1)
        var failed = AttemptResult()
        failed.cause = .failed
        try worker.report([
          said % 3 == 0 ? .finished(attempt, .success) : .finished(attempt, failed)
        ])
        said += 1
        try worker.listen(within: 50)
      }
      try worker.listen { !$0.refusals.isEmpty }
      let isPutOut = worker.refusals.contains { $0.code == .forbidden }
      _ = try asker.ask(.cancel(.selection(.graph(graph)), reason: "", grace: nil))
      return (isPutOut, said)
    }
    await connection.close()
    trial.injected("report of an attempt that it never had", times: said)
    trial.expect(put, "G33: a worker that lied \(said) times was not put out")
    let log = cluster.daemon("opcoord")?.error ?? ""
    let isNamed = log.split(separator: "\n").contains {
      $0.contains("is put out") && $0.contains("villain-7")
    }
    trial.expect(isNamed, "G33: the log does not name the worker that lied")
    trial.note("put out after \(said) lies, and named")
  }
}

/// What another thread has heard.
private final class Answer: Sendable {
  private let heard = Mutex<ClientReply?>(nil)
  func give(_ reply: ClientReply) { heard.withLock { $0 = reply } }
  var value: ClientReply? { heard.withLock { $0 } }
  var isGiven: Bool { value != nil }
}
