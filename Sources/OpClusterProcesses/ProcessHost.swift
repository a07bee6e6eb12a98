// Owns the process trees of one worker's operations: starts them, learns of their ends, and keeps
// every tree until nothing of it is left. Lives on the worker's loop thread, which polls
// `descriptor` and calls `collectEnded` when it is readable. Nothing here blocks longer than a
// start takes. `ProcessHost+Start.swift` and `ProcessHost+Trees.swift` hold the other two thirds.

import CProcess
import Glibc

/// Starts process trees and reliably ends them (G20, G25, G26, G40). Not sendable: it stays on the
/// thread that makes it.
///
/// A process with a host leaves all waiting for children to it: as a subreaper it gets the orphans
/// of its operations and reaps them all. A host that does not adopt orphans waits only for
/// processes that it started, and leaves the process's other children to others.
public final class ProcessHost {
  /// Readable if ``collectEnded()`` has work. Owned by the host.
  public var descriptor: Int32 { poller.number }

  /// Whether operations get a cgroup of their own.
  public var hasGroups: Bool { groups != nil }

  /// Whether ``ProcessSpecification/memoryLimit`` has an effect on this machine.
  public var limitsMemory: Bool { groups?.limitsMemory ?? false }

  /// Whether ``ProcessSpecification/processLimit`` has an effect on this machine.
  public var limitsProcesses: Bool { groups?.limitsProcesses ?? false }

  /// The lease of exclusive processes; nil: nobody else could get their operations.
  public let lease: ExclusiveLease?

  /// The mark of all processes of this host; the guard needs it.
  public let fence: ProcessFence

  /// Whether the host certainly finds and ends all of a tree: by its cgroup, or by a reaper above
  /// it that can see its children. Without that, exclusive operations cannot be guaranteed.
  public let endsTrees: Bool

  /// The number of trees, including ended ones that are not collected.
  public var count: Int { running.count }

  /// How long the host tries to kill the rest of a tree before it reports it: 10 seconds.
  public static let settlingLimit: Duration = .seconds(10)

  /// Maximum ends that one call of ``collectEnded()`` handles.
  static let turnLimit = 256

  /// Maximum files kept open for later processes.
  static let idleOutputLimit = 64

  /// So many times a reaper is found stopped while its tree is killed before it is killed itself:
  /// after a second.
  static let stopLimit = 100

  /// Marks the timer among the events; not allowed as a token.
  static let timerToken = UInt64.max
  /// Marks channels to running processes; not allowed as a token.
  static let channelToken = UInt64.max - 1

  let poller: Descriptor
  let ticker: Ticker
  let nullDevice: Descriptor
  let groups: ProcessGroups?
  let diesWithThread: Bool
  /// The descriptor that each reaper keeps open, or -1.
  let hold: Int32
  let adoptsOrphans: Bool
  var running: [UInt64: RunningProcess] = [:]
  /// The tokens of main processes that were not waited for.
  var tokens: [Int32: UInt64] = [:]
  /// Files that ended processes left untouched, open for later ones.
  var idleOutputs: [String: OpenOutput] = [:]
  /// Trees with processes to kill or to wait for besides the main process.
  var settling: Set<UInt64> = []
  /// The survivals that were not taken.
  private var survivals: [Survival] = []
  /// ``settlingLimit``, except in tests.
  var patience = settlingLimit

  /// - Parameters:
  ///   - fence: The mark of this run of the worker.
  ///   - groups: The cgroups to use if there are any.
  ///   - diesWithThread: The kernel kills main processes when the *thread* that started them ends.
  ///     Only for a loop thread that lives as long as the worker.
  ///   - adoptsOrphans: false for a host in another program: the process does not become a
  ///     subreaper, and children that the host has not started are not touched. Without cgroups a
  ///     tree then consists of the processes in the main process's group or session, and of its
  ///     descendants. Such a host has no lease either: its exclusive operations are exclusive
  ///     anyway.
  ///   - hold: A descriptor that stays open as long as a process of a tree without a cgroup lives,
  ///     even after this process; it stays the caller's. -1: none.
  /// - Throws: `SpawnError` if the machine has no descriptor or memory left.
  public init(
    fence: ProcessFence, groups use: CgroupUse = .all, diesWithThread: Bool = true,
    adoptsOrphans: Bool = true, hold: Int32 = -1
  ) throws(SpawnError) {
    let number = op_poller_make()
    guard number >= 0 else { throw .refused(step: "watch processes", error: -number) }
    let poller = Descriptor(number)
    guard let ticker = Ticker() else { throw .refused(step: "make a timer", error: errno) }
    guard let nullDevice = Descriptor.open("/dev/null", O_RDWR) else {
      throw .file(path: "/dev/null", error: errno)
    }
    let error = adoptsOrphans ? op_become_subreaper() : 0
    guard error == 0 else { throw .refused(step: "adopt orphans", error: error) }
    guard poller.watch(ticker.descriptor, token: Self.timerToken) else {
      throw .refused(step: "watch a timer", error: errno)
    }
    self.fence = fence
    self.poller = poller
    self.ticker = ticker
    self.nullDevice = nullDevice
    self.diesWithThread = diesWithThread
    self.adoptsOrphans = adoptsOrphans
    self.hold = hold
    lease = adoptsOrphans ? ExclusiveLease() : nil
    guard lease != nil || !adoptsOrphans else {
      throw .refused(step: "share memory with the guard", error: errno)
    }
    groups =
      use == .none
      ? nil : ProcessGroups(fence: fence, use: use, lease: lease, movesSelf: adoptsOrphans)
    endsTrees = groups != nil || (adoptsOrphans && op_can_list_children())
  }

  deinit {
    _ = endAll(within: .seconds(2))
    for process in tokens.keys { ChildClaims.release(process) }
  }

  /// Hides the memory of this process, and the keys in it, from core dumps and from processes of
  /// the same user (G39). Has no effect on operations.
  public static func hideMemory() { _ = op_hide_memory() }

  /// Kills and removes the processes of earlier runs of this worker, in case both a worker and its
  /// guard were killed; waits at most 10 seconds. Only the one worker that holds the name may call
  /// it. Returns whether nothing is left.
  @discardableResult
  public static func removeLeftovers(worker: String) -> Bool {
    guard ProcessFence.isName(worker) else { return true }
    let deadline = ContinuousClock.now + settlingLimit
    while true {
      let hadGroups = ProcessGroups.removeLeftovers(worker: worker)
      let found = unsafe op_kill_marked(ProcessFence.workerEntry(worker))
      if !hadGroups, found == 0 { return true }
      guard ContinuousClock.now < deadline else { return false }
      _ = poll(nil, 0, 5)
    }
  }

  /// Kills and removes the cgroups of workers that have ended together with their guards. Waits at
  /// most 2 seconds. Folders that cannot be removed, such as another user's, stay.
  public static func removeAbandonedGroups() {
    let deadline = ContinuousClock.now + .seconds(2)
    while ProcessGroups.removeAbandoned(), ContinuousClock.now < deadline {
      _ = poll(nil, 0, 5)
    }
  }

  /// Returns the trees of which nothing is left since the last call, in no order; at most 256 at a
  /// time. ``descriptor`` stays readable while there are more.
  public func collectEnded() -> [EndedProcess] {
    let ticked = takeEvents()
    reap(ticked: ticked)
    var ended: [EndedProcess] = []
    for token in settling {
      if let end = settle(token) { ended.append(end) }
    }
    if !ended.isEmpty, adoptsOrphans { reapOrphans() }
    if ticked { limitOutputs() }
    adjustTicker(ticked: ticked)
    return ended
  }

  /// Returns the findings about trees that KILL does not end since the last call. Call it after
  /// ``collectEnded()``: if a tree is collected as ended and left something behind, the finding
  /// comes in the same turn, and its end later.
  public func takeSurvivals() -> [Survival] {
    defer { survivals.removeAll() }
    return survivals
  }

  func note(_ survival: Survival) { survivals.append(survival) }

  /// Cuts the output files that exceed their limit. ``collectEnded()`` calls this ten times a
  /// second while a limited process runs, so a caller needs it only to be stricter.
  ///
  /// Operations write their files themselves, so that output costs the worker neither memory nor
  /// time (G26). Therefore the limit is not strict: files are opened in append mode and cut when
  /// they are found too long. The first `outputLimit` bytes stay, later ones are lost, and the
  /// marker is appended when the tree is gone. Between two checks the disk takes as much as the
  /// process can write. (A kernel limit, RLIMIT_FSIZE, would apply to all files of the operation
  /// and kill it.)
  public func limitOutputs() {
    for process in running.values {
      for stream in process.streams { stream.enforce() }
    }
  }

  /// The text at the end of a file that was cut at `limit` bytes.
  public static func cutMarker(_ limit: Int) -> String {
    "\n[output cut at \(limit) bytes]\n"
  }

  /// Kills all trees and waits until they are gone or the time is over. For the worker's orderly
  /// end; the guard does the same for any other end.
  public func endAll(within limit: Duration) -> [EndedProcess] {
    let deadline = ContinuousClock.now + limit
    var ended: [EndedProcess] = []
    for process in running.values { killTree(process.reference) }
    while !running.isEmpty && ContinuousClock.now < deadline {
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&request, 1, 20)
      ended += collectEnded()
    }
    return ended
  }

  /// Takes the kernel's events; returns whether the timer was among them.
  private func takeEvents() -> Bool {
    var ticked = false
    for token in poller.readyTokens(upTo: Self.turnLimit) {
      if token == Self.timerToken {
        ticker.acknowledge()
        ticked = true
      } else {
        noteMainEnd(token)
      }
    }
    return ticked
  }

  /// Handles children whose descriptors have not reported their end.
  private func reap(ticked: Bool) {
    if adoptsOrphans {
      if ticked { wakeReapers() }
      return reapOrphans()
    }
    // Finds only the children that could not be watched.
    if ticked { for token in Array(running.keys) { noteMainEnd(token) } }
  }

  /// Makes ``descriptor`` readable while the channel has data, until the channel is closed. Returns
  /// whether that succeeded.
  public func watch(_ channel: FrameChannel) -> Bool {
    poller.watch(channel.descriptor, token: Self.channelToken)
  }

  /// Waits for the main process if it has ended, and begins to settle the rest of its tree.
  func noteMainEnd(_ token: UInt64) {
    guard let process = running[token], process.mainEnd == nil else { return }
    let number = process.child
    guard let end = ChildClaims.collect(number, { MainEnd.collect(number) }) else { return }
    tokens[number] = nil
    process.mainEnd = end
    process.descriptor = nil
    process.killedAt = process.killedAt ?? .now
    settling.insert(token)
  }

  /// Runs the timer only while it is needed: fast during a kill, slower while something runs, and a
  /// little longer after that, for last orphans.
  func adjustTicker(ticked: Bool) {
    if let rounds = settling.lazy.compactMap({ self.running[$0]?.rounds }).min() {
      ticker.set(rounds < 50 ? 2 : rounds < 100 ? 20 : 1_000)
    } else if !running.isEmpty {
      let limited = running.values.contains { $0.streams.contains { $0.isLimited } }
      ticker.set(limited ? 100 : 500)
    } else if ticked {
      ticker.idle()
    }
  }
}
