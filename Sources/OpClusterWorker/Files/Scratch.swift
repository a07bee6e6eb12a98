// The worker's own folder: who holds it, and where running and ended attempts have their files.
// Used on the loop thread.
//
//   SCRATCH/lock             held by the one worker that uses the folder
//   SCRATCH/trees            held by it and by the reapers of what it has started: a worker that
//                            comes next waits for them
//   SCRATCH/slots/3/         OP_SCRATCH of whatever command has slot 3 now, and its working
//                            directory where it names none; emptied for the next one: a slot that
//                            cannot be emptied is never used again
//   SCRATCH/slots/3.out .err its streams while it runs
//   SCRATCH/slots/3.values   OP_OUTPUT, made by the command if it has any
//   SCRATCH/slots/3.cancelled  OP_CANCELLED, appears when the command is asked to stop
//   SCRATCH/12/7.1.out .err  streams of attempt 1 of operation 7 of graph 12 after its end: only
//                            what was written, or a link where the command sent it elsewhere
//   SCRATCH/tasks/12.7.1/    of a registered operation that asks for a folder
//   SCRATCH/tasks/12.7.1.3/  of one that is block 3 of an attempt
//   SCRATCH/tasks/1000/      has those of operations that run as account 1000
//
// Where operations run as other accounts than the worker, they may pass these folders but not list
// or change them: what is theirs to write (a slot, its files, logs) is made by the worker and given
// to them, and a slot serves one account for ever.
//
// Slots are used again because making and removing a folder and two files costs a third of what
// starting a small program costs, on ext4 with discard more than that; a command that writes
// nothing leaves its slot as it found it.

import Glibc
import Logging
import OpClusterModel
import OpClusterProcesses

/// Names of a running command's files.
struct SlotPaths: Sendable {
  let number: Int
  let folder: String
  let output: String
  let error: String
  let values: String
  let cancelled: String
  /// Whose it is, and what is in it; nil: the worker's.
  let account: LocalAccount?
  /// The folder as it was when it was seen to be empty; nil: to be looked through after use.
  var emptyState: Folders.State?
  /// What lies beside the folder.
  var files: [String] { [output, error, values, cancelled] }
  /// What of that the command writes.
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

/// The folder, held as long as this object lives.
final class Scratch {
  let path: String
  private let lock: Int32
  /// Stays open in each reaper (`ProcessHost`).
  let trees: Int32
  private let root: RootFolder
  /// Free slots by the number of whose they are (nil: the worker), the last used first: its folder
  /// is still in the kernel's memory.
  private var free: [UInt32?: [SlotPaths]] = [:]
  /// Whether operations run as other accounts than the worker's: these may pass the folder, and
  /// nothing more.
  private let isPassed: Bool
  private var slots = 0
  /// Graphs whose folder exists.
  private var graphs: Set<UInt32> = []
  /// There may be logs of attempts that are numbered once more: by a coordinator whose journal was
  /// restored, or by another one.
  private var hasOldLogs = false

  private let logger: Logger
  private let sweeper: FolderSweeper

  /// Makes and locks the folder.
  init(
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
    // Every file of an operation is opened in this way: better no worker than one that fails all.
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

  /// A path of this folder as the folder itself sees it.
  func relative(_ inner: String) -> String { String(inner.dropFirst(path.count + 1)) }

  /// Makes an empty file; for a flag that a running command looks for.
  func touch(_ inner: String) { _ = root.touch(relative(inner)) }

  deinit {
    close(lock)
    close(trees)
  }

  /// Waits until nothing runs any more that an earlier worker started and that has a reaper; false
  /// when the time is over first.
  func awaitTrees(within limit: Duration) -> Bool {
    let deadline = ContinuousClock.now + limit
    while flock(trees, LOCK_EX | LOCK_NB) != 0 {
      guard ContinuousClock.now < deadline else { return false }
      _ = poll(nil, 0, 5)
    }
    return flock(trees, LOCK_SH) == 0
  }

  /// What marks the processes of the worker in this folder. Its name alone does not tell it from
  /// the worker of another cluster on this machine, whose processes are not to be touched.
  func fenceName(worker: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return worker.prefix(100) + "." + String(hash, radix: 16)
  }

  /// Throws away what an earlier worker left half done; its logs stay. Only when nothing of it
  /// runs any more.
  func clear() throws(WorkerError) {
    do throws(Folders.Problem) {
      for name in ["slots", "tasks"] {
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

  /// Whether there is no room left to speak of.
  var isDiskFull: Bool {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0, status.f_blocks > 0 else { return false }
    return UInt64(status.f_bavail).saturatingMultiply(UInt64(status.f_frsize)) < 64 << 10
  }

  /// A slot for a command to be started: a used one, or the next number at which nothing is.
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
      // An earlier worker's, which could not be cleared away.
      if !isNew, !renew(slot) { continue }
      if isNew { try hand(over: slot.folder, to: account) }
      if removeFiles(of: slot) { return slot }
    }
  }

  /// The slot of a command of which nothing is left. Its logs have been taken by then.
  /// - Parameter isSuspect: what lies beside its folder may be something else than it should.
  func giveBack(_ used: SlotPaths, isSuspect: Bool = false) {
    var slot = used
    if isSuspect, !removeFiles(of: slot) { return }
    let began = Folders.State.clock()
    let state = Folders.State(of: slot.folder)
    if let state, state == slot.emptyState { return release(slot) }
    slot.emptyState = nil
    guard let state, state.isPrivate else {
      // The command did something to the folder itself.
      if renew(slot) { release(slot) }
      return
    }
    let problem = root.empty(relative(slot.folder), atMost: Limits.entriesRemovedAtOnce)
    guard problem == 0 else { return setAside(slot, problem) }
    // Of a change in the same tick of the kernel's clock the state would not tell.
    if state.changed < began, Folders.State(of: slot.folder) == state { slot.emptyState = state }
    release(slot)
  }

  private func release(_ slot: SlotPaths) { free[slot.account?.user, default: []].append(slot) }

  /// Makes the slot's folder anew; false: it is set aside.
  private func renew(_ slot: SlotPaths) -> Bool {
    var problem = root.empty(relative(slot.folder), atMost: Limits.entriesRemovedAtOnce)
    // What is no folder at all is removed with the same call as an empty one.
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

  /// Removes what lies beside a slot's folder; false: it is set aside.
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

  /// Nobody gets the slot again, since something of its last command may still be in it.
  func setAside(_ slot: SlotPaths, _ problem: Int32) {
    for file in slot.files { Folders.remove(file) }
    if problem == EAGAIN { return sweeper.remove(slot.folder) }
    errno = problem
    let cause = Folders.problem("cannot empty the scratch folder '\(slot.folder)'")
    logger.error("\(cause); no other operation gets this folder, remove it by hand")
  }

  /// Removes a folder of the tasks at some time.
  func removeLater(_ folder: String) { sweeper.remove(folder) }

  /// Whether nothing is being removed on another thread.
  var isSwept: Bool { sweeper.isIdle }

  /// The folder of a registered operation's attempt, if it asks for one.
  func taskFolder(_ part: Part) -> String {
    Self.taskFolder(part.folderName, in: tasksFolder(of: nil))
  }

  static func taskFolder(_ name: String, in tasks: String) -> String { "\(tasks)/\(name)" }

  /// Where an account's registered operations make their folders.
  func tasksFolder(of account: LocalAccount?) -> String {
    account.map { "\(path)/tasks/\($0.user)" } ?? "\(path)/tasks"
  }

  /// The same, made.
  func makeTasksFolder(of account: LocalAccount?) throws(Folders.Problem) -> String {
    let folder = tasksFolder(of: account)
    if account != nil, Folders.owner(of: folder) != account?.user {
      try Folders.make(folder)
      try hand(over: folder, to: account)
    }
    return folder
  }

  /// Where a stream of an ended attempt is.
  func log(_ attempt: AttemptID, _ stream: LogStream) -> String {
    Self.log(attempt, stream, in: path)
  }

  /// The same, to be read with the rights of whom it belongs to.
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

  /// Keeps a stream of an ended attempt: the file of its slot, or where it really went. What is
  /// empty stays, for the next command in the slot. `size` in bytes, if it is known. Returns
  /// whether the next command in the slot begins with an empty file, come what may.
  func keep(
    _ file: String, of attempt: AttemptID, _ stream: LogStream, isOwn: Bool, size: Int?,
    for account: LocalAccount? = nil
  ) -> Bool {
    if isOwn, size.map(Int64.init) ?? Folders.size(of: file) ?? 0 == 0 { return true }
    try? makeLogFolder(attempt)
    let log = log(attempt, stream)
    if !isOwn {
      _ = root.link(relative(log), to: file)
      // By its owner it is known as whom it is to be followed.
      if let account { _ = root.give(relative(log), to: account) }
      return true
    }
    _ = root.move(relative(file), to: relative(log))
    return root.remove(relative(file)) == 0
  }

  /// For streams that are written to where they stay.
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

  /// Makes an empty file of an account's, which can make none here itself, unless it is there.
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

  /// A better time to say it than when every operation fails.
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

  /// Removes of an ended attempt's streams those that are empty; for what wrote to where they stay.
  func dropEmptyLogs(_ attempt: AttemptID) {
    for stream in [LogStream.standardOutput, .standardError] {
      let file = log(attempt, stream)
      if Folders.size(of: file) == 0 { Folders.remove(file) }
    }
  }

  /// The worker begins anew: the numbers of attempts may come again.
  func beginAnew() {
    hasOldLogs = true
    graphs = []
  }

  /// What an attempt of the same numbers left in a history that is gone is not this one's output.
  func dropOldLogs(_ attempt: AttemptID) {
    guard hasOldLogs else { return }
    for stream in [LogStream.standardOutput, .standardError] {
      Folders.remove(log(attempt, stream))
    }
  }

  /// Nothing more will come of the graph; its logs are still on disk.
  func forget(_ graph: GraphID) { graphs.remove(graph.number) }

  /// Folders of graphs in which nothing has happened for so long: a thread of its own removes them.
  func outdated(olderThan seconds: Int64) -> [String] {
    Folders.names(in: path).compactMap { name in
      guard UInt32(name) != nil else { return nil }
      let folder = "\(path)/\(name)"
      guard let age = Folders.age(of: folder), age > seconds else { return nil }
      return folder
    }
  }
}
