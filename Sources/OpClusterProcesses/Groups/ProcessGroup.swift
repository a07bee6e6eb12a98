// The cgroups of one operation: a folder of version 2 where there is one, and folders of version 1
// for what that cannot do on this machine. Made by `ProcessGroups`, used on the loop thread.

import CProcess
import Glibc

/// What the limits of a group have done so far, or since a moment.
struct LimitCounts: Equatable {
  /// Processes killed for want of memory.
  var memoryKills: UInt64 = 0
  /// Times that a new process or thread was refused.
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
  /// Written by the child itself.
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

/// The cgroups of one operation: know all its processes, racing forks included, kill them, and
/// bound what they use.
final class ProcessGroup {
  /// Of version 2; nil where there is none.
  let folder: Descriptor?
  let name: String
  let legacy: [LegacyGroup]
  /// Kernels kill at birth what is born into a group that was ever killed as a whole.
  var wasKilled = false
  /// Whether it is among those that the guard kills when the lease runs out.
  let isExclusive: Bool
  /// What the guard had done when the group was made: it may have killed it as a whole since.
  let expiries: UInt64
  private let events: Descriptor?
  /// Tells the most memory that the group ever had; nil: nobody counts it.
  let peakFile: Descriptor?
  /// What that was when its present user came.
  var peakBefore: UInt64 = 0
  /// What the limits had done when they were set last.
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

  /// Where a child of `CLONE_INTO_CGROUP` is born; -1: nowhere.
  var birthplace: Int32 {
    switch folder {
    case .some(let folder): folder.number
    case nil: -1
    }
  }

  /// Whether any process, other than ended ones, is in the group. True when in doubt.
  var isPopulated: Bool {
    switch events {
    case .some(let events): op_group_is_populated(events.number)
    case nil: legacy.contains { op_legacy_is_populated($0.processes.number) }
    }
  }

  /// The processes of the group itself, at most some 9,000 of them.
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

  /// Sends SIGKILL to all, those that are just being forked too; of version 1 only where the
  /// hierarchy can freeze, elsewhere it has to be repeated.
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

  /// The descriptors of the version 1 folders that a process with these limits has to enter.
  func memberships(limitsMemory: Bool) -> [Int32] {
    legacy.filter { limitsMemory || $0.controllers != [.memory] }.map { $0.tasks.number }
  }

  /// Sets both limits, nil being none. False: the kernel would not have one of them, which is so
  /// where the last user of the group has left more behind than the limit allows.
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
      // Swap is no way out of a limit, and a tree that has lost one of its processes is of no use.
      _ = write(bytes == nil ? "max" : "0", to: "memory.swap.max", of: .memory)
      _ = write("1", to: "memory.oom.group", of: .memory)
      return write(bytes.map { "\($0)" } ?? "max", to: "memory.max", of: .memory)
    }
    // Memory with swap may never be less than memory alone.
    _ = Self.write("-1", to: "memory.memsw.limit_in_bytes", in: group.folder)
    guard let bytes else { return Self.write("-1", to: "memory.limit_in_bytes", in: group.folder) }
    guard Self.write("\(bytes)", to: "memory.limit_in_bytes", in: group.folder) else {
      return false
    }
    _ = Self.write("\(bytes)", to: "memory.memsw.limit_in_bytes", in: group.folder)
    return true
  }

  /// Writes to the file of a controller, of version 1 where that has it.
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

  /// What the limits have done since the group was made.
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

  /// The number behind a word in a file of lines of two.
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
