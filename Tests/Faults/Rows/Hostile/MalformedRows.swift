// F49: peers with a key say what is no message: frames of every number and size, bytes of no form,
// messages with words of no meaning; then changed messages by the million, over real sessions with
// CURVE, from every role at both ports.

import Glibc
import MessageGenerators
import OpClusterKeys
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import RealCluster
import Synchronization

let malformedRow = FaultRow(
  number: "F49", name: "authorised but malformed", promise: "G33",
  injection: "0, 1 and 200 frames, empty, too large, random, wrong numbers, 10,000 deep, 2³² "
    + "elements, by every role; then 1,000,000 changed messages", isShort: true, run: malformed)

/// Somebody with a key.
private struct Villain: Sendable {
  var name: String
  var pair: KeyPair
  var ring: KeyRing
  /// Where its keys are good for one enrolment each.
  var invitations: Invitations?
  /// Of the next connection.
  func keys(mayBeSpent: Bool = true) throws -> SocketKeys {
    let pair = try invitations?.current(mayBeSpent: mayBeSpent) ?? pair
    return .client(pair, server: ring.server.publicKey)
  }
  /// Whether a client's hello is accepted of it.
  var isClient: Bool
}

/// Invitations, of which a new one is taken when the last was used: a changed enrolment may be a
/// good one.
private final class Invitations: Sendable {
  private let ring: KeyRing
  private let open: Mutex<[KeyPair]>
  let used = Counter()

  init(_ ring: KeyRing) throws {
    self.ring = ring
    open = Mutex([try ring.invite()])
  }

  func current(mayBeSpent: Bool) throws -> KeyPair {
    if !mayBeSpent, let first = open.withLock({ $0.first }) { return first }
    let known = Set(try ring.folder.allowed().invitations.map(\.key))
    return try open.withLock { open in
      while let first = open.first {
        if known.contains(first.publicKey) { return first }
        open.removeFirst()
        _ = used.next()
      }
      open = (0..<20).map { _ in KeyPair.random() }
      try ring.open(open)
      return open[0]
    }
  }
}

/// F49
private func malformed(_ trial: Trial) async throws {
  let wanted = trial.scale.count(1_000_000, short: 600)
  var shape = try trial.keyedShape(workers: 1)
  shape.workerFlags = [["--resource", "honest=1000"]]
  try await Cluster.with(shape) { cluster in
    let ring = try KeyRing(of: cluster)
    let invitations = try Invitations(ring)
    let villains = [
      Villain(name: "worker", pair: try ring.add("w", .worker), ring: ring, isClient: false),
      Villain(name: "observer", pair: try ring.add("o", .observer), ring: ring, isClient: true),
      Villain(name: "submitter", pair: try ring.add("s", .submitter), ring: ring, isClient: true),
      Villain(name: "admin", pair: ring.own, ring: ring, isClient: true),
      Villain(
        name: "invitation", pair: try invitations.current(mayBeSpent: false), ring: ring,
        invitations: invitations, isClient: true),
    ]
    try await trial.withBystanders(
      cluster, limit: 10, growth: 160, resource: "honest"
    ) {
      for villain in villains { try await sayMalformedFrames(villain, cluster, trial) }
      for villain in villains { try await sayMalformedWords(villain, cluster, trial) }
      let share = wanted / (villains.count * 2)
      let start = Moment.now
      for (number, villain) in villains.enumerated() {
        try await changeRequests(villain, share, seed: UInt64(number), cluster, trial)
        try await changeReports(villain, share, seed: UInt64(number + 50), cluster, trial)
      }
      let rate = Double(share * villains.count * 2) / Moment.now.seconds(since: start)
      trial.note("\(Int(rate)) changed messages a second")
    }
    trial.injected("invitation used up by a changed enrolment", times: invitations.used.count)
    let count = try await cluster.malformedCount()
    trial.note("\(count) messages counted as not understood")
    trial.expect(count > 0, "G33: nothing was counted")
  }
}

private let hello = Wire.encode(ClientMessage.hello(ClientHello(build: "raw")))

/// Of every number and size; none is a message.
private let frames: [(String, [[UInt8]])] = [
  ("an empty frame", [[]]), ("one byte", [[1]]), ("two frames", [[1, 2], [3]]),
  ("200 frames", [[UInt8]](repeating: [1, 2, 3], count: 200)),
  ("200 empty frames", [[UInt8]](repeating: [], count: 200)),
  ("a hello and an empty frame", [hello, []]),
  ("64 KiB + 1", [[UInt8](repeating: 8, count: 64 * 1024 + 1)]),
  ("a first message that is too large", [[UInt8](repeating: 8, count: Limits.helloBytes + 1)]),
  ("the largest message and a byte", [[UInt8](repeating: 8, count: Limits.messageBytes + 1)]),
]

private func sayMalformedFrames(
  _ villain: Villain, _ cluster: Cluster, _ trial: Trial
) async throws {
  let addresses = [cluster.address, cluster.workerAddress]
  // Until the key has been noticed.
  try await onThread("villain") {
    _ = try KeyedDealer(addresses[0], try villain.keys())
    for address in addresses {
      for greeting in [nil, hello] {
        sayFrames(
          frames.map(\.1), to: address, own: villain.pair, server: villain.ring.server.publicKey,
          greeting: greeting)
      }
    }
  }
  trial.injected("message of odd frames by the \(villain.name)'s key", times: frames.count * 4)
}

/// Single frames that are no message of ours, whole or in part.
private func words(_ generator: inout MessageGenerator) -> [[UInt8]] {
  var all: [[UInt8]] = []
  for field: UInt64 in 1...6 {
    all.append(FutureMessages.nested(10_000, field: field))
    for count: UInt64 in [1 << 32, 1 << 63, .max, UInt64(Int32.max)] {
      all.append(FutureMessages.promise(count, field: field))
    }
  }
  for _ in 0..<40 { all.append(generator.bytes(2_000) + [1]) }
  for kind in 0..<MessageGenerator.clientMessageKinds {
    let good = Wire.encode(generator.clientMessage(kind))
    all += FutureMessages.withEachNumber(good, replacedBy: 250).prefix(20)
    all += FutureMessages.withEachNumber(good, replacedBy: 1 << 32).prefix(20)
  }
  for _ in 0..<10 {
    let good = Wire.encode(generator.workerMessage())
    all += FutureMessages.withEachNumber(good, replacedBy: .max).prefix(20)
  }
  return all
}

private func sayMalformedWords(
  _ villain: Villain, _ cluster: Cluster, _ trial: Trial
) async throws {
  let (address, workers) = (cluster.address, cluster.workerAddress)
  let isShort = trial.scale.isShort
  let (said, dropped) = try await onThread("villain") { () throws -> (Int, Int) in
    var generator = MessageGenerator(seed: 49)
    var all = words(&generator)
    if isShort { all = all.enumerated().filter { $0.offset % 8 == 0 }.map(\.element) }
    var worker = try KeyedDealer(workers, try villain.keys())
    for word in all where !word.isEmpty {
      if try !worker.send(word) { worker = try KeyedDealer(workers, try villain.keys()) }
      _ = try worker.receive()
    }
    guard villain.isClient else { return (all.count, 0) }
    let client = try HostileClient(address) { try villain.keys(mayBeSpent: $0) }
    for word in all { try client.say(word) }
    return (all.count + client.said, client.dropped)
  }
  trial.injected("malformed message by the \(villain.name)'s key", times: said)
  trial.note("the \(villain.name)'s sessions were put out \(dropped) times")
}

/// Changed requests at the clients' port; a role that is no client is refused there each time.
private func changeRequests(
  _ villain: Villain, _ count: Int, seed: UInt64, _ cluster: Cluster, _ trial: Trial
) async throws {
  let address = cluster.address
  let connections = try await onThread("villain") { () throws -> Int in
    var generator = MessageGenerator(seed: seed)
    guard villain.isClient else {
      var dealer = try KeyedDealer(address, try villain.keys())
      for number in 0..<count {
        let bytes = generator.mutatedFields(Wire.encode(generator.clientMessage(number % 32)))
        if !bytes.isEmpty, try !dealer.send(bytes) {
          dealer = try KeyedDealer(address, try villain.keys())
        }
        if number % 50 == 49 { dealer = try KeyedDealer(address, try villain.keys()) }
        _ = try dealer.receive()
      }
      return count / 50 + 1
    }
    let client = try HostileClient(address) { try villain.keys(mayBeSpent: $0) }
    for _ in 0..<count {
      let good = Wire.encode(
        generator.clientMessage(1 + generator.below(MessageGenerator.clientMessageKinds - 1)))
      try client.say(
        generator.below(4) == 0 ? generator.mutated(good) : generator.mutatedFields(good))
    }
    return client.connections
  }
  trial.injected("changed request by the \(villain.name)'s key", times: count)
  trial.injected("session of the \(villain.name)'s key", times: connections)
}

/// Changed words of workers at the workers' port.
private func changeReports(
  _ villain: Villain, _ count: Int, seed: UInt64, _ cluster: Cluster, _ trial: Trial
) async throws {
  let address = cluster.workerAddress
  try await onThread("villain") {
    var generator = MessageGenerator(seed: seed)
    var dealer = try KeyedDealer(address, try villain.keys())
    for number in 0..<count {
      let good = Wire.encode(generator.workerMessage())
      let bytes = generator.below(4) == 0 ? generator.mutated(good) : generator.mutatedFields(good)
      if !bytes.isEmpty, try !dealer.send(bytes) {
        dealer = try KeyedDealer(address, try villain.keys())
      }
      // So that it neither runs ahead of the coordinator nor is put out for not reading.
      if number % 100 == 99 { _ = try dealer.receive(within: 20) } else { _ = try dealer.receive() }
      if number % 1_000 == 999 { dealer = try KeyedDealer(address, try villain.keys()) }
    }
  }
  trial.injected("changed word of a worker by the \(villain.name)'s key", times: count)
}
