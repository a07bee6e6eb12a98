// F55: subscribers that do not read, one a stopped opbatch, one with little credit, while a few
// thousand events a second are told. Others do not notice, nothing is lost to those who come back,
// and who is put out is told the last sequence. The same time without slow ones, to compare with.

import Glibc
import OpClusterClient
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

let subscriberRow = FaultRow(
  number: "F55", name: "subscribers that do not read", promise: "G28",
  injection: "opbatch events -f stopped for 60 s at 2,000 events a second and more, and a "
    + "subscriber that grants no credit; the same without them, in turns",
  run: slowSubscribers)

/// F55
private func slowSubscribers(_ trial: Trial) async throws {
  let seconds = trial.scale.isShort ? 3.0 : max(5, 60 * trial.scale.part)
  let rounds = trial.scale.count(3, short: 1)
  try await Cluster.with(trial.keyedShape(workers: 1)) { cluster in
    let connection = try await cluster.reach()
    let process = try cluster.process("opcoord")
    let before = Surroundings.residentBytes(process)
    var ratios: [Double] = []
    for _ in 1...rounds {
      let calm = try await p99(of: cluster, for: seconds)
      let slow = try await SlowOnes(cluster, connection)
      slow.watch.signal(SIGSTOP)
      trial.injected("STOP of opbatch events -f for \(Moment.text(seconds)) s")
      let busy = try await p99(of: cluster, for: seconds)
      slow.watch.signal(SIGCONT)
      try await slow.expectAll(connection, trial, mustBeEvicted: seconds >= 60)
      trial.note(
        "p99 of others \(Moment.text(calm.p99 * 1000)) ms at \(Int(calm.rate)) events/s without, "
          + "\(Moment.text(busy.p99 * 1000)) ms at \(Int(busy.rate)) events/s with slow ones")
      trial.expect(busy.rate >= 1_000, "only \(Int(busy.rate)) events a second")
      ratios.append(busy.p99 / calm.p99)
    }
    ratios.sort()
    let middle = ratios[ratios.count / 2]
    let growth = (Surroundings.residentBytes(process) - before) >> 20
    trial.note(
      "ratios \(ratios.map(Moment.text)); opcoord grew by \(growth) MiB in all \(rounds) rounds")
    trial.expect(middle <= 2, "G28: others' p99 was \(Moment.text(middle)) times as long")
    trial.expect(growth <= 160, "G28: opcoord grew by \(growth) MiB")
    await connection.close()
  }
}

/// Round trips of another client while events are made, and how many of those there were.
private func p99(
  of cluster: Cluster, for seconds: Double
) async throws -> (p99: Double, rate: Double) {
  let connection = try await cluster.reach()
  let maker = try await cluster.reach()
  let isOver = Switch()
  let making = Task {
    let name = "events-\(UInt64.random(in: 0 ... .max))"
    var number = 0
    while !isOver.isOn {
      number += 1
      var graph = GraphSubmission(key: SubmissionKey("\(name)-\(number)"), name: "events")
      let work = Work.call(OperationType(name: "noop"))
      graph.templates = [OperationTemplate(name: "n", count: 250, work: work)]
      _ = try await maker.request(.submit(graph), timeout: .seconds(30))
      try await Task.sleep(for: .milliseconds(250))
    }
  }
  try await Task.sleep(for: .milliseconds(500))
  let first = try await connection.lastEvent()
  let start = Moment.now
  var times: [Double] = []
  while Moment.now.seconds(since: start) < seconds {
    let sent = Moment.now
    _ = try await connection.request(.ping, timeout: .seconds(30))
    times.append(Moment.now.seconds(since: sent))
    try await Task.sleep(for: .milliseconds(5))
  }
  let rate = Double(try await connection.lastEvent() - first) / Moment.now.seconds(since: start)
  isOver.turnOn()
  try await making.value
  await connection.close()
  await maker.close()
  times.sort()
  return (times[min(times.count - 1, times.count * 99 / 100)], rate)
}

/// A command that is stopped, and a subscriber that takes a hundred events and no more.
private struct SlowOnes {
  let watch: ChildProgram
  private let begun: UInt64
  private let greedy: Task<[ClientAnswer], any Error>
  private let isOver = Switch()

  init(_ cluster: Cluster, _ connection: ClusterConnection) async throws {
    let begun = try await connection.lastEvent()
    self.begun = begun
    let child = try cluster.startOpbatch(
      ["events", "-f", "--since", "\(begun)", "-o", "jsonl"],
      variables: ["OPBATCH_COORDINATOR=\(cluster.address)", "OPBATCH_KEYS=\(cluster.keys ?? "")"])
    watch = child
    let ring = try KeyRing(of: cluster)
    let address = cluster.address
    let isOver = self.isOver
    greedy = Task {
      try await onThread("greedy") {
        let dealer = try KeyedDealer(address, ring.keys)
        let wish = EventSubscription(
          number: 3, selection: Selection(graphs: .all), since: begun, credit: 100)
        _ = try dealer.send(Wire.encode(ClientMessage.hello(ClientHello())))
        _ = try dealer.send(Wire.encode(ClientMessage.request(RequestID(5), .subscribe(wish))))
        var all: [ClientAnswer] = []
        while !isOver.isOn {
          all += try dealer.receive(within: 200).map { try Wire.decodeClientAnswer($0) }
          // Any word keeps the connection; none grants credit.
          _ = try dealer.send(Wire.encode(ClientMessage.request(RequestID(9), .ping)))
        }
        return all
      }
    }
    try await eventually("opbatch follows", details: { child.error }) {
      child.output.contains("caught_up")
    }
  }

  /// Whoever was slow learns of every event once, in order.
  func expectAll(
    _ connection: ClusterConnection, _ trial: Trial, mustBeEvicted: Bool
  ) async throws {
    let last = try await connection.lastEvent()
    var found: [UInt64] = []
    try await eventually(
      "the stopped command has told all of them", within: .seconds(120),
      details: { "events \(begun)…\(last), \(watch.error)" }
    ) {
      found = sequences(in: watch.output)
      return found.last ?? 0 >= last
    }
    watch.signal(SIGINT)
    try await watch.ended()
    found.removeAll { $0 > last }
    let isGapless = found == Array((begun + 1)...last)
    trial.expect(isGapless, "G28: the stopped command told \(found.count) of \(last - begun)")
    trial.note("the stopped command told all \(found.count) events, in order, none twice")
    isOver.turnOn()
    var told: [UInt64] = []
    var eviction: String?
    for answer in try await greedy.value {
      if case .events(let batch) = answer { told += batch.events.map(\.sequence) }
      if case .reply(RequestID(5), .refused(let refusal)) = answer { eviction = "\(refusal)" }
    }
    guard let eviction else {
      return trial.expect(!mustBeEvicted, "G28: who granted no credit was not put out")
    }
    trial.note("who granted no credit was told: \(eviction)")
    let resumeAt = told.last ?? begun
    trial.expect(eviction.contains("last_seq=\(resumeAt)"), "G28: \(eviction), not \(resumeAt)")
    let wish = EventSubscription(
      number: 4, selection: Selection(graphs: .all), since: resumeAt, backlogOnly: true)
    for try await batch in connection.events(wish) { told += batch.events.map(\.sequence) }
    told.removeAll { $0 > last }
    trial.expect(told == Array((begun + 1)...last), "G28: resumed with a gap: \(told.count)")
  }
}

/// The numbers of the events in lines of JSON.
private func sequences(in text: String) -> [UInt64] {
  text.split(separator: "\n").compactMap { line in
    guard let range = line.firstRange(of: "\"sequence\":") else { return nil }
    return UInt64(line[range.upperBound...].prefix { $0.isNumber })
  }
}
