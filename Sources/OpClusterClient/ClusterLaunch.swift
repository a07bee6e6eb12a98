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
    workers: Int, offer: SharedOffer, workerExecutable: String? = nil, deadline: Duration
  ) async throws(ClientError) -> ClusterConnection {
    let end = ContinuousClock().now + deadline
    let coordinator = try ClusterFolder.executable("opcoord")
    let worker =
      if let workerExecutable { try ClusterFolder.checked(workerExecutable) } else {
        try ClusterFolder.executable("opworker")
      }
    try launch(
      coordinator, name: "opcoord",
      ["--client", folder.clientAddress, "--worker", folder.workerAddress, "--state", state]
        + keys)
    let connection = try await connect(before: end)
    let (processors, gpus) = (ClusterFolder.processors, ClusterFolder.gpus)
    // An embedded coordinator that has gone does not come back.
    var patience: [String] = []
    if case .lifeline = attachment { patience = ["--exit-when-unreachable", "10"] }
    for number in 1..<workers + 1 {
      try launch(
        worker, name: "opworker-\(number)",
        [
          "--coordinator", folder.workerAddress, "--name", "local-\(number)",
          "--scratch", folder.scratch(of: number),
        ] + keys
          + offer.flags(
            of: number - 1, among: workers, processors: processors, foundGPUs: gpus) + patience)
    }
    try await awaitWorkers(workers, connection, before: end)
    return connection
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
    before end: ContinuousClock.Instant
  ) async throws(ClientError) -> ClusterConnection {
    while true {
      do throws(ClientError) {
        return try await ClusterConnection.connect(to: folder.clientAddress, keys: folder.keys)
      } catch {
        // The coordinator makes the keys at its start.
        guard error.kind == .unreachable || error.kind == .badConfiguration,
          ContinuousClock().now < end
        else { throw error }
        try checkAlive()
        try await pause()
      }
    }
  }

  private func awaitWorkers(
    _ count: Int, _ connection: ClusterConnection, before end: ContinuousClock.Instant
  ) async throws(ClientError) {
    while true {
      if case .workers(let rows) = try await connection.request(
        .workers, timeout: max(.seconds(1), end - ContinuousClock().now)),
        rows.count(where: { $0.state == .connected }) >= count
      {
        return
      }
      try checkAlive()
      guard ContinuousClock().now < end else {
        throw ClientError(
          .unreachable, "the workers of the local cluster did not join in time",
          hint: .text(folder.endOfLog(of: "opworker-1")))
      }
      try await pause()
    }
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
