// The cgroups of one operation: a folder of version 2 if there is one, and folders of version 1 for
// controllers that it lacks on this machine. Made by `ProcessGroups`, used on the loop thread.

import CProcess
import Glibc

/// The effects of a group's limits so far, or since a moment.
struct LimitCounts: Equatable {
  /// Processes killed for lack of memory.
  var memoryKills: UInt64 = 0
  /// Refused attempts to start a process or thread.
  var refusedProcesses: UInt64 = 0

  static func - (now: LimitCounts, before: LimitCounts) -> LimitCounts {
    LimitCounts(
      memoryKills: now.memoryKills &- before.memoryKills,
      refusedProcesses: now.refusedProcesses &- before.refusedProcesses)
  }
}

/// One folder of a version 1 hierarchy.
final class LegacyGroup {
  let controllers: [CgroupHierarchy.Controller]
  let path: String
  let folder: Descriptor
  /// The child itself writes here to enter the group.
  let tasks: Descriptor
  let processes: Descriptor

  init?(_ path: String, _ controllers: [CgroupHierarchy.Controller]) {
    guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST,
      let folder = Descriptor.open(path, O_RDONLY | O_DIRECTORY),
      let tasks = folder.open("tasks", O_WRONLY),
      let processes = folder.open("cgroup.procs", O_RDONLY)
    else { return nil }
    self.controllers = controllers
    self.path = path
    self.folder = folder
    self.tasks = tasks
    self.processes = processes
  }
}

/// The cgroups of one operation: know all its processes, including racing forks, kill them, and
/// limit their resources.
final class ProcessGroup {
  /// The folder of version 2; nil if there is none.
  let folder: Descriptor?
  let name: String
  let legacy: [LegacyGroup]
  /// Whether the group was killed as a whole: kernels kill every later process in such a group at
  /// birth.
  var wasKilled = false
  /// Whether the guard kills it when the lease runs out.
  let isExclusive: Bool
  /// The guard's count when the group was made: the guard may have killed the group since.
  let expiries: UInt64
  private let events: Descriptor?
  /// The file with the group's peak memory; nil: nothing counts it.
  let peakFile: Descriptor?
  /// The peak when its present user came.
  var peakBefore: UInt64 = 0
  /// The effects of the limits when they were last set.
  private(set) var countsBefore = LimitCounts()
  private var memoryLimit: UInt64?
  private var processLimit: UInt64?

  init?(
    _ name: String, isExclusive: Bool, expiries: UInt64, unified parent: borrowing Descriptor?,
    legacy: [LegacyGroup]
  ) {
    switch parent {
    case .some(let parent):
      guard unsafe mkdirat(parent.number, name, 0o755) == 0 || errno == EEXIST,
        let folder = parent.open(name, O_RDONLY | O_DIRECTORY),
        let events = folder.open("cgroup.events", O_RDONLY)
      else { return nil }
      if let file = Self.openPeak(in: legacy) {
        peakFile = consume file
      } else {
        peakFile = Self.openPeak(in: folder)
      }
      self.folder = consume folder
      self.events = consume events
    case nil:
      guard !legacy.isEmpty else { return nil }
      peakFile = Self.openPeak(in: legacy)
      folder = nil
      events = nil
    }
    self.name = name
    self.isExclusive = isExclusive
    self.expiries = expiries
    self.legacy = legacy
  }

  /// The folder where a child of `CLONE_INTO_CGROUP` is born; -1: none.
  var birthplace: Int32 {
    switch folder {
    case .some(let folder): folder.number
    case nil: -1
    }
  }

  /// Whether the group has processes that have not ended. True when in doubt.
  var isPopulated: Bool {
    switch events {
    case .some(let events): op_group_is_populated(events.number)
    case nil: legacy.contains { op_legacy_is_populated($0.processes.number) }
    }
  }

  /// The processes of the group itself, at most about 9,000.
  var processes: Set<Int32> {
    switch folder {
    case .some(let folder):
      return Set(numbers(folder.open("cgroup.procs", O_RDONLY)?.read(upTo: 64 << 10) ?? []))
    case nil:
      return legacy.reduce(into: []) { found, group in
        found.formUnion(numbers(group.processes.read(upTo: 64 << 10) ?? []))
      }
    }
  }

  /// Sends SIGKILL to all processes, including those being forked. In version 1 this holds only if
  /// the hierarchy can freeze; otherwise it must be repeated.
  func kill() {
    switch folder {
    case .some(let folder):
      wasKilled = true
      _ = folder.open("cgroup.kill", O_WRONLY)?.write(Array("1".utf8))
    case nil:
      for group in legacy { _ = unsafe op_legacy_kill(group.path) }
    }
  }

  // MARK: - Limits

  /// The descriptors of the version 1 folders that a process with these limits must enter.
  func memberships(limitsMemory: Bool) -> [Int32] {
    legacy.filter { limitsMemory || $0.controllers != [.memory] }.map { $0.tasks.number }
  }

  /// Sets both limits; nil removes one. False: the kernel refuses one of them, for example because
  /// the group's last user has left more than the limit behind.
  func setLimits(memory: UInt64?, processes: UInt64?) -> Bool {
    if memory != memoryLimit {
      guard setMemory(memory) || memory == nil else { return false }
      memoryLimit = memory
    }
    if processes != processLimit {
      let text = processes.map { "\($0)" } ?? "max"
      guard write(text, to: "pids.max", of: .pids) || processes == nil else { return false }
      processLimit = processes
    }
    countsBefore = counts
    beginPeak()
    return true
  }

  private func setMemory(_ bytes: UInt64?) -> Bool {
    guard let group = legacy.first(where: { $0.controllers.contains(.memory) }) else {
      // Swap must not evade the limit, and a tree that has lost one process is useless.
      _ = write(bytes == nil ? "max" : "0", to: "memory.swap.max", of: .memory)
      _ = write("1", to: "memory.oom.group", of: .memory)
      return write(bytes.map { "\($0)" } ?? "max", to: "memory.max", of: .memory)
    }
    // The limit with swap must never be below the limit of memory alone.
    _ = Self.write("-1", to: "memory.memsw.limit_in_bytes", in: group.folder)
    guard let bytes else { return Self.write("-1", to: "memory.limit_in_bytes", in: group.folder) }
    guard Self.write("\(bytes)", to: "memory.limit_in_bytes", in: group.folder) else {
      return false
    }
    _ = Self.write("\(bytes)", to: "memory.memsw.limit_in_bytes", in: group.folder)
    return true
  }

  /// Writes to the file of a controller, of version 1 if that has it.
  private func write(
    _ text: String, to file: String, of controller: CgroupHierarchy.Controller
  ) -> Bool {
    if let group = legacy.first(where: { $0.controllers.contains(controller) }) {
      return Self.write(text, to: file, in: group.folder)
    }
    switch folder {
    case .some(let folder): return Self.write(text, to: file, in: folder)
    case nil: return false
    }
  }

  private static func write(
    _ text: String, to file: String, in folder: borrowing Descriptor
  ) -> Bool {
    folder.open(file, O_WRONLY)?.write(Array(text.utf8)) ?? false
  }

  /// The effects of the limits since the group was made.
  var counts: LimitCounts {
    var counts = LimitCounts()
    if processLimit != nil {
      counts.refusedProcesses = value("max", in: "pids.events", of: .pids)
    }
    if memoryLimit != nil {
      let hasLegacy = legacy.contains { $0.controllers.contains(.memory) }
      counts.memoryKills = value(
        "oom_kill", in: hasLegacy ? "memory.oom_control" : "memory.events", of: .memory)
    }
    return counts
  }

  /// Returns the number behind a word in a file of two-word lines.
  private func value(
    _ key: String, in file: String, of controller: CgroupHierarchy.Controller
  ) -> UInt64 {
    let group = legacy.first { $0.controllers.contains(controller) }
    let bytes: [UInt8]?
    if let group {
      bytes = group.folder.open(file, O_RDONLY)?.read(upTo: 1_024)
    } else {
      switch folder {
      case .some(let folder): bytes = folder.open(file, O_RDONLY)?.read(upTo: 1_024)
      case nil: bytes = nil
      }
    }
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == key { return UInt64(words[1]) ?? 0 }
    }
    return 0
  }
}
