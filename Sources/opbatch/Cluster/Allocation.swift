// `opbatch alloc …`: workers that come as jobs of a batch system while operations wait. Each
// allocation is followed by a process of its own, as this user, on this machine: the one from which
// jobs can be submitted.

import ArgumentParser
import OpClusterAllocation
import OpClusterClient
import OpClusterFolders
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

struct Allocation: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alloc",
    abstract: "Let workers come as jobs of a batch system.",
    subcommands: [
      AllocationAdd.self, AllocationList.self, AllocationRemove.self, AllocationStart.self,
      AllocationLog.self, AllocationFollow.self,
    ])
}

/// A range of numbers: `1-8`, or `8` for `0-8`.
struct JobRange: ExpressibleByArgument, Equatable, Sendable {
  var least: Int
  var most: Int

  init?(argument: String) {
    let parts = argument.split(separator: "-", omittingEmptySubsequences: false)
      .map { UInt16($0).map(Int.init) }
    switch parts.count {
    case 1: (least, most) = (0, parts[0] ?? 0)
    case 2: (least, most) = (parts[0] ?? -1, parts[1] ?? 0)
    default: return nil
    }
    guard least >= 0, most >= max(1, least), most <= Limits.allocatedJobs else { return nil }
  }
}

struct AllocationAdd: Command {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Submit a worker as a job whenever operations wait for room.",
    discussion: """
      A job is one worker. It comes when operations wait that it could run, leaves when it has had \
      nothing to do for --idle, and drains before its time is over. The first job shows what a \
      worker offers; until it has joined there is one at a time. Jobs that fail at their start are \
      tried again ever more slowly, and after five nothing more is submitted.

      What follows -- goes to sbatch: what each job asks for.

      Example:
        opbatch alloc add slurm --time 1h --workers 0-8 -- --partition main -c 16 --mem 60G
      """)

  @Argument(help: "The batch system: slurm.") var system: String
  @Option(help: "The time of a job, such as 30m or 4h.") var time: TimeLength
  @Option(
    help: ArgumentHelp(
      "Jobs at a time: so many are kept, and so many there may be.", valueName: "least-most"))
  var workers: JobRange
  @Option(help: "A worker without work leaves after this time.")
  var idle = TimeLength(milliseconds: 300_000)
  @Option(help: "Names the allocation, its jobs and its workers.") var name = "slurm"
  @Option(
    help: ArgumentHelp(
      "Where workers find the coordinator, if their own configuration does not say.",
      valueName: "address"))
  var workerCoordinator: String?
  @Option(
    help: ArgumentHelp(
      "The folder of a worker's key on the nodes, whose name is the beginning of the workers'.",
      valueName: "folder"))
  var workerKeys: String?
  @Option(
    help: ArgumentHelp(
      "The path of opworker on the nodes; default: the one beside this program.",
      valueName: "path"))
  var worker: String?
  @Flag(help: "Let workers be root, if you are.") var allowRoot = false
  @Argument(
    parsing: .postTerminator, help: ArgumentHelp("For sbatch.", valueName: "sbatch-argument"))
  var arguments: [String] = []
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func validate() throws {
    guard system == "slurm" else { throw ValidationError("'\(system)' is not supported; slurm is") }
    guard Names.isName(name), name.utf8.count <= 32 else {
      throw ValidationError("--name is 1 to 32 letters, digits, '.', '_' and '-'")
    }
    guard (60_000...31_536_000_000).contains(time.milliseconds) else {
      throw ValidationError("--time is a minute to a year")
    }
    guard (1_000...31_536_000_000).contains(idle.milliseconds) else {
      throw ValidationError("--idle is a second to a year")
    }
    if let refusal = SlurmJobs.refusal(of: arguments) { throw ValidationError(refusal) }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    let place = AllocationFolder(name)
    guard try !AllocationFolder.listAll().contains(where: { $0.name == name }) else {
      throw Failure(
        .usage, code: "allocation_exists", "there is an allocation '\(safe(name))' already",
        hint: "give this one another --name, or 'opbatch alloc rm \(safe(name))' first")
    }
    guard case .exited(0, _) = await ShortProgram.run(
      ["sbatch", "--version"], input: "", longest: .seconds(30))
    else {
      throw Failure(
        .usage, code: "no_slurm", "'sbatch' does not run on this machine",
        hint: "add the allocation where you submit jobs of Slurm")
    }
    // A wrong address is told here, and not in a log.
    try await withConnection { _ in }
    let settings = AllocationSettings(
      name: name, least: workers.least, most: workers.most, seconds: time.milliseconds / 1_000,
      idleSeconds: idle.milliseconds / 1_000, arguments: arguments, program: try program(),
      coordinator: workerCoordinator, workerKeys: workerKeys, allowsRoot: allowRoot)
    try place.record(settings)
    try await startFollower(of: place, console)
    return .success
  }

  private func program() throws -> String {
    if let worker { return worker }
    return try ClusterFolder.executable("opworker")
  }
}

extension Command {
  /// Starts the process that follows an allocation, and waits until it is at work.
  func startFollower(of place: AllocationFolder, _ console: Console) async throws {
    var words = ["opbatch", "alloc", "follow", place.name]
    if let coordinator = global.coordinator { words += ["--coordinator", coordinator] }
    if let keys = global.keys { words += ["--keys", keys] }
    let log = place.folder.file(AllocationFolder.logName)
    try ShortProgram.leave("/proc/self/exe", words, input: [], log: log)
    let deadline = ContinuousClock.now + .seconds(10)
    while !place.isFollowed {
      guard ContinuousClock.now < deadline else {
        throw Failure(
          .internal, code: "not_followed", "nothing follows the allocation '\(safe(place.name))'",
          hint: "its log says why: \(safe(log))")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    switch console.format {
    case .table: console.say("allocation \(safe(place.name)) is followed from this machine")
    case .name, .json, .jsonl: break
    }
    if console.format == .name { try console.writeLine(place.name) }
  }
}
