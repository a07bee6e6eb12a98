// Follows an allocation: looks at the cluster and at the batch system, lets the policy decide, and
// does it. A process of this user on this machine, started by `opbatch alloc add` and `start`.

import ArgumentParser
import OpClusterAllocation
import OpClusterClient
import OpClusterFolders
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Not for people.
struct AllocationFollow: Command {
  static let configuration = CommandConfiguration(
    commandName: "follow", abstract: "Follow an allocation until it is removed.",
    shouldDisplay: false)

  @Argument var name: String
  @OptionGroup var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let place = try AllocationFolder.existing(name)
    if place.isFollowed { return .success }
    let inUse = try place.folder.use()
    defer { withExtendedLifetime(inUse) {} }
    var follower = AllocationFollower(
      place: place, settings: try place.readSettings(), status: try place.readStatus(),
      console: console)
    follower.tellLog("follows")
    while true {
      let begin = ContinuousClock.now
      await look(&follower)
      // A look costs what the active graphs are many: it takes a twentieth of the time at most.
      let pause = max(AllocationFollower.interval, (ContinuousClock.now - begin) * 20)
      let next = ContinuousClock.now + pause
      while ContinuousClock.now < next {
        switch try place.takeRequest() {
        case .start:
          follower.beginAnew()
        case .remove:
          await follower.endAllocation(atOnce: false)
          return .success
        case .removeAtOnce:
          await follower.endAllocation(atOnce: true)
          return .success
        case nil:
          try? await Task.sleep(for: .milliseconds(500))
          continue
        }
        break
      }
    }
  }

  private func look(_ follower: inout AllocationFollower) async {
    do {
      let (waiting, workers) = try await withConnection { connection in
        let reader = Reader(connection: connection, timeout: .seconds(30))
        var waiting = try await reader.waitingOperations()
        // Its operations are submitted once their files are with a worker.
        if case .configuration(let values) = try await ask(connection, .configuration),
          values.storesAreWanted
        {
          waiting.append(.ofFiles)
        }
        return (waiting, try await reader.workers())
      }
      follower.status.clusterProblem = ""
      await follower.act(on: waiting, workers)
    } catch {
      // Nothing is known of what waits, so nothing is changed.
      follower.status.clusterProblem = Failure(shown: error).message
    }
    follower.recordStatus()
  }
}

/// What the follower knows, and how it acts.
struct AllocationFollower {
  /// From one look to the next.
  static let interval = Duration.seconds(5)
  /// For one command of the batch system.
  private static let patience = Duration.seconds(60)

  let place: AllocationFolder
  let settings: AllocationSettings
  var status: AllocationStatus
  let console: Console
  private var told = ""

  init(
    place: AllocationFolder, settings: AllocationSettings, status: AllocationStatus,
    console: Console
  ) {
    self.place = place
    self.settings = settings
    self.status = status
    self.console = console
  }

  private static func seconds() -> Int64 { WallClock.now() / 1_000 }

  /// A line of the allocation's log, with its time.
  func tellLog(_ line: String) {
    console.say("\(rfc3339(WallTime(milliseconds: WallClock.now()))) \(safe(line))")
  }

  mutating func recordStatus() {
    let problem = status.problem
    if problem != told, !problem.isEmpty { tellLog(problem) }
    told = problem
    do {
      try place.record(status)
    } catch {
      tellLog("the status cannot be kept: \(Failure(shown: error).message)")
    }
  }

  mutating func beginAnew() {
    status.policy.start()
    tellLog("starts again")
  }

  /// Runs a command of the batch system.
  /// - Returns: What it wrote; nil if it failed, which `status` then says.
  private mutating func run(_ words: [String], input: String = "") async -> String? {
    // Its answers are read, so they are in no other language, and of no other form.
    let plain = ["LC_ALL=C", "SLURM_TIME_FORMAT=standard"] + words
    let end = await ShortProgram.run(plain, input: input, longest: Self.patience)
    if case .exited(0, let output) = end { return output }
    status.batchProblem = "\(words[0]): \(end.reason)"
    return nil
  }

  /// Costs the kinds of waiting operations, the workers and the jobs.
  mutating func act(on waiting: [WaitingOperations], _ workers: [WorkerRow]) async {
    status.batchProblem = ""
    status.waiting = waiting.reduce(0) { $0.saturatingAdd($1.count) }
    let own = workers.filter { $0.state == .connected }.map {
      OfferedWorker(
        name: $0.name, capacity: $0.capacity, labels: $0.labels,
        isIdle: $0.executing == 0 && $0.held == 0)
    }
    let listed = await run(SlurmJobs.listing(settings.name)).map { SlurmJobs.jobs(in: $0) }
    let news = status.policy.note(listed, own, of: settings.name, at: Self.seconds())
    for line in news { tellLog(line) }
    guard listed != nil else { return }
    for action in status.policy.actions(settings, waiting: waiting, at: Self.seconds()) {
      switch action {
      case .submit(let staysIdle):
        guard await submit(staysIdle: staysIdle) else { return }
      case .withdraw(let numbers):
        guard await run(SlurmJobs.end(numbers, atOnce: true)) != nil else { continue }
        status.policy.withdrew(numbers)
        tellLog("jobs \(numbers.map(String.init).joined(separator: ", ")) are needed no more")
      }
    }
  }

  /// Whether the batch system has taken a job.
  private mutating func submit(staysIdle: Bool) async -> Bool {
    let command = SlurmJobs.submission(settings, folder: place.folder.path)
    let output = await run(command, input: SlurmJobs.script(settings, staysIdle: staysIdle))
    guard let output, let number = SlurmJobs.number(of: output) else {
      let reason = output.map { "sbatch gave no number: \($0)" } ?? status.batchProblem
      status.batchProblem = ""
      status.policy.refused(reason, at: Self.seconds())
      return false
    }
    status.policy.submitted(number, staysIdle: staysIdle, at: Self.seconds())
    // Before anything else: after a crash it is ours.
    recordStatus()
    tellLog("submitted job \(number); \(shownCount(Int(status.waiting), "operation")) waiting")
    return true
  }

  /// Takes back what waits, ends the workers, and forgets the allocation.
  mutating func endAllocation(atOnce: Bool) async {
    let listed = await run(SlurmJobs.listing(settings.name)).map { SlurmJobs.jobs(in: $0) }
    let jobs = listed ?? status.policy.jobNumbers.map { ListedJob(number: $0, isRunning: true) }
    let pending = jobs.filter { atOnce || !$0.isRunning }.map(\.number)
    let running = jobs.filter { !atOnce && $0.isRunning }.map(\.number)
    if !pending.isEmpty { _ = await run(SlurmJobs.end(pending, atOnce: true)) }
    if !running.isEmpty { _ = await run(SlurmJobs.end(running, atOnce: false)) }
    tellLog("removed")
    do {
      try place.removeFolder()
    } catch {
      tellLog("its folder cannot be removed: \(Failure(shown: error).message)")
    }
  }
}

extension ShortProgram.End {
  /// Why it was no success, for people.
  fileprivate var reason: String {
    switch self {
    case .exited(let status, let output):
      output.split(separator: "\n").last.map(String.init) ?? "it ended with status \(status)"
    case .killed(let signal): "it was killed by signal \(signal)"
    case .tookTooLong: "it did not answer within a minute"
    case .notStarted(let reason): reason
    }
  }
}

extension Reader {
  /// What waits for room in the whole cluster, by template. Costs the active graphs with such
  /// operations, at most ``Limits/graphsLookedAt`` of them.
  func waitingOperations() async throws -> [WaitingOperations] {
    let rows = try await allGraphs(Selection(graphs: .active))
    var found: [WaitingOperations] = []
    for graph in WaitingOperations.graphs(worthALook: rows) {
      // It may have ended meanwhile.
      guard let structure = try? await structure(graph) else { continue }
      for stage in structure.stages where stage.counts[.ready] > 0 {
        found.append(
          WaitingOperations(
            count: stage.counts[.ready], demand: stage.demand, requirements: stage.requirements))
      }
    }
    return found
  }
}
