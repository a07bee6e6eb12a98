// `opbatch up`, `down` and `status`: a local cluster of this user that stays in the background.
// `BackgroundCluster` starts the daemons and writes down which processes they are; these commands
// decide and print. There is one such cluster for each user of a machine. `Session` has the other
// kind of own cluster, which ends with its command.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Starts the daemons and returns when all workers have joined, or after `--timeout`, 15 s unless
/// given. An `up` that runs already is left as it is, whatever was asked for.
struct Up: Command {
  static let configuration = CommandConfiguration(
    abstract: "Start a local cluster in the background.",
    discussion: "Commands find it by themselves. 'opbatch down' ends it; its journal is kept.")

  @Option(help: "How many workers share this machine.") var workers = 1
  @Option(
    help: ArgumentHelp(
      """
      GPUs to give to operations: a number, or their indices, such as 0,2,3; default: those that \
      this machine has. 'unmanaged': operations see all of them and can ask for none.
      """, valueName: "gpus"))
  var gpus: String?
  @Option(
    help: ArgumentHelp(
      "An amount of a resource to give to operations; may be repeated.",
      valueName: "name=amount"))
  var resource: [Assignment] = []
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func validate() throws {
    // The same bound as `Limits.workersPerMachine`.
    guard (1...64).contains(workers) else { throw ValidationError("--workers is 1 to 64") }
    _ = try offer()
  }

  /// The resources that the workers share. Parsed twice, in `validate` and in `perform`: a command
  /// is a value of its options, and has no room for anything else.
  private func offer() throws(ValidationError) -> SharedOffer {
    let setting = gpus.flatMap { GPUSetting($0) }
    if let gpus, setting == nil {
      throw ValidationError("--gpus: '\(gpus)' is not \(GPUSetting.forms)")
    }
    return SharedOffer(gpus: setting, resources: try resource.namedAmounts())
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    if let running = try BackgroundCluster.running() {
      console.say("already running")
      // Changing it would need new workers, and what they run would be lost.
      if gpus != nil || !resource.isEmpty {
        console.warn("what it offers stays as it is; 'opbatch down' and then 'up' change it")
      }
      try BackgroundCluster.show(running, console)
      return .success
    }
    let deadline = global.timeout?.duration
    let cluster = try await BackgroundCluster.start(
      workers: workers, offer: try offer(), deadline: deadline)
    try BackgroundCluster.show(cluster, console)
    // A configured coordinator comes before the own one: then commands would not reach what was
    // started here.
    if let address = try ClusterAddress.find(flag: global.coordinator, keys: global.keys),
      address.origin != .up
    {
      console.warn(
        "commands go to \(address.text), which \(address.origin.text) names, not to this cluster")
    }
    return .success
  }
}

/// Ends the daemons in order and leaves the journal. Running twice is no error.
struct Down: Command {
  static let configuration = CommandConfiguration(
    abstract: "End the local cluster that 'up' started.",
    discussion: "What runs is stopped and runs again after the next 'opbatch up'.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    guard let cluster = try BackgroundCluster.running() else {
      // Workers may outlive a coordinator that was killed.
      let count = try await BackgroundCluster.endLeftovers()
      console.say(
        count == 0
          ? "no local cluster is running"
          : "ended \(shownCount(count, "worker")) whose coordinator was gone")
      return .success
    }
    // A worker may wait for what KILL does not end (G20).
    guard await cluster.end() else {
      throw Failure(
        .internal, code: "still_running", "a daemon of the local cluster does not end",
        hint: "processes: \(cluster.daemons.map { "\($0.process)" }.joined(separator: " "))")
    }
    console.say("the local cluster has ended; its journal is kept in \(cluster.stateFolder)")
    return .success
  }
}

/// Which cluster commands would go to, in the order in which they would look. Fails as they would
/// where there is none.
struct Status: Command {
  static let configuration = CommandConfiguration(
    abstract: "Say which cluster commands go to, and how it is.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    guard let address = try ClusterAddress.find(flag: global.coordinator, keys: global.keys) else {
      throw Failure(
        .unreachable, code: "unreachable",
        "no coordinator is configured, and none of yours is running on this machine",
        hint: "'opbatch up' starts one")
    }
    let (workers, graphs) = try await withConnection { connection in
      let reader = reader(connection)
      return (
        try await workerRows(connection), try await reader.allGraphs(Selection(graphs: .active))
      )
    }
    // Suspect and absent workers are not counted as there.
    let connected = workers.count { $0.state == .connected }
    switch console.format {
    case .name: try console.writeLine(address.text)
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.field("coordinator", address.text)
          json.field("origin", address.origin.text)
          json.field("workers", workers.count)
          json.field("workers_connected", connected)
          json.field("active_graphs", graphs.count)
        })
    case .table:
      try console.writeLine("coordinator  \(safe(address.text)) (\(address.origin.text))")
      try console.writeLine("workers      \(connected) of \(workers.count) connected")
      try console.writeLine("graphs       \(shownCount(graphs.count)) active")
      if address.origin == .up, let cluster = try BackgroundCluster.running() {
        try BackgroundCluster.showDaemons(cluster, console)
      }
    }
    return .success
  }
}

extension BackgroundCluster {
  /// The address is what other programs need, so that `-o name` is just that.
  static func show(_ cluster: BackgroundCluster, _ console: Console) throws {
    switch console.format {
    case .name: try console.writeLine(cluster.address)
    case .json, .jsonl:
      try console.write(
        jsonDocument { json in
          json.field("coordinator", cluster.address)
          json.array("daemons") { json in
            for daemon in cluster.daemons {
              json.object { json in
                json.field("name", daemon.name)
                json.field("process", daemon.process)
              }
            }
          }
        })
    case .table:
      try console.writeLine("coordinator  \(cluster.address)")
      try showDaemons(cluster, console)
      console.hint("opbatch demo, opbatch submit FILE, opbatch down")
    }
  }

  /// Process numbers, logs and state, for those who look at the machine.
  static func showDaemons(_ cluster: BackgroundCluster, _ console: Console) throws {
    let names = cluster.daemons.map { "\($0.name) (\($0.process))" }
    try console.writeLine("daemons      \(names.joined(separator: ", "))")
    try console.writeLine("logs         \(cluster.filesFolder)")
    try console.writeLine("state        \(cluster.stateFolder)")
  }
}
