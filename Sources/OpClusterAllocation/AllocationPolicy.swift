// How many jobs an allocation has in its batch system: a pure machine. It is told what waits, which
// jobs are listed and which workers are there, and says what to submit and what to take back.

package import OpClusterModel

/// Operations that wait for room, all with the same needs.
package struct WaitingOperations: Equatable, Sendable {
  package var count: UInt32
  package var demand: Resources
  package var requirements: [LabelRequirement]

  package init(count: UInt32, demand: Resources, requirements: [LabelRequirement] = []) {
    self.count = count
    self.demand = demand
    self.requirements = requirements
  }
}

extension WaitingOperations {
  /// What counts for a submitter that waits for a worker to leave files with: one, of any size.
  package static let ofFiles = WaitingOperations(count: 1, demand: .none)

  /// The graphs whose operations may wait for room: the first ``Limits/graphsLookedAt``, so that
  /// one look has a bound. More would hardly say more. Costs the graphs.
  package static func graphs(worthALook rows: [GraphRow]) -> [GraphID] {
    rows.lazy.filter { $0.state == .running && $0.counts[.ready] > 0 }
      .prefix(Limits.graphsLookedAt).map(\.graph)
  }
}

/// A worker of an allocation: what it offers.
package struct OfferedWorker: Equatable, Sendable {
  package var name: String
  package var capacity: Resources
  package var labels: [Label]
  /// Whether it runs nothing.
  package var isIdle: Bool

  package init(name: String, capacity: Resources, labels: [Label], isIdle: Bool) {
    self.name = name
    self.capacity = capacity
    self.labels = labels
    self.isIdle = isIdle
  }
}

/// What an allocation does next.
package enum AllocationAction: Equatable, Sendable {
  case submit(staysIdle: Bool)
  /// Takes back jobs that have not begun, and that nothing needs any more.
  case withdraw([JobNumber])
}

/// The state of an allocation, and its rules.
///
/// A worker's size is known when the first has joined: until then there is one job at a time. A job
/// that ends before its worker has joined is a failed start: the next one waits, twice as long each
/// time, and after ``mostFailures`` in a row the allocation halts until somebody starts it again.
///
/// What waits may wait for something else than room: for its queue's limit, say. So nothing is
/// submitted while a worker of the allocation is idle, and a worker that leaves without having run
/// anything is followed by a pause as a failed start is, but never by a halt.
package struct AllocationPolicy: Codable, Sendable {
  /// Failed starts in a row after which it halts.
  package static let mostFailures = 5
  /// Jobs that are submitted at one look.
  package static let submissionsPerLook = 10
  /// The wait after the first failed start, in seconds, and the longest.
  private static let firstPause: Int64 = 30
  private static let longestPause: Int64 = 3_600

  /// A job that was submitted and has not ended.
  struct Job: Codable, Sendable {
    var staysIdle: Bool
    /// Whether its worker has joined.
    var hasJoined = false
    /// Whether its worker was seen with something to run.
    var hasWorked = false
    var isRunning = false
    /// When it was submitted, in seconds: the list may be older.
    var submittedAt: Int64

    var isWaiting: Bool { !isRunning && !hasJoined }
  }

  package private(set) var failures = 0
  package private(set) var isHalted = false
  /// Why the newest start failed; empty: it did not.
  package private(set) var problem = ""
  private var pausedUntil: Int64 = 0
  /// Workers in a row that left without having run anything.
  private var fruitless = 0
  /// Whether a worker of this allocation runs nothing.
  private var hasIdle = false
  private var jobs: [JobNumber: Job] = [:]
  /// What a worker of this allocation offers, once one has joined.
  private var offer: Offer?

  fileprivate struct Offer: Codable, Sendable {
    var cpus: Int64
    var memoryBytes: Int64
    var gpus: Int64
    var custom: [String: Int64]
    var labels: [String: String]
  }

  package init() {}

  package var runningJobs: Int { jobs.values.count { $0.isRunning } }
  package var pendingJobs: Int { jobs.values.count { !$0.isRunning } }
  package var jobNumbers: [JobNumber] { jobs.keys.sorted() }

  // MARK: - Facts

  package mutating func submitted(_ job: JobNumber, staysIdle: Bool, at now: Int64) {
    jobs[job] = Job(staysIdle: staysIdle, submittedAt: now)
  }

  /// The batch system has refused a job.
  package mutating func refused(_ reason: String, at now: Int64) { fail(reason, at: now) }

  /// Somebody has looked at what was wrong.
  package mutating func start() {
    (failures, isHalted, problem, pausedUntil, fruitless) = (0, false, "", 0, 0)
  }

  private mutating func fail(_ reason: String, at now: Int64) {
    problem = reason
    failures = Self.onceMore(failures)
    isHalted = failures >= Self.mostFailures
    pausedUntil = now.saturatingAdd(Self.pause(after: failures))
  }

  private static func pause(after times: Int) -> Int64 {
    min(longestPause, firstPause << Int64(min(max(times, 1), 17) - 1))
  }

  /// Its counts come from a file: they may be any number.
  private static func onceMore(_ times: Int) -> Int { min(max(times, 0), 1_000) + 1 }

  /// Takes the list of jobs and the workers that are there. Costs the jobs and the workers.
  /// - Parameter listed: nil: the batch system did not answer; nothing is concluded from that.
  /// - Returns: What has happened, for the allocation's log.
  package mutating func note(
    _ listed: [ListedJob]?, _ workers: [OfferedWorker], of allocation: String, at now: Int64
  ) -> [String] {
    var lines: [String] = []
    let names = Dictionary(workers.map { ($0.name, $0) }) { first, _ in first }
    hasIdle = false
    for (number, job) in jobs {
      let name = SlurmJobs.workerName(of: number, in: allocation)
      guard let worker = names[name] else { continue }
      if worker.isIdle {
        hasIdle = true
      } else {
        jobs[number]?.hasWorked = true
        fruitless = 0
      }
      if job.hasJoined { continue }
      jobs[number]?.hasJoined = true
      offer = Offer(worker)
      (failures, problem, pausedUntil) = (0, "", 0)
      lines.append("job \(number) serves as the worker \(name)")
    }
    guard let listed else { return lines }
    let present = Dictionary(listed.map { ($0.number, $0) }) { first, _ in first }
    for (number, job) in jobs.sorted(by: { $0.key < $1.key }) {
      if let listed = present[number] {
        jobs[number]?.isRunning = listed.isRunning
        continue
      }
      // The list may be from before its submission.
      if now.saturatingSubtract(job.submittedAt) < Self.listDelay { continue }
      jobs[number] = nil
      if job.hasJoined {
        lines.append("job \(number) has ended")
        if job.hasWorked || job.staysIdle { continue }
        fruitless = Self.onceMore(fruitless)
        pausedUntil = max(pausedUntil, now.saturatingAdd(Self.pause(after: fruitless)))
      } else {
        fail(
          "job \(number) ended before its worker joined; 'opbatch alloc log \(allocation) --job "
            + "\(number)' has its output", at: now)
      }
    }
    // Jobs of an earlier life, whose submission was not written down.
    for job in listed where jobs[job.number] == nil {
      jobs[job.number] = Job(staysIdle: false, isRunning: job.isRunning, submittedAt: now)
      lines.append("job \(job.number) was found in the queue")
    }
    return lines
  }

  /// A job may be missing from the list for so long after its submission, in seconds.
  private static let listDelay: Int64 = 10

  // MARK: - Decisions

  /// What to do now. Costs the kinds of waiting operations and the jobs.
  /// - Parameter now: Seconds of the wall clock.
  package func actions(
    _ settings: AllocationSettings, waiting: [WaitingOperations], at now: Int64
  ) -> [AllocationAction] {
    let coming = jobs.values.count { !$0.hasJoined }
    let needed = hasIdle ? 0 : needed(for: waiting)
    var actions: [AllocationAction] = []
    let lasting = jobs.values.count { $0.staysIdle }
    if !isHalted, now >= pausedUntil {
      let room = max(0, settings.most - jobs.count)
      // Where it is not known that a job helps, one at a time.
      let isTrial = offer == nil || failures > 0 || fruitless > 0
      let atOnce = isTrial ? max(0, 1 - coming) : Self.submissionsPerLook
      let forLeast = max(0, settings.least - lasting)
      let count = min(room, atOnce, max(forLeast, needed - coming))
      for place in 0..<max(0, count) {
        actions.append(.submit(staysIdle: place < forLeast))
      }
    }
    if needed < coming {
      let waiting = jobs.filter { $1.isWaiting && !$1.staysIdle }
      let surplus = waiting.keys.sorted(by: >).prefix(coming - needed)
      if !surplus.isEmpty { actions.append(.withdraw(surplus.sorted())) }
    }
    return actions
  }

  /// Forgets jobs that were taken back: their end is no failed start.
  package mutating func withdrew(_ numbers: [JobNumber]) {
    for number in numbers { jobs[number] = nil }
  }

  /// So many workers would run all that waits, and that they can run.
  private func needed(for waiting: [WaitingOperations]) -> Int {
    guard let offer else { return waiting.contains { $0.count > 0 } ? 1 : 0 }
    var shares = 0.0
    var least = 0
    for kind in waiting where kind.count > 0 && offer.fits(kind) {
      shares += Double(kind.count) * offer.share(of: kind.demand)
      // What takes nothing of a worker needs one all the same.
      least = 1
    }
    // More than any allocation may have says no more.
    return min(max(Int(saturating: shares.rounded(.up)), least), Limits.allocatedJobs)
  }
}

extension AllocationPolicy.Offer {
  fileprivate init(_ worker: OfferedWorker) {
    cpus = worker.capacity.cpus.tenThousandths
    memoryBytes = worker.capacity.memoryBytes
    gpus = worker.capacity.gpus.tenThousandths
    custom = Dictionary(
      worker.capacity.custom.map { ($0.name, $0.amount.tenThousandths) }) { first, _ in first }
    // The next worker may be on another machine.
    let lasting = worker.labels.filter { !["host", "worker"].contains($0.key) }
    labels = Dictionary(lasting.map { ($0.key, $0.value) }) { _, last in last }
  }

  /// Whether a worker without other work could run one.
  fileprivate func fits(_ kind: WaitingOperations) -> Bool {
    let own = labels.map { Label(key: $0.key, value: $0.value) }
    return share(of: kind.demand) <= 1 && kind.requirements.allSatisfy { $0.isMet(by: own) }
  }

  /// The part of a worker that one takes: of what it takes most of. Beyond 1 if it does not fit.
  fileprivate func share(of demand: Resources) -> Double {
    func part(_ wanted: Int64, of offered: Int64) -> Double {
      if wanted <= 0 { return 0 }
      return offered > 0 ? Double(wanted) / Double(offered) : .infinity
    }
    let parts =
      [
        part(demand.cpus.tenThousandths, of: cpus), part(demand.memoryBytes, of: memoryBytes),
        part(demand.gpus.tenThousandths, of: gpus),
      ]
      + demand.custom.map { part($0.amount.tenThousandths, of: custom[$0.name] ?? 0) }
    return parts.max() ?? 0
  }
}
