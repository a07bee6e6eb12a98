// A real cluster for a test: opcoord and opworkers as processes, sockets and state in a folder of
// their own. Daemons are started, killed and started again by the test; what is left is killed when
// the test ends. Any task.

import FoundationEssentials
import Glibc
package import OpClusterClient
package import OpClusterModel
import Synchronization

/// The daemons of one test, or of one suite.
package final class Cluster: Sendable {
  /// What to start, and how fast its clocks tick.
  package struct Shape: Sendable {
    package var workers = 3
    package var slots = 2
    /// The worker program, built beside the tests.
    package var program = "opworker"
    /// Flags of each worker, by its position; missing ones have none.
    package var workerFlags: [[String]] = []
    /// Seconds, as flags of `opcoord serve`.
    package var timing = patience

    /// A worker that a loaded machine holds up is not given up for it.
    private static let patience = [
      "--heartbeat", "0.2", "--suspect", "1", "--lost", "120", "--resync", "130", "--grace", "20",
    ]
    /// The loss of a worker is part of the test, which waits for it.
    private static let haste = [
      "--heartbeat", "0.2", "--suspect", "1", "--lost", "4", "--resync", "10", "--grace", "20",
    ]

    /// The same, but a worker that is not heard is given up within seconds.
    package var losingSoon: Shape {
      var shape = self
      shape.timing = Self.haste
      return shape
    }

    /// Done in the folder before anything is started there.
    package var prepare: @Sendable (String) throws -> Void = { _ in }
    /// Done with it after the last daemon has ended.
    package var cleanUp: @Sendable (String) -> Void = { _ in }
    /// How each daemon is started, by its name, and `opbatch`; missing ones plainly.
    package var launches: [String: Launch] = [:]
    /// Where a worker connects to, by its name, if not where the coordinator listens; `{folder}`
    /// stands for the cluster's folder.
    package var routes: [String: String] = [:]
    /// Relays by name; each listens at `ipc://{folder}/NAME`, where `routes` may lead workers.
    package var relays: [String] = []
    /// Where the daemons listen; nil: sockets in the folder.
    package var clientAddress: String?
    package var workerAddress: String?
    /// The user who serves, where it is neither this one nor root.
    package var server: UInt32?

    package init(
      workers: Int = 3, slots: Int = 2, program: String = "opworker", workerFlags: [[String]] = []
    ) {
      self.workers = workers
      self.slots = slots
      self.program = program
      self.workerFlags = workerFlags
    }
  }

  /// A start in other surroundings than the usual ones.
  package struct Launch: Sendable {
    /// A program that becomes the daemon, with its arguments.
    package var through: [String]
    /// Further variables, `NAME=value`; `{folder}` stands for the cluster's folder.
    package var variables: [String]

    package init(through: [String] = [], variables: [String] = []) {
      self.through = through
      self.variables = variables
    }
  }

  package let folder: String
  package let shape: Shape
  package var address: String { shape.clientAddress ?? "ipc://\(folder)/client" }
  package var workerAddress: String { shape.workerAddress ?? "ipc://\(folder)/worker" }
  /// The folder of the keys that the coordinator makes for its own user at its first start, who is
  /// an admin; nil where nobody needs a key.
  package var keys: String? {
    address.hasPrefix("tcp:") ? "\(folder)/.config/opcluster/keys" : nil
  }
  private let daemons = Mutex<[String: ChildProgram]>([:])
  private let count = Atomic<Int>(0)

  private init(_ shape: Shape) throws {
    self.shape = shape
    // Short: a socket's path has room for 107 bytes.
    folder = "/tmp/oct-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
    guard unsafe mkdir(folder, 0o700) == 0 else { throw Trouble("cannot make \(folder)") }
    try shape.prepare(folder)
  }

  /// Runs `body` with a cluster that serves; what it throws comes out with the daemons' logs.
  package static func with(
    _ shape: Shape = Shape(), _ body: (Cluster) async throws -> Void
  ) async throws {
    let cluster = try Cluster(shape)
    do {
      try await cluster.startCoordinator()
      for relay in shape.relays { try cluster.startRelay(relay) }
      for number in 1...max(shape.workers, 1) where number <= shape.workers {
        try cluster.startWorker("w\(number)")
      }
      let addresses = shape.relays.map { "ipc://{folder}/\($0)" }
      let machines = shape.routes.values.count { addresses.contains($0) }
      try await cluster.workersAreConnected(shape.workers - machines + shape.relays.count)
      try await body(cluster)
      await cluster.end()
    } catch {
      let logs = cluster.logs
      await cluster.end()
      throw Trouble("\(error)\n\(logs)")
    }
  }

  private func end() async {
    let all = daemons.withLock { daemons in
      defer { daemons = [:] }
      return Array(daemons.values)
    }
    for daemon in all { daemon.signal(SIGKILL) }
    for daemon in all { _ = try? await daemon.ended() }
    shape.cleanUp(folder)
    try? FileManager.default.removeItem(atPath: folder)
  }

  // Daemons

  /// Starts it and waits until it answers.
  package func startCoordinator(_ flags: [String] = []) async throws {
    _ = try beginCoordinator(flags)
    try await coordinatorAnswers()
  }

  /// Starts it without waiting.
  package func beginCoordinator(_ flags: [String] = []) throws -> ChildProgram {
    try start(
      "opcoord", as: "opcoord",
      ["--client", address, "--worker", workerAddress, "--state", "\(folder)/state"] + flags
        + shape.timing)
  }

  package func coordinatorAnswers() async throws {
    try await eventually("the coordinator answers") {
      if let end = daemon("opcoord")?.end { throw Trouble("opcoord ended with \(end)") }
      guard let connection = try? await connect(within: .seconds(3)) else { return false }
      await connection.close()
      return true
    }
  }

  /// Its folder and its name are the same at each start.
  package func startWorker(_ name: String, _ more: [String] = []) throws {
    let position = (Int(name.dropFirst()) ?? 0) - 1
    let flags = shape.workerFlags.indices.contains(position) ? shape.workerFlags[position] : []
    _ = try start(
      shape.program, as: name,
      [
        "--coordinator",
        shape.routes[name]?.replacing("{folder}", with: folder) ?? workerAddress, "--name", name,
        "--cpus", "\(shape.slots)",
        "--scratch", "\(folder)/scratch-\(name)",
      ] + flags + more)
  }

  package func startRelay(_ name: String, _ more: [String] = []) throws {
    _ = try start(
      "oprelay", as: name,
      ["--coordinator", workerAddress, "--machines", "ipc://\(folder)/\(name)", "--name", name]
        + more)
  }

  private func start(
    _ program: String, as name: String, _ flags: [String]
  ) throws -> ChildProgram {
    let launch = shape.launches[name] ?? Launch()
    let words =
      launch.through
      + [try Self.executable(program), "serve", "--until-stdin-closes", "--allow-root"] + flags
    let child = try ChildProgram(
      name, words[0], Array(words.dropFirst()),
      environment: environment
        + launch.variables.map { $0.replacing("{folder}", with: folder) },
      folder: folder)
    daemons.withLock { $0[name] = child }
    return child
  }

  package func daemon(_ name: String) -> ChildProgram? { daemons.withLock { $0[name] } }

  /// Sends KILL and takes the end in.
  package func kill(_ name: String) async throws {
    guard let daemon = daemon(name) else { throw Trouble("there is no \(name)") }
    daemon.signal(SIGKILL)
    try await daemon.ended()
  }

  package func workersAreConnected(_ count: Int) async throws {
    let connection = try await connect()
    try await eventually("\(count) workers are connected") {
      try await connection.workers().count { $0.state == .connected } == count
    }
    await connection.close()
  }

  /// The ends of all logs.
  package var logs: String {
    daemons.withLock { $0.values.sorted { $0.name < $1.name } }
      .map {
        "--- \($0.name) (end: \($0.end.map(String.init) ?? "none"))\n\($0.error.suffix(3_000))"
      }
      .joined(separator: "\n")
  }

  // Clients

  package func connect(within time: Duration = .seconds(30)) async throws -> ClusterConnection {
    guard let server = shape.server else {
      return try await ClusterConnection.connect(to: address, deadline: time, keys: keys)
    }
    return try await ClusterConnection.connect(
      to: address, deadline: time, keys: keys, servedByUser: server)
  }

  /// Starts `opbatch` against this cluster.
  package func startOpbatch(
    _ arguments: [String], input: String = "/dev/null", variables: [String] = []
  ) throws -> ChildProgram {
    let number = count.add(1, ordering: .relaxed).newValue
    let words =
      (shape.launches["opbatch"] ?? Launch()).through + [try Self.executable("opbatch")] + arguments
    return try ChildProgram(
      "opbatch-\(number)", words[0], Array(words.dropFirst()),
      environment: environment
        + (variables.isEmpty ? ["OPBATCH_COORDINATOR=\(address)"] : variables),
      folder: folder, input: input)
  }

  /// Runs `opbatch` to its end.
  @discardableResult
  package func opbatch(
    _ arguments: String..., input: String = "/dev/null", variables: [String] = []
  ) async throws -> (status: Int32, output: String, error: String) {
    let program = try startOpbatch(arguments, input: input, variables: variables)
    let status = try await program.ended()
    return (status, program.output, program.error)
  }

  /// Starts another client program of ours.
  package func startClient(_ program: String, _ arguments: [String]) throws -> ChildProgram {
    let number = count.add(1, ordering: .relaxed).newValue
    return try ChildProgram(
      "client-\(number)", try Self.executable(program), arguments, environment: environment,
      folder: folder)
  }

  package var environment: [String] {
    [
      "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(folder)", "XDG_RUNTIME_DIR=\(folder)",
      "LANG=C.UTF-8",
    ]
  }

  /// A program of ours: beside the tests.
  package static func executable(_ name: String) throws -> String {
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      ?? CommandLine.arguments[0]
    for start in [own, CommandLine.arguments[0]] {
      var folder = start
      while let slash = folder.lastIndex(of: "/") {
        folder = String(folder[..<slash])
        let path = "\(folder)/\(name)"
        if FileManager.default.isExecutableFile(atPath: path) { return path }
      }
    }
    throw Trouble("\(name) is not built beside the tests")
  }
}

extension ClusterConnection {
  package func workers() async throws -> [WorkerRow] {
    guard case .workers(let rows) = try await request(.workers) else { throw Trouble("workers?") }
    return rows.filter { $0.state != .down }
  }

  /// All rows of the selection, over all pages.
  package func operations(_ selection: Selection) async throws -> [OperationRow] {
    var all: [OperationRow] = []
    while true {
      let reply = try await request(
        .operations(selection, after: all.last?.id, limit: UInt32(Limits.rowsPerReply)))
      guard case .operations(let rows, let more) = reply else { throw Trouble("operations?") }
      all += rows
      if !more || rows.isEmpty { return all }
    }
  }

  package func graphs(_ selection: Selection) async throws -> [GraphRow] {
    var all: [GraphRow] = []
    while true {
      let reply = try await request(
        .graphs(selection, after: all.last?.graph, limit: UInt32(Limits.rowsPerReply)))
      guard case .graphs(let rows, let more) = reply else { throw Trouble("graphs?") }
      all += rows
      if !more || rows.isEmpty { return all }
    }
  }

  /// The sequence of the newest event.
  package func lastEvent() async throws -> UInt64 {
    guard case .pong(_, _, let last) = try await request(.ping) else { throw Trouble("ping?") }
    return last
  }

  /// Everything told about the selection until now, in order.
  package func backlog(_ selection: Selection) async throws -> [Event] {
    var all: [Event] = []
    let subscription = EventSubscription(
      number: 1, selection: selection, since: 0, backlogOnly: true)
    for try await batch in events(subscription) { all += batch.events }
    return all
  }
}
