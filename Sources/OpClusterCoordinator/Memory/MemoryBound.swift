// The memory that this process may use: the machine's memory, the limits of the process's control
// groups, and the limit of its address space. Files come in as text.

import OpClusterSystem

/// The least of these limits.
public struct MemoryBound: Hashable, Sendable {
  /// Resident bytes; beyond them the kernel kills the process.
  public var resident: UInt64
  /// Bytes of address space (`ulimit -v`); nil if unlimited.
  public var address: UInt64?

  public init(resident: UInt64, address: UInt64? = nil) {
    self.resident = resident
    self.address = address
  }

  /// The memory that the machine allows this process; nil if no limit is known.
  public static func ofThisProcess() -> MemoryBound? {
    found(address: ProcessLimits.addressSpace) { FileDescriptor.text(ofKernelFile: $0) }
  }

  /// - Parameters:
  ///   - address: The limit of the address space, if there is one.
  ///   - file: Returns the text of a file; nil if it does not exist.
  /// - Returns: nil if no limit is known.
  static func found(address: UInt64?, file: (String) -> String?) -> MemoryBound? {
    var bounds: [UInt64] = []
    if let machine = file("/proc/meminfo").flatMap(machineBytes) { bounds.append(machine) }
    let files = ControlGroups.memoryFiles(
      groups: file("/proc/self/cgroup") ?? "", mounts: file("/proc/self/mountinfo") ?? "")
    for path in files {
      if let limit = file(path).flatMap(bytes) { bounds.append(limit) }
    }
    guard let least = bounds.min() ?? address else { return nil }
    return MemoryBound(resident: least, address: address)
  }

  /// `MemTotal` of `/proc/meminfo`, in KiB there.
  static func machineBytes(_ text: String) -> UInt64? {
    for line in text.split(separator: "\n") where line.hasPrefix("MemTotal:") {
      let words = line.dropFirst("MemTotal:".count).split(separator: " ")
      guard let number = words.first.flatMap({ UInt64($0) }) else { return nil }
      let (bytes, overflow) = number.multipliedReportingOverflow(by: 1_024)
      return overflow || bytes == 0 ? nil : bytes
    }
    return nil
  }

  /// The number in a file of a control group; nil, and so no limit, for `max` and other text.
  static func bytes(_ text: String) -> UInt64? {
    UInt64(text.prefix { !$0.isWhitespace })
  }
}

/// The memory use of a process.
struct MemoryUse: Hashable, Sendable {
  var resident: UInt64
  var address: UInt64

  /// The memory that this process uses now.
  static func ofThisProcess() -> MemoryUse? {
    FileDescriptor.text(ofKernelFile: "/proc/self/statm").flatMap {
      MemoryUse(statm: $0, pageBytes: ProcessLimits.pageBytes)
    }
  }

  /// Parses `/proc/self/statm`: pages of address space, resident pages, and more.
  init?(statm: String, pageBytes: UInt64) {
    let words = statm.split(whereSeparator: \.isWhitespace)
    guard words.count >= 2, let pages = UInt64(words[0]), let residentPages = UInt64(words[1])
    else {
      return nil
    }
    let (address, overflow) = pages.multipliedReportingOverflow(by: pageBytes)
    let (resident, overflowResident) = residentPages.multipliedReportingOverflow(by: pageBytes)
    guard !overflow, !overflowResident else { return nil }
    self.init(resident: resident, address: address)
  }

  init(resident: UInt64, address: UInt64) {
    self.resident = resident
    self.address = address
  }
}

/// The files with the memory limits of the control groups around a process, of either version.
enum ControlGroups {
  /// The limit of nested groups; the kernel has far fewer.
  private static let deepest = 128

  /// - Parameters:
  ///   - groups: `/proc/self/cgroup`.
  ///   - mounts: `/proc/self/mountinfo`.
  static func memoryFiles(groups: String, mounts: String) -> [String] {
    var files: [String] = []
    for line in groups.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let names: [String]
      let isUnified = parts[0] == "0" && parts[1].isEmpty
      if isUnified {
        // Beyond `high` the kernel slows the process down.
        names = ["memory.max", "memory.high"]
      } else if parts[1].split(separator: ",").contains("memory") {
        names = ["memory.limit_in_bytes"]
      } else {
        continue
      }
      for mount in mounts.split(separator: "\n").compactMap({ Mount($0) })
      where isUnified ? mount.type == "cgroup2" : mount.isMemory {
        for folder in folders(of: String(parts[2]), at: mount) {
          files += names.map { "\(folder)/\($0)" }
        }
      }
    }
    return files
  }

  /// The group and all visible groups around it.
  private static func folders(of group: String, at mount: Mount) -> [String] {
    var path = group[...]
    if mount.root != "/" {
      // In a container the mount shows only a subtree, with the container's own root.
      path = group.hasPrefix(mount.root + "/") ? path.dropFirst(mount.root.count) : ""
    }
    let parts = path.split(separator: "/")
    guard parts.count <= deepest, !parts.contains("..") else { return [mount.point] }
    var folders = [mount.point]
    for part in parts { folders.append("\(folders[folders.count - 1])/\(part)") }
    return folders
  }

  /// A line of `mountinfo`: `32 31 0:29 /root /point rw - type source options`.
  private struct Mount {
    let root: String
    let point: String
    let type: Substring
    let isMemory: Bool

    init?(_ line: Substring) {
      let words = line.split(separator: " ")
      guard let dash = words.firstIndex(of: "-"), dash >= 5, words.count > dash + 3 else {
        return nil
      }
      root = String(words[3])
      point = String(words[4])
      type = words[dash + 1]
      isMemory = type == "cgroup" && words[dash + 3].split(separator: ",").contains("memory")
    }
  }
}
