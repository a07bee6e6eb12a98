// The worker's own folder: its lock, and the files of running and ended attempts. Used on the loop
// thread.
//
//   SCRATCH/lock             held by the one worker that uses the folder
//   SCRATCH/trees            held by the worker and by the reapers of its processes: the next
//                            worker waits for them
//   SCRATCH/slots/3/         OP_SCRATCH of the command in slot 3, and its working directory if it
//                            names none; emptied for the next command. A slot that cannot be
//                            emptied is never used again
//   SCRATCH/slots/3.out .err its streams while it runs
//   SCRATCH/slots/3.values   OP_OUTPUT, made by the command if it has any
//   SCRATCH/slots/3.cancelled  OP_CANCELLED, appears when the command is asked to stop
//   SCRATCH/12/7.1.out .err  streams of the ended attempt 1 of operation 7 of graph 12: only
//                            written ones, or a link if the command sent them elsewhere
//   SCRATCH/tasks/12.7.1/    of a registered operation that asks for a folder
//   SCRATCH/tasks/12.7.1.3/  of one that is block 3 of an attempt
//   SCRATCH/tasks/1000/      has those of operations that run as account 1000
//   SCRATCH/inputs/12.7.1/   contents of other operations that a running attempt reads
//   SCRATCH/store/           the worker's store; it stays
//
// If operations run as other accounts than the worker, these may pass the folders but not list or
// change them. The worker makes everything that they write (a slot, its files, logs) and gives it
// to them. A slot serves one account for ever.
//
// Slots are reused because making and removing a folder and two files costs a third of starting a
// small program, on ext4 with discard more than that. A command that writes nothing leaves its slot
// unchanged.

import Glibc
package import Logging
package import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// The files of a running command.
struct SlotPaths: Sendable {
  let number: Int
  let folder: String
  let output: String
  let error: String
  let values: String
  let cancelled: String
  /// The owner of the slot and its content; nil: the worker.
  let account: LocalAccount?
  /// The state of the folder when it was seen empty; nil: check the folder after use.
  var emptyState: Folders.State?
  /// The files beside the folder.
  var files: [String] { [output, error, values, cancelled] }
  /// The files beside the folder that the command writes.
  var written: [String] { [output, error, values] }

  init(_ number: Int, in scratch: String, of account: LocalAccount?) {
    self.number = number
    self.account = account
    folder = "\(scratch)/slots/\(number)"
    output = folder + ".out"
    error = folder + ".err"
    values = folder + ".values"
    cancelled = folder + ".cancelled"
  }
}

/// What has become of a child's files when its attempt ended.
enum KeptStreams {
  /// Nothing was written; the next attempt finds them empty.
  case untouched
  /// Some are to be made anew.
  case incomplete
  /// What the attempt wrote is still there: nothing else may run in the child.
  case stuck
}

/// The files of a child process's output: of whichever attempt it runs, as long as that runs.
struct ChildStreams: Sendable {
  /// What the names of both files begin with.
  let beginning: String
  var output: String { beginning + ".out" }
  var error: String { beginning + ".err" }
  /// The file of a stream.
  subscript(_ stream: LogStream) -> String { stream == .standardOutput ? output : error }
}

/// The scratch folder, locked as long as this object lives.
package final class Scratch {
  package let path: String
  private let lock: Int32
  /// Stays open in each reaper (`ProcessHost`).
  package let trees: Int32
  private let root: RootFolder
  /// Free slots by their account (nil: the worker), the last used first: the kernel still caches
  /// its folder.
  private var free: [UInt32?: [SlotPaths]] = [:]
  /// Whether operations run as other accounts than the worker's: these may only pass the folder.
  private let isPassed: Bool
  private var slots = 0
  /// Graphs whose folder exists.
  private var graphs: Set<UInt32> = []
  /// Whether there may be logs of attempts whose numbers come again: from a coordinator with a
  /// restored journal, or from another one.
  private var hasOldLogs = false

  private let logger: Logger
  private let sweeper: FolderSweeper

  /// Makes and locks the folder.
  package init(
    _ path: String, runAs: OperationAccount = .worker, logger: Logger
  ) throws(WorkerError) {
    self.logger = logger
    isPassed = runAs.isForeign
    sweeper = FolderSweeper(logger: logger)
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      throw WorkerError(.configuration, "--scratch '\(path)' is not an absolute path")
    }
    do throws(Folders.Problem) {
      try Folders.makePrivate(path, isPassed: runAs.isForeign)
    } catch {
      throw WorkerError(error.isUnsafe ? .unsafeFolder : .machine, error.description)
    }
    lock = unsafe open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else {
      throw WorkerError(.machine, Folders.problem("cannot open '\(path)/lock'").description)
    }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw WorkerError(
        .inUse, "another worker uses '\(path)'; give each worker a --name or --scratch of its own")
    }
    trees = unsafe open("\(path)/trees", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard trees >= 0, let root = RootFolder(path) else {
      close(lock)
      if trees >= 0 { close(trees) }
      throw WorkerError(.machine, Folders.problem("cannot open '\(path)'").description)
    }
    // Every file of an operation is opened in this way, so a worker without it would fail all
    // operations.
    guard root.touch("lock") != ENOSYS else {
      close(lock)
      close(trees)
      throw WorkerError(
        .configuration,
        "openat2(2) is closed to this process; it takes Linux 5.6, and under systemd a unit "
          + "without RestrictSUIDSGID, which hides it")
    }
    self.root = consume root
    self.path = path
    try checkWay(for: runAs)
  }

  /// Returns a path relative to the scratch folder.
  func relative(_ inner: String) -> String { String(inner.dropFirst(path.count + 1)) }

  /// Makes an empty file; a flag for a running command.
  func touch(_ inner: String) { _ = root.touch(relative(inner)) }

  deinit {
    close(lock)
    close(trees)
  }

  /// Waits until every process tree of an earlier worker with a reaper has ended; false if the time
  /// is over first.
  package func awaitTrees(within limit: Duration) -> Bool {
    let deadline = ContinuousClock.now + limit
    while flock(trees, LOCK_EX | LOCK_NB) != 0 {
      guard ContinuousClock.now < deadline else { return false }
      _ = poll(nil, 0, 5)
    }
    return flock(trees, LOCK_SH) == 0
  }

  /// Returns the name that marks the worker's processes. It depends on the folder: a worker of
  /// another cluster on this machine may have the same name, and its processes must not be touched.
  package func fenceName(worker: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return worker.prefix(100) + "." + String(hash, radix: 16)
  }

  /// Removes the unfinished files of an earlier worker; its logs stay. Call it only when no process
  /// of that worker runs.
  package func clear() throws(WorkerError) {
    do throws(Folders.Problem) {
      for name in ["slots", "tasks", "inputs"] {
        if !Folders.removeTree("\(path)/\(name)") {
          let cause = Folders.problem("cannot clear '\(path)/\(name)'")
          logger.error("\(cause); what is left there is not used")
        }
        try Folders.make("\(path)/\(name)", isPassed: isPassed)
      }
      hasOldLogs = Folders.names(in: path).contains { UInt32($0) != nil }
    } catch {
      throw WorkerError(.machine, error.description)
    }
  }

  /// Whether the disk has practically no room left.
  var isDiskFull: Bool {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0, status.f_blocks > 0 else { return false }
    return UInt64(status.f_bavail).saturatingMultiply(UInt64(status.f_frsize)) < 64 << 10
  }

  /// Returns a slot for a new command: a used one, or one with the next free number.
  func takeSlot(for account: LocalAccount? = nil) throws(Folders.Problem) -> SlotPaths {
    let free = free[account?.user]?.popLast()
    let slot: SlotPaths
    if let free { slot = free } else { slot = try makeSlot(for: account) }
    guard let account else { return slot }
    for file in slot.written { try makeFile(file, for: account) }
    return slot
  }

  private func makeSlot(for account: LocalAccount?) throws(Folders.Problem) -> SlotPaths {
    while true {
      let slot = SlotPaths(slots, in: path, of: account)
      let isNew = unsafe mkdir(slot.folder, 0o700) == 0
      guard isNew || errno == EEXIST else {
        throw Folders.problem("cannot make folder '\(slot.folder)'")
      }
      slots += 1
      // A slot of an earlier worker that could not be removed.
      if !isNew, !renew(slot) { continue }
      if isNew { try hand(over: slot.folder, to: account) }
      if removeFiles(of: slot) { return slot }
    }
  }

  /// Takes back the slot of a command of which no process is left. Its logs have been moved
  /// already.
  /// - Parameter isSuspect: The files beside its folder may not be what they should be.
  func giveBack(_ used: SlotPaths, isSuspect: Bool = false) {
    var slot = used
    if isSuspect, !removeFiles(of: slot) { return }
    let began = Folders.State.clock()
    let state = Folders.State(of: slot.folder)
    if let state, state == slot.emptyState { return release(slot) }
    slot.emptyState = nil
    guard let state, state.isPrivate else {
      // The command changed the folder itself.
      if renew(slot) { release(slot) }
      return
    }
    let problem = root.empty(relative(slot.folder), atMost: Limits.entriesRemovedAtOnce)
    guard problem == 0 else { return setAside(slot, problem) }
    // The state does not show a change within the same tick of the kernel's clock.
    if state.changed < began, Folders.State(of: slot.folder) == state { slot.emptyState = state }
    release(slot)
  }

  private func release(_ slot: SlotPaths) { free[slot.account?.user, default: []].append(slot) }

  /// Makes the slot's folder anew; on false the slot is set aside.
  private func renew(_ slot: SlotPaths) -> Bool {
    var problem = root.empty(relative(slot.folder), atMost: Limits.entriesRemovedAtOnce)
    // The same call removes an empty folder and anything that is no folder.
    if [0, ENOENT, ENOTDIR, ELOOP].contains(problem) {
      problem = root.remove(relative(slot.folder))
    }
    if problem == 0, unsafe mkdir(slot.folder, 0o700) != 0 { problem = errno }
    if problem == 0, let account = slot.account {
      problem = root.give(relative(slot.folder), to: account)
    }
    if problem != 0 { setAside(slot, problem) }
    return problem == 0
  }

  /// Removes the files beside a slot's folder; on false the slot is set aside.
  private func removeFiles(of slot: SlotPaths) -> Bool {
    for file in slot.files {
      let problem = root.remove(relative(file))
      guard problem == 0 else {
        setAside(slot, problem)
        return false
      }
    }
    return true
  }

  /// Retires the slot: something of its last command may still be in it.
  func setAside(_ slot: SlotPaths, _ problem: Int32) {
    for file in slot.files { Folders.remove(file) }
    if problem == EAGAIN { return sweeper.remove(slot.folder) }
    errno = problem
    let cause = Folders.problem("cannot empty the scratch folder '\(slot.folder)'")
    logger.error("\(cause); no other operation gets this folder, remove it by hand")
  }

  /// Removes a task's folder at some time.
  func removeLater(_ folder: String) { sweeper.remove(folder) }

  /// Whether no removal runs on another thread.
  var isSwept: Bool { sweeper.isIdle }

  /// Returns the folder of a registered operation's attempt.
  func taskFolder(_ part: Part) -> String {
    Self.taskFolder(part.folderName, in: tasksFolder(of: nil))
  }

  /// The folder of the contents that a running attempt reads.
  func inputFolder(_ attempt: AttemptID) -> String { Self.inputFolder(attempt, in: path) }

  static func inputFolder(_ attempt: AttemptID, in scratch: String) -> String {
    "\(scratch)/inputs/\(Part(attempt: attempt).folderName)"
  }

  /// The folder of the worker's store.
  package var storeFolder: String { "\(path)/store" }

  static func taskFolder(_ name: String, in tasks: String) -> String { "\(tasks)/\(name)" }

  /// Returns the folder in which an account's registered operations make theirs.
  func tasksFolder(of account: LocalAccount?) -> String {
    account.map { "\(path)/tasks/\($0.user)" } ?? "\(path)/tasks"
  }

  /// Makes that folder and returns it.
  func makeTasksFolder(of account: LocalAccount?) throws(Folders.Problem) -> String {
    let folder = tasksFolder(of: account)
    if account != nil, Folders.owner(of: folder) != account?.user {
      try Folders.make(folder)
      try hand(over: folder, to: account)
    }
    return folder
  }

  /// Returns the file of an ended attempt's stream.
  func log(_ attempt: AttemptID, _ stream: LogStream) -> String {
    Self.log(attempt, stream, in: path)
  }

  /// Returns that file with the account whose rights must be used to read it.
  func logPlace(_ attempt: AttemptID, _ stream: LogStream) -> LogPlace {
    let log = log(attempt, stream)
    guard OwnProcess.isRoot, let owner = Folders.owner(of: log), owner != 0 else {
      return LogPlace(path: log, account: nil)
    }
    return LogPlace(path: log, account: .owner(owner))
  }

  static func log(_ attempt: AttemptID, _ stream: LogStream, in scratch: String) -> String {
    let (operation, number) = (attempt.operation, attempt.attempt)
    let suffix = stream == .standardOutput ? "out" : "err"
    return "\(scratch)/\(operation.graph.number)/\(operation.index).\(number).\(suffix)"
  }

  /// Keeps a stream of an ended attempt: moves the slot's file, or links to the real one. An empty
  /// file stays for the slot's next command. `size` is in bytes, if known. Returns whether the
  /// slot's next command certainly begins with an empty file.
  func keep(
    _ file: String, of attempt: AttemptID, _ stream: LogStream, isOwn: Bool, size: Int?,
    for account: LocalAccount? = nil
  ) -> Bool {
    if isOwn, size.map(Int64.init) ?? Folders.size(of: file) ?? 0 == 0 { return true }
    try? makeLogFolder(attempt)
    let log = log(attempt, stream)
    if !isOwn {
      _ = root.link(relative(log), to: file)
      // The owner of the link tells with whose rights to follow it.
      if let account { _ = root.give(relative(log), to: account) }
      return true
    }
    _ = root.move(relative(file), to: relative(log))
    return root.remove(relative(file)) == 0
  }

  /// Makes the log files of streams that are written in their final place.
  func makeLogs(_ attempt: AttemptID, for account: LocalAccount?) throws(Folders.Problem) {
    try makeLogFolder(attempt)
    guard let account else { return }
    for stream in [LogStream.standardOutput, .standardError] {
      try makeFile(log(attempt, stream), for: account)
    }
  }

  private func makeLogFolder(_ attempt: AttemptID) throws(Folders.Problem) {
    let graph = attempt.operation.graph.number
    guard !graphs.contains(graph) else { return }
    try Folders.make("\(path)/\(graph)", isPassed: isPassed)
    graphs.insert(graph)
  }

  /// Makes an empty file for an account that cannot make one here itself, unless it exists.
  private func makeFile(_ file: String, for account: LocalAccount) throws(Folders.Problem) {
    if Folders.owner(of: file) == account.user { return }
    let error = root.touch(relative(file))
    guard error == 0 else {
      errno = error
      throw Folders.problem("cannot make '\(file)'")
    }
    try hand(over: file, to: account)
  }

  private func hand(
    over inner: String, to account: LocalAccount?
  ) throws(Folders.Problem) {
    guard let account else { return }
    errno = root.give(relative(inner), to: account)
    guard errno == 0 else { throw Folders.problem("cannot give '\(inner)' to \(account.name)") }
  }

  /// Checks at the start that the account can reach the folder; otherwise every operation would
  /// fail.
  private func checkWay(for runAs: OperationAccount) throws(WorkerError) {
    var account: LocalAccount?
    switch runAs {
    case .worker: return
    case .fixed(let fixed): account = fixed
    case .submitter: break
    }
    guard let folder = Folders.firstImpassable(on: path, for: account) else { return }
    throw WorkerError(
      .configuration,
      "\(account.map { "'\($0.name)'" } ?? "the account of a submitter") cannot pass \(folder), "
        + "so that it cannot reach what the worker makes for its operations in '\(path)'; name a "
        + "--scratch that everybody can reach, such as \(Folders.sharedScratch(worker: "NAME")), "
        + "or chmod o+x \(folder)")
  }

  /// Makes the files of a child process's output. Files made for each attempt would cost more than
  /// a short function does: nearly all of them stay empty.
  func makeStreams(
    ofChild number: UInt64, for account: LocalAccount?
  ) throws(Folders.Problem) -> ChildStreams {
    try Folders.make("\(path)/children", isPassed: isPassed)
    let streams = ChildStreams(beginning: "\(path)/children/\(number)")
    removeStreams(streams)
    try restore(streams, for: account)
    return streams
  }

  /// Makes those of the files that are not there.
  func restore(_ streams: ChildStreams, for account: LocalAccount?) throws(Folders.Problem) {
    for file in [streams.output, streams.error] {
      if let account {
        try makeFile(file, for: account)
      } else {
        let error = root.touch(relative(file))
        guard error == 0 else {
          errno = error
          throw Folders.problem("cannot make '\(file)'")
        }
      }
    }
  }

  /// Keeps what an ended attempt has written to its child's files.
  func keep(
    _ streams: ChildStreams, of attempt: AttemptID, for account: LocalAccount?
  ) -> KeptStreams {
    var kept = KeptStreams.untouched
    for stream in [LogStream.standardOutput, .standardError] {
      let file = streams[stream]
      switch Folders.content(of: file) {
      case .nothing: continue
      case .some:
        let isFree = keep(file, of: attempt, stream, isOwn: true, size: nil, for: account)
        if !isFree { return .stuck }
      case .givenUp: if root.remove(relative(file)) != 0 { return .stuck }
      case .gone: break
      }
      kept = .incomplete
    }
    return kept
  }

  /// Removes the files of a child that has gone.
  func removeStreams(_ streams: ChildStreams) {
    for file in [streams.output, streams.error] { _ = root.remove(relative(file)) }
  }

  /// Removes the empty streams of an ended attempt that wrote in their final place.
  func dropEmptyLogs(_ attempt: AttemptID) {
    for stream in [LogStream.standardOutput, .standardError] {
      let file = log(attempt, stream)
      if Folders.size(of: file) == 0 { Folders.remove(file) }
    }
  }

  /// Notes that the numbers of attempts may come again.
  package func beginAnew() {
    hasOldLogs = true
    graphs = []
  }

  /// Removes the logs that an attempt of the same number left in a lost history.
  package func dropOldLogs(_ attempt: AttemptID) {
    guard hasOldLogs else { return }
    for stream in [LogStream.standardOutput, .standardError] {
      Folders.remove(log(attempt, stream))
    }
  }

  /// Drops a graph that gets no more attempts; its logs stay on the disk.
  package func forget(_ graph: GraphID) { graphs.remove(graph.number) }

  /// Returns the folders of graphs that have been unchanged for so long; a thread of its own
  /// removes them.
  package func outdated(olderThan seconds: Int64) -> [String] {
    Folders.names(in: path).compactMap { name in
      guard UInt32(name) != nil else { return nil }
      let folder = "\(path)/\(name)"
      guard let age = Folders.age(of: folder), age > seconds else { return nil }
      return folder
    }
  }
}
