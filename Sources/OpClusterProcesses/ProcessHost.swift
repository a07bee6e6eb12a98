// Owns the operations' process trees of one worker: starts them, learns of their ends, and keeps
// every tree until nothing of it is left. Lives on the worker's loop thread, which polls
// `descriptor` and calls `collectEnded` when it is readable; nothing here blocks longer than a
// start takes. `ProcessHost+Start.swift` and `ProcessHost+Trees.swift` hold the other two thirds.

import CProcess
import Glibc

/// Starts process trees and surely ends them (G20, G25, G26, G40). Not sendable: the thread that
/// makes it keeps it.
///
/// A process that has a host leaves all waiting for children to it: as a subreaper it is given the
/// orphans of its operations and reaps them, whoever they are. A host that does not adopt orphans
/// waits for what it has started itself and leaves the process's other children to others.
public final class ProcessHost {
  /// Readable when ``collectEnded()`` has something to do. Owned by the host.
  public var descriptor: Int32 { poller.number }

  /// Whether operations get a cgroup of their own.
  public var hasGroups: Bool { groups != nil }

  /// Whether ``ProcessSpecification/memoryLimit`` means anything on this machine.
  public var limitsMemory: Bool { groups?.limitsMemory ?? false }

  /// Whether ``ProcessSpecification/processLimit`` means anything on this machine.
  public var limitsProcesses: Bool { groups?.limitsProcesses ?? false }

  /// What exclusive processes live by; nil: nobody else could have their operations.
  public let lease: ExclusiveLease?

  /// The mark of all that this host starts; the guard needs it.
  public let fence: ProcessFence

  /// Whether the host surely finds and ends all of a tree: by its cgroup, or by a reaper above it,
  /// which has to see its children. Without that nothing can be promised of what is exclusive.
  public let endsTrees: Bool

  /// How many trees exist, ended ones included that are not collected yet.
  public var count: Int { running.count }

  /// How long the host tries to kill what a main process left, before it says so: 10 seconds.
  public static let settlingLimit: Duration = .seconds(10)

  /// Ends handled by one call of ``collectEnded()`` at most.
  static let turnLimit = 256

  /// Files kept open for later processes at most.
  static let idleOutputLimit = 64

  /// Marks the timer among the events; not to be used as a token.
  static let timerToken = UInt64.max
  /// Marks channels to running processes; not to be used as a token either.
  static let channelToken = UInt64.max - 1

  let poller: Descriptor
  let ticker: Ticker
  let nullDevice: Descriptor
  let groups: ProcessGroups?
  let diesWithThread: Bool
  /// What each reaper keeps open, or -1.
  let hold: Int32
  let adoptsOrphans: Bool
  var running: [UInt64: RunningProcess] = [:]
  /// The tokens of main processes that were not waited for yet.
  var tokens: [Int32: UInt64] = [:]
  /// Files that ended processes left untouched, open for the next ones.
  var idleOutputs: [String: OpenOutput] = [:]
  /// Trees with something to kill or to wait for beside the main process.
  var settling: Set<UInt64> = []
  /// What was not taken yet.
  private var survivals: [Survival] = []
  /// ``settlingLimit``, but in tests.
  var patience = settlingLimit

  /// - Parameters:
  ///   - fence: the mark of this run of the worker.
  ///   - groups: which cgroups to use where there are some.
  ///   - diesWithThread: have the kernel kill main processes when the *thread* that started them
  ///     ends. Only for a loop thread that lives as long as the worker.
  ///   - adoptsOrphans: false for a host in somebody else's program: the process does not become a
  ///     subreaper, and children that the host has not started are not touched. Without cgroups a
  ///     tree then is what stays in the main process's group or session, or descends from it. Such
  ///     a host has no lease either: what is exclusive is so by itself.
  ///   - hold: a descriptor that stays open as long as anything of a tree without a cgroup lives,
  ///     whatever becomes of this process; it stays the caller's. -1: none.
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

  /// Keeps the memory of this process, and the keys in it, from core dumps and from what runs under
  /// the same user (G39). Operations are not concerned.
  public static func hideMemory() { _ = op_hide_memory() }

  /// Kills and removes what earlier runs of this worker left, should both a worker and its guard
  /// have been killed, and waits until it is gone: 10 seconds at most. To be called only by the one
  /// worker that holds the name. Returns whether nothing is left.
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

  /// Kills and removes the cgroups of workers that are gone without a trace: neither they nor their
  /// guards live. 2 seconds at most; what cannot be removed, such as another user's, stays.
  public static func removeAbandonedGroups() {
    let deadline = ContinuousClock.now + .seconds(2)
    while ProcessGroups.removeAbandoned(), ContinuousClock.now < deadline {
      _ = poll(nil, 0, 5)
    }
  }

  /// What has ended since the last call: trees of which nothing is left, in no order. At most 256
  /// at a time; while there are more, ``descriptor`` stays readable.
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

  /// What was found since the last call of trees that KILL does not end. To be called after
  /// ``collectEnded()``: of a tree that is collected as ended and left something behind, the
  /// finding comes in the same turn, and its going later.
  public func takeSurvivals() -> [Survival] {
    defer { survivals.removeAll() }
    return survivals
  }

  func note(_ survival: Survival) { survivals.append(survival) }

  /// Cuts the output files that have outgrown their limit. ``collectEnded()`` calls this ten times
  /// a second while a limited process runs, so a caller needs it only to be stricter.
  ///
  /// Operations write their files themselves, so that output costs the worker neither memory nor
  /// time (G26); therefore the limit is not a wall. Files are opened in append mode and cut back
  /// when they are found too long: the first `outputLimit` bytes stay, what comes later is lost,
  /// and the marker is put at the end when the tree is gone. Between two looks the disk can take
  /// as much as the process can write in that time. (A kernel limit, RLIMIT_FSIZE, would bind all
  /// files that the operation writes and kill it.)
  public func limitOutputs() {
    for process in running.values {
      for stream in process.streams { stream.enforce() }
    }
  }

  /// What ends a file that was cut at `limit` bytes.
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

  /// Takes what the kernel has reported; true if the timer was among it.
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

  /// Sees to children whose descriptors have not told of their end.
  private func reap(ticked: Bool) {
    if adoptsOrphans { return reapOrphans() }
    // Only those that could not be watched are found in this way.
    if ticked { for token in Array(running.keys) { noteMainEnd(token) } }
  }

  /// Makes ``descriptor`` readable while the channel has something to take, until it is closed.
  public func watch(_ channel: FrameChannel) -> Bool {
    poller.watch(channel.descriptor, token: Self.channelToken)
  }

  /// Waits for the main process if it has ended, and lets the rest of its tree be seen to.
  func noteMainEnd(_ token: UInt64) {
    guard let process = running[token], process.mainEnd == nil else { return }
    let number = process.child
    // The claim goes first: once waited for, the number may come back as somebody else.
    ChildClaims.release(number)
    guard let end = MainEnd.collect(number) else {
      ChildClaims.claim(number, as: .operation)
      return
    }
    tokens[number] = nil
    process.mainEnd = end
    process.descriptor = nil
    process.killedAt = process.killedAt ?? .now
    settling.insert(token)
  }

  /// The timer runs only while it is needed: fast while something is being killed, slower while
  /// something runs, and a little longer than anything runs, for orphans on their last breath.
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
