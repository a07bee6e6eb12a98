// Owns the worker's folders in the cgroup hierarchies and the pool of groups in them, one per
// running operation. Used by `ProcessHost` on the loop thread.
//
//   HOME/opworker.WORKER.SESSION/3             of an operation; the same in each hierarchy in use
//   HOME/opworker.WORKER.SESSION/exclusive/5   of an exclusive one: the guard kills these at once
//   HOME/opcluster-worker                      of version 2 only: the worker itself, if that is
//                                              needed to limit memory and processes
//
// A group is made once and reused when it is empty: a start then needs no mkdir, and birth in a
// group (CLONE_INTO_CGROUP) costs nothing measurable.

import CProcess
import Glibc

/// The cgroups that a host may use.
public enum CgroupUse: Sendable, CaseIterable {
  /// All hierarchies.
  case all
  /// Hierarchies of version 1.
  case legacy
  /// None: trees are then found in the process table.
  case none
}

/// The worker's folders in the hierarchies.
final class ProcessGroups {
  /// The folder of this run in the hierarchy of version 2, for the guard.
  let path: String?
  /// The folders in hierarchies of version 1.
  let legacyPaths: [String]
  /// Whether memory, and the number of processes, can be limited.
  let limitsMemory: Bool
  let limitsProcesses: Bool
  private let folder: Descriptor?
  private let exclusiveFolder: Descriptor?
  private let legacy: [CgroupHierarchy]
  private var free: [ProcessGroup] = []
  private var freeExclusive: [ProcessGroup] = []
  private var made = 0
  private let lease: ExclusiveLease?
  /// The locks of all folders of this run.
  private let holds: [GroupHold]

  static let exclusiveName = "exclusive"
  static let ownName = "opcluster-worker"

  /// Returns nil if no hierarchy can kill and be written by this process.
  ///
  /// - Parameter movesSelf: Whether the worker may move itself. Version 2 demands that before a
  ///   group can limit anything.
  init?(fence: ProcessFence, use: CgroupUse, lease: ExclusiveLease?, movesSelf: Bool) {
    self.lease = lease
    let unified = use == .all ? Self.openUnified(fence, movesSelf: movesSelf) : nil
    path = unified?.path
    var holds = unified.map { [$0.hold] } ?? []
    var controllers = unified?.controllers ?? []
    var used: [CgroupHierarchy] = []
    for hierarchy in CgroupHierarchy.legacy() {
      // If version 2 keeps the processes together, only controllers with limits are needed.
      let wanted = hierarchy.controllers.filter { $0 != .freezer || unified == nil }
      guard !wanted.isEmpty, let hold = GroupHold(hierarchy.home + "/" + fence.groupName) else {
        continue
      }
      holds.append(hold)
      used.append(CgroupHierarchy(controllers: wanted, home: hierarchy.home))
      controllers += wanted
    }
    legacy = used.map {
      CgroupHierarchy(controllers: $0.controllers, home: $0.home + "/" + fence.groupName)
    }
    legacyPaths = legacy.map(\.home)
    self.holds = holds
    limitsMemory = controllers.contains(.memory)
    limitsProcesses = controllers.contains(.pids)
    if let path {
      folder = Descriptor.open(path, O_RDONLY | O_DIRECTORY)
      exclusiveFolder = Descriptor.open(path + "/" + Self.exclusiveName, O_RDONLY | O_DIRECTORY)
    } else {
      folder = nil
      exclusiveFolder = nil
      // A folder that only limits memory does not contain all processes.
      guard controllers.contains(where: { $0 != .memory }) else { return nil }
    }
  }

  deinit {
    for path in legacyPaths { _ = unsafe op_group_remove(path) }
    if let path { _ = unsafe op_group_remove(path) }
  }

  private static func openUnified(
    _ fence: ProcessFence, movesSelf: Bool
  ) -> (path: String, hold: GroupHold, controllers: [CgroupHierarchy.Controller])? {
    guard let home = CgroupHierarchy.unified()?.home else { return nil }
    let path = home + "/" + fence.groupName
    guard let hold = GroupHold(path) else { return nil }
    guard Descriptor.open(path + "/cgroup.kill", O_WRONLY) != nil else {
      _ = unsafe op_group_remove(path)
      return nil
    }
    return (
      path, hold,
      CgroupDelegation.enable([.memory, .pids], from: home, path, movesSelf: movesSelf)
    )
  }

  /// Returns an empty group with these limits, as far as they can be set; nil if none can be made.
  func take(isExclusive: Bool = false, memory: UInt64? = nil, processes: UInt64? = nil)
    -> ProcessGroup?
  {
    // An unfit group is removed, and the next one may be unfit, too.
    for _ in 0..<8 {
      guard let group = takeAny(isExclusive) else { return nil }
      if group.setLimits(
        memory: limitsMemory ? memory : nil, processes: limitsProcesses ? processes : nil)
      {
        return group
      }
      remove(group)
    }
    return nil
  }

  private func takeAny(_ isExclusive: Bool) -> ProcessGroup? {
    if isExclusive {
      while let group = freeExclusive.popLast() {
        // The guard may have killed the group as a whole; it would kill whatever is born in it.
        if group.expiries == lease?.expiries ?? 0 { return group }
        remove(group)
      }
    } else if let group = free.popLast() {
      return group
    }
    return make(isExclusive)
  }

  private func make(_ isExclusive: Bool) -> ProcessGroup? {
    let name = String(made)
    made += 1
    var groups: [LegacyGroup] = []
    for hierarchy in legacy {
      let parent = isExclusive ? hierarchy.home + "/" + Self.exclusiveName : hierarchy.home
      guard let group = LegacyGroup(parent + "/" + name, hierarchy.controllers) else { return nil }
      groups.append(group)
    }
    let expiries = lease?.expiries ?? 0
    if isExclusive {
      return ProcessGroup(
        name, isExclusive: true, expiries: expiries, unified: exclusiveFolder, legacy: groups)
    }
    return ProcessGroup(
      name, isExclusive: false, expiries: expiries, unified: folder, legacy: groups)
  }

  /// Takes back an empty group for reuse; removes one that was killed.
  func give(_ group: ProcessGroup) {
    if group.wasKilled {
      remove(group)
    } else if group.isExclusive {
      freeExclusive.append(group)
    } else {
      free.append(group)
    }
  }

  /// Removes the group; a busy folder is removed together with its parent.
  func remove(_ group: ProcessGroup) {
    for legacy in group.legacy { _ = unsafe rmdir(legacy.path) }
    let name = group.isExclusive ? Self.exclusiveName + "/" + group.name : group.name
    if let path { _ = unsafe rmdir(path + "/" + name) }
  }
}
