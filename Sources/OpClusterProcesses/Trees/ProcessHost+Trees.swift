// How `ProcessHost` finds, signals and ends everything that a process has started. Loop thread.
//
// Two ways lead to the members of a tree. A cgroup knows them all. Without one the tree has a
// reaper, from which all of it descends; the reaper does the killing, and ends when nothing is
// left. Should somebody kill the reaper, its orphans come to this process, and are found by the
// tree's mark, its session or its process group; those that have shed all three belong to whatever
// tree has lost its reaper. A host that adopts no orphans has no reapers either: it looks for what
// carries the mark in the main process's own session and group.

import CProcess
import Glibc

extension ProcessHost {
  /// Sends a signal to every process of the tree, `setsid` children included, and wakes those that
  /// are stopped. Processes forked meanwhile may miss it; ``killTree(_:)`` misses none.
  /// Returns how many processes were signalled: 0 if the tree is gone.
  @discardableResult
  public func signalTree(_ reference: ProcessReference, _ signal: Int32) -> Int {
    guard let process = running[reference.token], process.reference == reference else { return 0 }
    if signal == SIGKILL {
      condemn(process)
      if process.hasReaper { kill(process) }
    }
    return Self.signal(signal, process, members: { members(of: process) })
  }

  /// Kills the whole tree (G20), again and again until ``collectEnded()`` reports its end.
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

  /// One look at a tree that is ending; its report if nothing of it is left.
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

  /// What is to be told of a tree that has not ended yet. Of what is exclusive nothing may be left
  /// before another may have it: its end is not told before.
  private func survive(_ process: RunningProcess) -> EndedProcess? {
    guard let since = process.killedAt, .now - since > patience else { return nil }
    if !process.isUnkillable { note(.found(process.reference)) }
    process.isUnkillable = true
    guard process.lease == nil, process.mainEnd != nil, !process.isToldEnded else { return nil }
    process.isToldEnded = true
    return process.ended(leftSomethingBehind: true)
  }

  /// Nobody else has the files of a tree that is gone.
  private func keepOutputs(of process: RunningProcess) {
    for stream in process.streams where stream.isReusable {
      guard let path = stream.file.path, idleOutputs.count < Self.idleOutputLimit else { continue }
      idleOutputs[path] = stream.file
    }
  }

  /// Whether anything of the tree lives after its main process was waited for. Cheap where nothing
  /// does: one read of the group, or of the list of this process's children.
  private func hasRest(_ process: RunningProcess) -> Bool {
    if let group = process.group { return group.isPopulated }
    // Mostly nobody is left, which the kernel knows without a walk over all processes.
    if !adoptsOrphans, Glibc.kill(-process.reference.process, 0) != 0, errno == ESRCH {
      return false
    }
    return !orphans(of: process).isEmpty
  }

  private func kill(_ process: RunningProcess) {
    if let group = process.group {
      group.kill()
    } else if process.hasReaper, let reaper = process.reaperDescriptor {
      // Somebody may have stopped it.
      _ = op_process_signal(reaper, Int32(OP_REAPER_KILL))
      _ = op_process_signal(reaper, SIGCONT)
    } else {
      _ = Self.signal(SIGKILL, process, members: { members(of: process) })
    }
  }

  /// All processes of the tree that live.
  private func members(of process: RunningProcess) -> Set<Int32> {
    if let group = process.group { return group.processes }
    if process.hasReaper, process.mainEnd == nil {
      return ProcessTable.trees(under: [process.child]).subtracting([process.child])
    }
    var roots = Set(orphans(of: process))
    if process.mainEnd == nil { roots.insert(process.reference.process) }
    return roots.isEmpty ? [] : ProcessTable.trees(under: roots)
  }

  /// Signals exactly the members: a number read from a list may have passed to another process, so
  /// each one is pinned by a descriptor before the list is read a second time.
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
      // The main process first: it should hear of its end before its children are seen to die.
      var count = 0
      for member in members().sorted(by: { $0 == main && $1 != main }) {
        guard let descriptor = pinned[member] else { continue }
        if op_process_signal(descriptor, signal) == 0 { count += 1 }
        if signal != SIGKILL && signal != SIGSTOP { _ = op_process_signal(descriptor, SIGCONT) }
      }
      return count
    }
    // A reaper waits for what ends and kills what is left behind the main process, both at once:
    // all are held until each has its signal, so that nobody ends by another's end before (G20).
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

  /// The living orphans that came to this process from the given tree.
  private func orphans(of process: RunningProcess) -> [Int32] {
    let main = process.reference.process
    if !adoptsOrphans { return strangers(of: process) }
    // An orphan that has shed every sign comes here only if its reaper was killed.
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

  /// The living processes beside the main one in its session and group, whoever is their parent
  /// now. The mark tells them from those that have been given the numbers since.
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

  /// Waits for the orphans that have ended, so that none stays a zombie. A bounded number at a
  /// time, so that a storm of them does not hold up the loop.
  func reapOrphans() {
    for _ in 0..<1_024 {
      let child = op_next_ended_child()
      guard child > 0 else { return }
      switch ChildClaims.kind(of: child) {
      case .operation:
        // A main process whose descriptor was not looked at yet; perhaps another host's.
        guard let token = tokens[child] else { return }
        noteMainEnd(token)
      case .guardian:
        ChildClaims.release(child)
        _ = waitpid(child, nil, WNOHANG)
      case .foreign:
        // It hides those behind it until its own part of the program has waited for it.
        return
      case nil:
        _ = waitpid(child, nil, WNOHANG)
      }
    }
  }
}
