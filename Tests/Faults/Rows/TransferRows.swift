// The rows of section transfers: F65 to F68. What one worker's store has goes to another's, while
// daemons die, bits flip and disks are full.

import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster

let transferRows: [FaultRow] = [
  FaultRow(
    number: "F65", name: "daemons die during a transfer", promise: "G41 G42",
    injection:
      "KILL of holder, reader or coordinator, or STOP of the holder, at the start, in the middle "
      + "and near the end of a transfer",
    isShort: true, run: disturbedTransfers),
  FaultRow(
    number: "F66", name: "bits flip in a store and on the way", promise: "G41 S153",
    injection: "a bit of a file in the holder's store; bits of the stream between two stores",
    isShort: true, run: flippedBits),
]

/// A file that `w1` makes and `w2` reads, over a link of a known speed.
private struct Journey {
  let cluster: Cluster
  /// Each has other bytes.
  let number: Int
  let last: Int
  let graph: UInt32

  /// Bytes of a file, nearly, and of the link in a second.
  static func bytes(_ trial: Trial) -> Int { trial.scale.isShort ? 4_000_000 : 24_000_000 }
  static func shape(_ trial: Trial, store flags: [String] = []) -> Cluster.Shape {
    var shape = trial.shape(workers: 2)
    shape.workerFlags = [["--upload-limit", "\(bytes(trial) / 2)"], flags]
    return shape
  }

  /// Submits it; `read` waits for the file `go`, if it is gated.
  static func begin(
    _ number: Int, on cluster: Cluster, _ trial: Trial, isGated: Bool = false
  ) async throws -> Journey {
    // Eight bytes a line.
    let (first, last) = (1_000_000 + number, 1_000_000 + number + bytes(trial) / 8)
    let text = """
      version: 1
      operations:
        make:
          run: seq \(first) \(last) > data && echo \(number) >> \(cluster.folder)/made
          outputs: {files: {data: data}}
          require: {worker: w1}
        gate:
          run: while [ ! -e \(cluster.folder)/go ]; do sleep 0.05; done
          require: {worker: w2}
        read:
          needs: {make: {files: [data]}\(isGated ? ", gate: {}" : "")}
          run: sha256sum < "$OP_INPUTS/make/data" > \(cluster.folder)/read-\(number)
          require: {worker: w2}

      """
    let path = "\(cluster.folder)/graph.yaml"
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    if !isGated { try "".write(toFile: "\(cluster.folder)/go", atomically: false, encoding: .utf8) }
    let said = try await cluster.opbatch("submit", path, "-o", "name")
    guard said.status == 0, let graph = UInt32(said.output.filter { $0.isNumber }) else {
      throw Trouble("submit: \(said.status) \(said.output) \(said.error)")
    }
    return Journey(cluster: cluster, number: number, last: last, graph: graph)
  }

  /// Waits until so many bytes have come to the reader; 0: until the coordinator has heard that the
  /// file is made.
  func hasCome(_ bytes: Int) async throws {
    if bytes == 0 {
      let connection = try await cluster.reach()
      try await eventually("the file is made") {
        try await connection.operations(.graph(GraphID(graph))).contains {
          $0.name == "make" && $0.outcome == .succeeded
        }
      }
      return await connection.close()
    }
    try await eventually("\(bytes) bytes have come to w2") {
      let folder = "\(cluster.folder)/scratch-w2/store/incoming"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains { name in
        let size = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.size]
        return (size as? Int ?? (size as? UInt64).map(Int.init) ?? 0) >= bytes
      }
    }
  }

  /// The only file of this size in the holder's store.
  func stored() throws -> String {
    let folder = "\(cluster.folder)/scratch-w1/store/contents"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    guard names.count == 1 else { throw Trouble("the store of w1 has \(names)") }
    return "\(folder)/\(names[0])"
  }

  /// How often the file was made.
  var made: Int {
    text(of: "\(cluster.folder)/made").split(separator: "\n").count { $0 == "\(number)" }
  }

  /// Waits for the end and compares what was read.
  func ends(_ trial: Trial, after what: String) async throws {
    let connection = try await cluster.reach()
    try await eventually(
      "the file is read after \(what)", within: .seconds(120),
      details: { try await cluster.opbatch("why", "\(graph)/read").output }
    ) {
      try await connection.graphs(.graph(GraphID(graph))).first.map(\.state) != .running
    }
    let state = try await connection.graphs(.graph(GraphID(graph))).first?.state
    let why = try await cluster.opbatch("why", "\(graph)/read").output
    trial.expect(state == .succeeded, "G41: after \(what) the graph did not succeed: \(why)")
    let sum = "\(cluster.folder)/sum-\(number)"
    try await Surroundings.run(
      "sh", "-c", "seq \(1_000_000 + number) \(last) | sha256sum > \(sum)", in: cluster.folder)
    trial.expect(
      text(of: "\(cluster.folder)/read-\(number)") == text(of: sum),
      "G41: after \(what) other bytes were read")
    await connection.close()
  }
}

/// F65
private func disturbedTransfers(_ trial: Trial) async throws {
  let all: [(String, @Sendable (Cluster) async throws -> Void)] = [
    (
      "KILL of the holder",
      { cluster in
        try await cluster.kill("w1")
        try cluster.startWorker("w1")
      }
    ),
    (
      "KILL of the reader",
      { cluster in
        try await cluster.kill("w2")
        try cluster.startWorker("w2")
      }
    ),
    (
      "KILL of the coordinator",
      { cluster in
        try await cluster.kill("opcoord")
        try await cluster.startCoordinator()
      }
    ),
    (
      "STOP of the holder",
      { cluster in
        cluster.daemon("w1")?.signal(SIGSTOP)
        try await Task.sleep(for: .seconds(1))
        cluster.daemon("w1")?.signal(SIGCONT)
      }
    ),
  ]
  let bytes = Journey.bytes(trial)
  let phases = trial.scale.isShort ? [bytes / 2] : [0, 1, bytes / 2, bytes / 10 * 9]
  var times = Series()
  try await Cluster.with(Journey.shape(trial)) { cluster in
    var number = 0
    for phase in phases {
      for (what, inject) in all {
        number += 1
        let start = Moment.now
        let journey = try await Journey.begin(number, on: cluster, trial)
        try await journey.hasCome(phase)
        try await inject(cluster)
        trial.injected("\(what) during a transfer")
        try await journey.ends(trial, after: "\(what) at \(phase) bytes")
        times.add(Moment.now.seconds(since: start))
        trial.expect(
          journey.made == 1,
          "G42: after \(what) at \(phase) bytes the file was made \(journey.made) times")
      }
    }
  }
  trial.note("a journey of 2 s took \(times.text)")
}

/// F66
private func flippedBits(_ trial: Trial) async throws {
  try await Cluster.with(Journey.shape(trial)) { cluster in
    let journey = try await Journey.begin(1, on: cluster, trial, isGated: true)
    try await journey.hasCome(0)
    try await eventually("it is in the store") { (try? journey.stored()) != nil }
    try flip(try journey.stored(), at: Journey.bytes(trial) / 3)
    trial.injected("bit flipped in the holder's store")
    try "".write(toFile: "\(cluster.folder)/go", atomically: false, encoding: .utf8)
    try await journey.ends(trial, after: "a flip in the store")
    trial.expect(journey.made == 2, "S153: the file was made \(journey.made) times")
  }
  try await Cluster.with(Journey.shape(trial)) { cluster in
    // Whoever connects from now on comes through the relay.
    let socket = "\(cluster.folder)/scratch-w1/store.socket"
    guard unsafe rename(socket, "\(cluster.folder)/store") == 0 else {
      throw Trouble("cannot rename \(socket): \(errno)")
    }
    let relay = try Relay(from: socket, to: "\(cluster.folder)/store")
    defer { relay.end() }
    relay.shape = LinkShape(flips: 0.05)
    let journey = try await Journey.begin(1, on: cluster, trial)
    try await eventually("bits are flipped") { relay.flipped > (trial.scale.isShort ? 3 : 20) }
    relay.shape = LinkShape()
    trial.injected("bit flipped on the way", times: relay.flipped)
    try await journey.ends(trial, after: "flips on the way")
    trial.note("the file was made \(journey.made) times")
  }
}

private func flip(_ path: String, at offset: Int) throws {
  _ = unsafe chmod(path, 0o600)
  let file = unsafe open(path, O_RDWR | O_CLOEXEC)
  var byte: UInt8 = 0
  guard file >= 0, unsafe pread(file, &byte, 1, off_t(offset)) == 1 else {
    throw Trouble("cannot read \(path): \(errno)")
  }
  byte ^= 4
  let written = unsafe pwrite(file, &byte, 1, off_t(offset))
  close(file)
  if written != 1 { throw Trouble("cannot write \(path): \(errno)") }
}
