// F53: peers of other releases. Real commands meet a real coordinator over a tap that changes what
// either says of itself: other versions, fields and numbers that nobody knows.

import Glibc
import MessageGenerators
import OpClusterModel
import OpClusterWire
import RealCluster
import Synchronization

let peerVersionRow = FaultRow(
  number: "F53", name: "old and future peers", promise: "G32",
  injection: "a tap that claims versions 99 and 0, one more and one fewer; unknown fields and "
    + "numbers in every message", isShort: true, run: otherReleases)

/// What the tap does to each message; changed from task to task.
private final class Disguise: Sendable {
  typealias Change = @Sendable (TapMessage) -> [UInt8]
  /// A bare function in a lock is wrapped anew at each look, until calling it overflows the stack.
  private struct Present {
    var change: Change = { $0.bytes }
  }
  private let present = Mutex(Present())
  let changed = Counter()

  func wear(_ new: @escaping Change) { present.withLock { $0.change = new } }

  func rule(_ message: TapMessage) -> [[UInt8]] {
    let bytes = present.withLock { $0.change }(message)
    if bytes != message.bytes { _ = changed.next() }
    return [bytes]
  }
}

private struct Releases: Sendable {
  let trial: Trial
  let cluster: Cluster
  let disguise: Disguise
  let clients: Tap
  let workers: Tap
  let manifest: String
  let number = Counter()

  func opbatch(_ arguments: [String]) async throws -> (status: Int32, text: String, seconds: Double)
  {
    let start = Moment.now
    let child = try startOpbatch(arguments)
    let status = try await child.ended()
    return (status, child.output + child.error, Moment.now.seconds(since: start))
  }

  func startOpbatch(_ arguments: [String]) throws -> ChildProgram {
    try cluster.startOpbatch(
      arguments,
      variables: [
        "OPBATCH_COORDINATOR=\(clients.address)", "OPBATCH_KEYS=\(cluster.keys ?? "")",
      ])
  }

  func startWorker() throws -> ChildProgram {
    let name = "r\(number.next())"
    return try ChildProgram(
      name, Cluster.executable("opworker"),
      [
        "serve", "--allow-root", "--coordinator", workers.address, "--name", name, "--scratch",
        "\(cluster.folder)/scratch-\(name)", "--keys", cluster.keys ?? "", "--cpus", "2",
        "--label", "release=other",
      ], environment: cluster.environment, folder: cluster.folder, input: "/dev/null")
  }

  /// Both commands end with 76 soon, and name the two ranges.
  func expectMismatch(_ what: String, naming words: [String]) async throws {
    let client = try await opbatch(["ping"])
    judge(what, "opbatch", client.status, client.text, client.seconds, words)
    let start = Moment.now
    let worker = try startWorker()
    let status = try await worker.ended()
    judge(what, "opworker", status, worker.error, Moment.now.seconds(since: start), words)
  }

  private func judge(
    _ what: String, _ program: String, _ status: Int32, _ text: String, _ seconds: Double,
    _ words: [String]
  ) {
    trial.injected(what)
    trial.expect(status == 76, "G32: \(program), \(what): ended with \(status): \(text)")
    trial.expect(
      seconds <= trial.scale.time(2),
      "G32: \(program), \(what): took \(Moment.text(seconds)) s")
    for word in words where !text.contains(word) {
      trial.broken("G32: \(program), \(what): does not say '\(word)': \(text)")
    }
    trial.note("\(program), \(what): \(status) after \(Moment.text(seconds)) s")
  }

  /// A worker and a client behind the tap do a piece of work together.
  func expectService(_ what: String) async throws {
    let worker = try startWorker()
    try await eventually("a worker serves", details: { worker.error }) {
      worker.output.contains("serving")
    }
    let result = try await opbatch(["submit", "--wait", manifest])
    trial.injected(what)
    trial.expect(result.status == 0, "G32: \(what): ended with \(result.status): \(result.text)")
    trial.expect(worker.end == nil, "G32: \(what): the worker ended: \(worker.error)")
    worker.signal(SIGTERM)
    try await worker.ended()
  }
}

/// F53
private func otherReleases(_ trial: Trial) async throws {
  try await Cluster.with(trial.keyedShape(workers: 1)) { cluster in
    let ring = try KeyRing(of: cluster)
    let disguise = Disguise()
    let rule: Tap.Rule = { disguise.rule($0) }
    let releases = Releases(
      trial: trial, cluster: cluster, disguise: disguise,
      clients: try Tap(to: cluster.address, of: ring, isForWorkers: false, rule: rule),
      workers: try Tap(to: cluster.workerAddress, of: ring, isForWorkers: true, rule: rule),
      manifest: "\(cluster.folder)/release.yaml")
    try write(
      """
      version: 1
      operations:
        a: {run: "true", array: 1-4, require: {release: other}}
        b: {run: "true", needs: a, require: {release: other}}

      """, to: releases.manifest)
    try await trial.withBystanders(cluster, limit: 5) {
      try await versions(releases)
      disguise.wear { FutureMessages.withUnknownFields($0.bytes) }
      let before = disguise.changed.count
      try await releases.expectService("unknown fields in every message")
      trial.injected(
        "message with unknown fields", times: disguise.changed.count - before)
      try await unknownNumbers(releases, ring)
    }
    try await releases.clients.end()
    try await releases.workers.end()
    trial.note("\(try await cluster.malformedCount()) messages refused by the coordinator")
  }
}

private func versions(_ releases: Releases) async throws {
  let ours = ProtocolVersions.current
  func claiming(_ lowest: UInt32, _ highest: UInt32) -> Disguise.Change {
    { claimed($0, ProtocolVersions(lowest: lowest, highest: highest)) }
  }
  let range = "\(ours.lowest) to \(ours.highest)"
  for far: UInt32 in [99, 0] {
    releases.disguise.wear(claiming(far, far))
    try await releases.expectMismatch("a peer of \(far)", naming: [range, "\(far) to \(far)"])
    releases.disguise.wear { chosen($0, far) }
    try await releases.expectMismatch(
      "a coordinator that chooses \(far)", naming: ["version \(far)", range])
  }
  // There are no minor numbers: neighbours share one of the numbers of their ranges.
  releases.disguise.wear(claiming(ours.lowest, ours.highest + 1))
  try await releases.expectService("a peer of the next release")
  releases.disguise.wear(claiming(ours.lowest - 1, ours.highest))
  try await releases.expectService("a peer of the release before")
}

/// The hello, with other versions.
private func claimed(_ message: TapMessage, _ versions: ProtocolVersions) -> [UInt8] {
  switch message.hop {
  case .clientToCoordinator:
    guard case .hello(var hello)? = try? Wire.decodeClientMessage(message.bytes) else { break }
    hello.versions = versions
    return Wire.encode(ClientMessage.hello(hello))
  case .workerToCoordinator:
    guard case .hello(var hello)? = try? Wire.decodeWorkerMessage(message.bytes) else { break }
    hello.versions = versions
    return Wire.encode(WorkerMessage.hello(hello))
  case .coordinatorToClient, .coordinatorToWorker: break
  }
  return message.bytes
}

/// The welcome, with another version.
private func chosen(_ message: TapMessage, _ version: UInt32) -> [UInt8] {
  switch message.hop {
  case .coordinatorToClient:
    guard case .welcome(_, let build, let life)? = try? Wire.decodeClientAnswer(message.bytes)
    else { break }
    return Wire.encode(ClientAnswer.welcome(version: version, build: build, life)) { _ in "" }
  case .coordinatorToWorker:
    guard case .welcome(var welcome)? = try? Wire.decodeCoordinatorMessage(message.bytes) else {
      break
    }
    welcome.version = version
    return Wire.encode(CoordinatorMessage.welcome(welcome)) { _ in "" }
  case .clientToCoordinator, .workerToCoordinator: break
  }
  return message.bytes
}

/// Numbers that no enumeration has, one after the other in messages of every kind.
private func unknownNumbers(_ releases: Releases, _ ring: KeyRing) async throws {
  let trial = releases.trial
  let rounds = trial.scale.count(3, short: 1)
  let address = releases.cluster.address
  let count = try await onThread("numbers") { () throws -> Int in
    var generator = MessageGenerator(seed: 53)
    let client = try HostileClient(address, ring.keys)
    for _ in 0..<rounds {
      for kind in 1..<MessageGenerator.clientMessageKinds {
        let good = Wire.encode(generator.clientMessage(kind))
        for changed in FutureMessages.withEachNumber(good, replacedBy: 250).prefix(60) {
          try client.say(changed)
        }
      }
    }
    return client.said
  }
  trial.injected("request with an unknown number", times: count)
  try await unknownAnswers(releases)
}

/// What commands and workers make of such answers: an error of theirs, never a crash.
private func unknownAnswers(_ releases: Releases) async throws {
  let trial = releases.trial
  for turn in 0..<trial.scale.count(40, short: 2) {
    let position = Counter()
    releases.disguise.wear { message in
      guard message.hop == .coordinatorToClient else { return message.bytes }
      let all = FutureMessages.withEachNumber(message.bytes, replacedBy: 250)
      return all.isEmpty ? message.bytes : all[(turn + position.next()) % all.count]
    }
    let command = [["ls", "-a"], ["worker", "ls"], ["queue", "ls"], ["events"], ["status"]][
      turn % 5]
    // Its request's number may have been changed too: then it waits for an answer.
    let child = try releases.startOpbatch(command)
    _ = try? await child.ended(within: .seconds(1))
    child.signal(SIGINT)
    let status = try await child.ended(within: .seconds(10))
    trial.injected("command with unknown numbers in its answers")
    trial.expect(
      [0, 1, 2, 4, 5, 69, 76, 130].contains(status),
      "G32: opbatch \(command) ended with \(status): \(child.output + child.error)")
  }
  releases.disguise.wear { message in
    guard message.hop == .coordinatorToWorker else { return message.bytes }
    let all = FutureMessages.withEachNumber(message.bytes, replacedBy: 250)
    return all.randomElement() ?? message.bytes
  }
  let worker = try releases.startWorker()
  let before = releases.disguise.changed.count
  try await eventually("a worker has heard unknown numbers", within: .seconds(60)) {
    releases.disguise.changed.count > before + trial.scale.count(40, short: 8) || worker.end != nil
  }
  trial.injected(
    "word to a worker with an unknown number", times: releases.disguise.changed.count - before)
  trial.expect((worker.end ?? 0) < 128, "G32: the worker died: \(worker.end ?? 0) \(worker.error)")
  worker.signal(SIGTERM)
  try await worker.ended()
  releases.disguise.wear { $0.bytes }
}
