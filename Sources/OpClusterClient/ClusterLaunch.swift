// Starts, awaits and ends the daemons of our own cluster; shared by the embedded cluster and the
// one in the background.

import OpClusterModel

/// The start of one cluster, and the daemons started so far.
struct ClusterLaunch {
  let folder: ClusterFolder
  /// The coordinator's state folder.
  let state: String
  let attachment: DaemonProcess.Attachment
  /// The coordinator first, then the workers.
  private(set) var daemons: [DaemonProcess] = []

  init(folder: ClusterFolder, state: String, attachment: DaemonProcess.Attachment) {
    self.folder = folder
    self.state = state
    self.attachment = attachment
  }

  /// Starts a coordinator, then workers, and waits until they have joined.
  mutating func start(
    workers: Int, offer: SharedOffer, coordinatorExecutable: String? = nil,
    workerExecutable: String? = nil, deadline: Duration
  ) async throws(ClientError) -> ClusterConnection {
    let time = Time(length: deadline)
    let coordinator = try Self.executable(coordinatorExecutable, else: "opcoord")
    let worker = try Self.executable(workerExecutable, else: "opworker")
    try launch(
      coordinator, name: "opcoord",
      ["--client", folder.clientAddress, "--worker", folder.workerAddress, "--state", state]
        + keys)
    let connection = try await connect(within: time)
    let (processors, gpus) = (ClusterFolder.processors, ClusterFolder.gpus)
    for number in 1..<workers + 1 {
      try launch(
        worker, name: "opworker-\(number)",
        [
          "--coordinator", folder.workerAddress, "--name", "local-\(number)",
          "--scratch", folder.scratch(of: number),
        ] + keys
          + offer.flags(
            of: number - 1, among: workers, processors: processors, foundGPUs: gpus))
    }
    try await awaitWorkers(workers, connection, within: time)
    return connection
  }

  /// The time for the whole start.
  private struct Time {
    let length: Duration
    private let end: ContinuousClock.Instant

    init(length: Duration) {
      self.length = length
      end = ContinuousClock().now + length
    }

    var rest: Duration { end - ContinuousClock().now }
    var isOver: Bool { rest <= .zero }
    var shown: String { "\(length.components.seconds) s" }
  }

  private static func executable(
    _ named: String?, else name: String
  ) throws(ClientError) -> String {
    if let named { return try ClusterFolder.checked(named) }
    return try ClusterFolder.executable(name)
  }

  private var keys: [String] { folder.keys.map { ["--keys", $0] } ?? [] }

  private mutating func launch(
    _ executable: String, name: String, _ arguments: [String]
  ) throws(ClientError) {
    var all = ["serve"] + arguments
    if case .lifeline = attachment { all.append("--until-stdin-closes") }
    // A root user who starts a cluster for themselves has decided that (G40).
    if ClusterFolder.isRoot { all.append("--allow-root") }
    daemons.append(
      try DaemonProcess(
        name, executable: executable, arguments: all, log: folder.log(of: name),
        attachment: attachment))
  }

  private func connect(
    within time: Time
  ) async throws(ClientError) -> ClusterConnection {
    while true {
      do throws(ClientError) {
        return try await ClusterConnection.connect(to: folder.clientAddress, keys: folder.keys)
      } catch {
        // The coordinator makes the keys at its start.
        guard error.kind == .unreachable || error.kind == .badConfiguration else { throw error }
        try checkAlive()
        if time.isOver { throw late("the coordinator", "did not listen", "opcoord", time) }
        try await pause()
      }
    }
  }

  private func awaitWorkers(
    _ count: Int, _ connection: ClusterConnection, within time: Time
  ) async throws(ClientError) {
    while true {
      if case .workers(let rows) = try await connection.request(
        .workers, timeout: max(.seconds(1), time.rest)),
        rows.count(where: { $0.state == .connected }) >= count
      {
        return
      }
      try checkAlive()
      if time.isOver { throw late("the workers", "did not join", "opworker-1", time) }
      try await pause()
    }
  }

  /// Daemons that live and are not ready when the time is over; their log may say why.
  private func late(_ who: String, _ lack: String, _ log: String, _ time: Time) -> ClientError {
    ClientError(
      .unreachable, "\(who) of the local cluster \(lack) within \(time.shown)",
      hint: .text(folder.endOfLog(of: log)))
  }

  /// Throws if a daemon has ended.
  private func checkAlive() throws(ClientError) {
    for daemon in daemons {
      guard let status = daemon.endStatus else { continue }
      throw ClientError(
        .unreachable, "\(daemon.name) ended right after its start (status \(status >> 8))",
        hint: .text(folder.endOfLog(of: daemon.name)))
    }
  }

  private func pause() async throws(ClientError) {
    do {
      try await Task.sleep(for: .milliseconds(10))
    } catch {
      throw ClientError(.cancelled, "the start of the local cluster was cancelled")
    }
  }

  func end(grace: Duration) async { await Self.end(daemons, grace: grace) }

  /// Ends the workers first, so that their reports reach the coordinator; then the coordinator.
  static func end(_ daemons: [DaemonProcess], grace: Duration) async {
    await withTaskGroup { group in
      for daemon in daemons.dropFirst() { group.addTask { await daemon.end(grace: grace) } }
    }
    await daemons.first?.end(grace: grace)
  }
}
