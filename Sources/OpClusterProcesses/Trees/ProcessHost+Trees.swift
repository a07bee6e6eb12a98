// Finds, signals and ends all processes of a tree for `ProcessHost`. Loop thread.
//
// A cgroup knows all members of a tree. A tree without a cgroup has a reaper, from which all
// members descend; the reaper kills them and ends when nothing is left. If it is stopped, this
// process wakes it, and kills the members itself if it is stopped again. If the reaper is killed,
// its orphans come to this process, which finds them by the tree's mark, session or process group;
// orphans without any of them belong to a tree that has lost its reaper. A host that adopts no
// orphans has no reapers: it looks for marked processes in the main process's own session and
// group.

import CProcess
import Glibc

extension ProcessHost {
  /// Sends a signal to every process of the tree, including `setsid` children, and wakes stopped
  /// ones. Processes that are forked meanwhile may miss it; ``killTree(_:)`` misses none. Returns
  /// the number of signalled processes: 0 if the tree is gone.
  @discardableResult
  public func signalTree(_ reference: ProcessReference, _ signal: Int32) -> Int {
    guard let process = running[reference.token], process.reference == reference else { return 0 }
    if signal == SIGKILL {
      condemn(process)
      if process.hasReaper { kill(process) }
    }
    return Self.signal(signal, process, members: { members(of: process) })
  }

  /// Kills the whole tree (G20), repeatedly until ``collectEnded()`` reports its end.
  public func killTree(_ reference: ProcessReference) {
    guard let process = running[reference.token], process.reference == reference else { return }
    condemn(process)
    kill(process)
  }

  private func condemn(_ process: RunningProcess) {
    process.isCondemned = true
    process.killedAt = process.killedAt ?? .now
    settling.insert(process.reference.token)
    adjustTicker(ticked: false)
  }

  /// Checks an ending tree once; returns its report if nothing of it is left.
  func settle(_ token: UInt64) -> EndedProcess? {
    guard let process = running[token] else {
      settling.remove(token)
      return nil
    }
    process.rounds += 1
    let isGone = process.mainEnd != nil && !hasRest(process)
    guard isGone else {
      kill(process)
      return survive(process)
    }
    running[token] = nil
    settling.remove(token)
    if process.isUnkillable { note(.gone(process.reference)) }
    let ended = process.isToldEnded ? nil : process.ended(leftSomethingBehind: false)
    if let group = process.group { groups?.give(group) }
    process.lease?.count(-1)
    if ended != nil { keepOutputs(of: process) }
    return ended
  }

  /// Returns the report of a tree that does not end. An exclusive tree gets none: nothing of it may
  /// be left before another worker may have the operation.
  private func survive(_ process: RunningProcess) -> EndedProcess? {
    guard let since = process.killedAt, .now - since > patience else { return nil }
    if !process.isUnkillable { note(.found(process.reference)) }
    process.isUnkillable = true
    guard process.lease == nil, process.mainEnd != nil, !process.isToldEnded else { return nil }
    process.isToldEnded = true
    return process.ended(leftSomethingBehind: true)
  }

  /// Keeps the files of an ended tree open: no other process has them.
  private func keepOutputs(of process: RunningProcess) {
    for stream in process.streams where stream.isReusable {
      guard let path = stream.file.path, idleOutputs.count < Self.idleOutputLimit else { continue }
      idleOutputs[path] = stream.file
    }
  }

  /// Whether a process of the tree lives after its main process was waited for. Cheap if none does:
  /// one read of the group, or of the list of this process's children.
  private func hasRest(_ process: RunningProcess) -> Bool {
    if let group = process.group { return group.isPopulated }
    // Usually nothing is left, which the kernel tells without a walk over all processes.
    if !adoptsOrphans, Glibc.kill(-process.reference.process, 0) != 0, errno == ESRCH {
      return false
    }
    return !orphans(of: process).isEmpty
  }

  private func kill(_ process: RunningProcess) {
    if let group = process.group {
      group.kill()
    } else if process.hasReaper, let reaper = process.reaperDescriptor {
      if op_take_stopped_child(process.child) != 0 { process.stops += 1 }
      if process.stops > 0 {
        // What goes on stopping the reaper has to end before the reaper can do its work.
        _ = Self.signal(SIGKILL, process, members: { members(of: process) })
      }
      _ = op_process_signal(reaper, Int32(OP_REAPER_KILL))
      // Without it, its orphans come to this process.
      _ = op_process_signal(reaper, process.stops < Self.stopLimit ? SIGCONT : SIGKILL)
    } else {
      _ = Self.signal(SIGKILL, process, members: { members(of: process) })
    }
  }

  /// Wakes the reapers that were stopped, as operations may do that to theirs. A stopped one cannot
  /// tell that the main process has ended. A bounded number at a time, in proportion to the stopped
  /// children.
  func wakeReapers() {
    for _ in 0..<1_024 {
      let child = op_take_stopped_child(0)
      guard child > 0 else { return }
      guard let token = tokens[child], let process = running[token],
        let reaper = process.reaperDescriptor
      else { continue }
      if settling.contains(token) { process.stops += 1 }
      let main = ProcessEntry(process.reference.process)
      // The number is the main process's as long as its parent has not waited for it.
      if let main, main.isZombie, main.parent == child { condemn(process) }
      _ = op_process_signal(reaper, SIGCONT)
    }
  }

  /// All living processes of the tree.
  private func members(of process: RunningProcess) -> Set<Int32> {
    if let group = process.group { return group.processes }
    if process.hasReaper, process.mainEnd == nil {
      return ProcessTable.trees(under: [process.child]).subtracting([process.child])
    }
    var roots = Set(orphans(of: process))
    if process.mainEnd == nil { roots.insert(process.reference.process) }
    return roots.isEmpty ? [] : ProcessTable.trees(under: roots)
  }

  /// Signals exactly the members. A number in a list may pass to another process, so each one is
  /// pinned by a descriptor before the list is read a second time.
  private static func signal(
    _ signal: Int32, _ process: RunningProcess, members: () -> Set<Int32>
  ) -> Int {
    var pinned: [Int32: Int32] = [:]
    for member in members() {
      let descriptor = op_process_descriptor(member)
      if descriptor >= 0 { pinned[member] = descriptor }
    }
    defer { for descriptor in pinned.values { close(descriptor) } }
    let main = process.reference.process
    let isEnding = ![SIGKILL, SIGSTOP, SIGCONT].contains(signal)
    guard process.hasReaper, isEnding else {
      // Signal the main process first: it should learn of its end before its children die.
      var count = 0
      for member in members().sorted(by: { $0 == main && $1 != main }) {
        guard let descriptor = pinned[member] else { continue }
        if op_process_signal(descriptor, signal) == 0 { count += 1 }
        if signal != SIGKILL && signal != SIGSTOP { _ = op_process_signal(descriptor, SIGCONT) }
      }
      return count
    }
    // A reaper waits for ended processes and kills the rest behind the main process. Stop all
    // members until each has its signal, so that none dies of another's end before (G20).
    for descriptor in pinned.values { _ = op_process_signal(descriptor, SIGSTOP) }
    var count = 0
    for member in members().sorted(by: { $1 == main && $0 != main }) {
      guard let descriptor = pinned[member] else { continue }
      if op_process_signal(descriptor, signal) == 0 { count += 1 }
    }
    for (member, descriptor) in pinned where member != main {
      _ = op_process_signal(descriptor, SIGCONT)
    }
    if let descriptor = pinned[main] { _ = op_process_signal(descriptor, SIGCONT) }
    return count
  }

  /// Returns the living orphans that came to this process from the given tree.
  private func orphans(of process: RunningProcess) -> [Int32] {
    let main = process.reference.process
    if !adoptsOrphans { return strangers(of: process) }
    // An orphan without any mark comes here only if its reaper was killed.
    let takesUnmarked = process.hasReaper
    return ChildClaims.orphans(among: ProcessTable.ownChildren()).filter { orphan in
      guard let entry = ProcessEntry(orphan), !entry.isZombie, entry.parent == getpid() else {
        return false
      }
      if entry.session == main || entry.group == main { return true }
      if unsafe op_environment_has(orphan, process.mark, true) { return true }
      return takesUnmarked && !isMarked(orphan)
    }
  }

  /// Returns the living processes in the main process's session and group, apart from the main one.
  /// The mark distinguishes them from processes that got the numbers later.
  private func strangers(of process: RunningProcess) -> [Int32] {
    let main = process.reference.process
    return ProcessTable.all().filter { entry in
      guard entry.process != main, !entry.isZombie, entry.session == main || entry.group == main
      else { return false }
      return unsafe op_environment_has(entry.process, process.mark, true)
    }.map(\.process)
  }

  /// Whether the process carries the mark of any tree of this host.
  private func isMarked(_ process: Int32) -> Bool {
    unsafe op_environment_has(process, fence.sessionEntry, false)
  }

  /// Waits for ended orphans, so that none stays a zombie; a bounded number at a time, so that many
  /// of them do not delay the loop.
  func reapOrphans() {
    for _ in 0..<1_024 {
      let child = op_next_ended_child()
      guard child > 0 else { return }
      switch ChildClaims.kind(of: child) {
      case .operation:
        // A main process whose end was not noticed yet; perhaps another host's.
        guard let token = tokens[child] else { return }
        noteMainEnd(token)
      case .foreign:
        // It hides those behind it until its own part of the program has waited for it.
        return
      case .guardian, nil:
        guard ChildClaims.reap(child) else { return }
      }
    }
  }
}
