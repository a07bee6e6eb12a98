// Reads the kernel's process table: who is whose child, in which session. Used on the loop thread
// where there is no cgroup to ask, and when children must be told apart.

import CProcess
import Glibc

/// One line of the process table, true at the moment it was read.
struct ProcessEntry {
  var process: Int32
  var parent: Int32
  var group: Int32
  var session: Int32
  /// Ended and not yet waited for.
  var isZombie: Bool

  /// Reads /proc/PID/stat; nil if there is no such process.
  init?(_ process: Int32) {
    guard let bytes = Descriptor.open("/proc/\(process)/stat", O_RDONLY)?.read(upTo: 1_024),
      // The name in parentheses may itself hold parentheses and spaces.
      let close = bytes.lastIndex(of: UInt8(ascii: ")")), close + 2 < bytes.count
    else { return nil }
    let fields = bytes[(close + 2)...].split(separator: UInt8(ascii: " "), maxSplits: 4)
    guard fields.count > 3 else { return nil }
    let values = fields[1...3].map { Int32(String(decoding: $0, as: UTF8.self)) ?? 0 }
    self.process = process
    parent = values[0]
    group = values[1]
    session = values[2]
    isZombie = [UInt8(ascii: "Z"), UInt8(ascii: "X")].contains(fields[0].first)
  }
}

enum ProcessTable {
  /// All processes that can be seen.
  static func all() -> [ProcessEntry] {
    namesOfFolder("/proc").compactMap { Int32($0).flatMap(ProcessEntry.init) }
  }

  /// The children of this process that the calling thread started or that were orphaned and came
  /// to it, which the kernel lists under its first thread.
  static func ownChildren() -> [Int32] {
    let own = getpid()
    var result: [Int32] = []
    for thread in Set([own, op_thread_number()]) {
      let list = Descriptor.open("/proc/self/task/\(thread)/children", O_RDONLY)
      // A kernel without this list costs a walk over all processes.
      guard let list else { return all().filter { $0.parent == own }.map(\.process) }
      result += numbers(list.read(upTo: 256 << 10) ?? [])
    }
    return result
  }

  /// The given processes and everything that descends from them.
  static func trees(under roots: Set<Int32>) -> Set<Int32> {
    var children: [Int32: [Int32]] = [:]
    for entry in all() { children[entry.parent, default: []].append(entry.process) }
    var found = roots
    var open = Array(roots)
    while let process = open.popLast() {
      for child in children[process] ?? [] where found.insert(child).inserted {
        open.append(child)
      }
    }
    return found
  }
}

/// The decimal numbers in a text, separated by anything.
func numbers(_ bytes: [UInt8]) -> [Int32] {
  bytes.split { !OperationEnvironment.isDigit($0) }
    .compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
}

/// The names in a folder; none if it cannot be read.
func namesOfFolder(_ path: String) -> [String] {
  guard let folder = unsafe opendir(path) else { return [] }
  defer { unsafe closedir(folder) }
  var names: [String] = []
  while let entry = unsafe readdir(folder) {
    let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      unsafe String(cString: UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names
}
