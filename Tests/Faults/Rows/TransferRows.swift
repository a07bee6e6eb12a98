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
  FaultRow(
    number: "F67", name: "stores without room", promise: "G42",
    injection: "a limit, or a disk, smaller than what an operation leaves or reads",
    needs: [.ownNamespaces], isShort: true, run: fullStores),
  FaultRow(
    number: "F68", name: "a million small files, and one large one", promise: "G29 G41",
    injection: "files of some bytes, each a content of its own; one larger than workers may grow",
    isShort: true, run: manyFiles),
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

// MARK: - Room and numbers

/// F67
private func fullStores(_ trial: Trial) async throws {
  var shape = trial.shape(workers: 3)
  shape.workerFlags = [[], ["--store", "1000000"], []]
  shape.prepare = { folder in
    let scratch = "\(folder)/scratch-w3"
    guard unsafe mkdir(scratch, 0o700) == 0,
      unsafe mount("none", scratch, "tmpfs", 0, "size=2m,mode=0700") == 0
    else { throw Trouble("cannot mount a tmpfs: \(errno)") }
  }
  shape.cleanUp = { unsafe umount2("\($0)/scratch-w3", Int32(MNT_DETACH)) }
  try await Cluster.with(shape) { cluster in
    /// The state of the graph, and what `show` says of an operation.
    func run(_ maker: String, _ readers: String) async throws -> (Bool, String) {
      let text = """
        version: 1
        operations:
          make:
            run: seq 1000000 > data
            outputs: {files: {data: data}}
            require: {worker: \(maker)}
          read:
            array: 1-4
            needs: {make: {files: [data]}}
            run: cmp "$OP_INPUTS/make/data" <(seq 1000000)
            shell: bash
            require: {worker: \(readers)}

        """
      let path = "\(cluster.folder)/graph.yaml"
      try text.write(toFile: path, atomically: false, encoding: .utf8)
      let said = try await cluster.opbatch("submit", path, "--wait", "-o", "name")
      let number = said.output.filter { $0.isNumber }
      let failed = try await cluster.opbatch(
        "ls", "\(number)", "--state", "failed", "-o", "jsonl")
      return (said.status == 0, failed.output)
    }
    let (isPlacedElsewhere, why) = try await run("w1", "[w1, w2, w3]")
    trial.injected("reader with a store that is too small, beside one that fits")
    trial.expect(isPlacedElsewhere, "G42: another worker could have read it: \(why)")
    for (maker, reader, what) in [
      ("w1", "w2", "limit of the reader"), ("w2", "w2", "limit of the maker"),
      ("w1", "w3", "disk of the reader"),
    ] {
      let (hasSucceeded, why) = try await run(maker, reader)
      trial.injected("\(what) too small")
      trial.expect(
        !hasSucceeded && why.contains("store_full"), "G42: \(what) is too small: \(why)")
    }
    trial.expect(
      ["w1", "w2", "w3"].allSatisfy { cluster.daemon($0)?.end == nil }, "a worker ended")
  }
}

/// F68
private func manyFiles(_ trial: Trial) async throws {
  let graphs = trial.scale.count(20, short: 1)
  let (operations, files) = trial.scale.isShort ? (4, 50) : (100, 500)
  let large = trial.scale.isShort ? 100_000_000 : 4_000_000_000
  var shape = trial.shape(workers: 2)
  shape.slots = 4
  try await Cluster.with(shape) { cluster in
    func run(_ text: String, _ what: String) async throws {
      let path = "\(cluster.folder)/graph.yaml"
      try text.write(toFile: path, atomically: false, encoding: .utf8)
      let submit = try cluster.startOpbatch(["submit", path, "--wait"])
      let status = try await submit.ended(within: .seconds(900))
      trial.expect(status == 0, "G41: \(what): \(status) \(submit.output) \(submit.error)")
    }
    var times = Series()
    for graph in 0..<graphs {
      let start = Moment.now
      let first = graph * operations * files
      try await run(
        """
        version: 1
        operations:
          make:
            array: 1-\(operations)
            run: |
              mkdir few && first=$((\(first) + OP_INDEX * \(files)))
              seq $first $((first + \(files) - 1)) | split -l 1 -a 4 - few/
            outputs: {files: {few: few}}
            require: {worker: w1}
          read:
            array: 1-\(operations)
            needs: {make: {match: same-index, files: [few]}}
            run: |
              first=$((\(first) + OP_INDEX * \(files)))
              cat "$OP_INPUTS"/make/few/* | cmp - <(seq $first $((first + \(files) - 1)))
            shell: bash
            require: {worker: w2}

        """, "small files")
      times.add(Moment.now.seconds(since: start))
    }
    trial.injected("file of some bytes", times: graphs * operations * files)
    trial.note("\(operations * files) files there took \(times.text)")
    let before = try ["w1", "w2"].map { Surroundings.peakBytes(try cluster.process($0)) }
    trial.note("the workers grew to \(before.map { $0 >> 20 }) MiB with small files")
    let start = Moment.now
    try await run(
      """
      version: 1
      operations:
        make:
          run: seq 1 1000000000 | head -c \(large) > data
          outputs: {files: {data: data}}
          require: {worker: w1}
        read:
          needs: {make: {files: [data]}}
          run: cmp "$OP_INPUTS/make/data" <(seq 1 1000000000 | head -c \(large))
          shell: bash
          require: {worker: w2}

      """, "a large file")
    trial.injected("file of \(large) bytes")
    trial.note("it took \(Moment.text(Moment.now.seconds(since: start))) s")
    let after = try ["w1", "w2"].map { Surroundings.peakBytes(try cluster.process($0)) }
    trial.note("and to \(after.map { $0 >> 20 }) MiB with the large one")
    for (one, other) in zip(before, after) {
      trial.expect(
        other - one < 64 << 20, "G29: a worker grew by \((other - one) >> 20) MiB for one file")
    }
  }
}
