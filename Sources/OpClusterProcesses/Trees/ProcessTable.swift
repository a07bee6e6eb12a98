// Reads the kernel's process table: parents, groups and sessions. Used on the loop thread without a
// cgroup, and to distinguish children.

import CProcess
import Glibc

/// One entry of the process table at the moment of reading.
struct ProcessEntry {
  var process: Int32
  var parent: Int32
  var group: Int32
  var session: Int32
  /// Ended and not waited for.
  var isZombie: Bool

  /// Reads /proc/PID/stat; nil if there is no such process.
  init?(_ process: Int32) {
    guard let bytes = Descriptor.open("/proc/\(process)/stat", O_RDONLY)?.read(upTo: 1_024),
      // The name in parentheses may itself contain parentheses and spaces.
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
  /// All visible processes.
  static func all() -> [ProcessEntry] {
    namesOfFolder("/proc").compactMap { Int32($0).flatMap(ProcessEntry.init) }
  }

  /// The children of this process that the calling thread started, and the orphans that came to it;
  /// the kernel lists these under its first thread.
  static func ownChildren() -> [Int32] {
    let own = getpid()
    var result: [Int32] = []
    for thread in Set([own, op_thread_number()]) {
      let list = Descriptor.open("/proc/self/task/\(thread)/children", O_RDONLY)
      // A kernel without this list requires a walk over all processes.
      guard let list else { return all().filter { $0.parent == own }.map(\.process) }
      result += numbers(list.read(upTo: 256 << 10) ?? [])
    }
    return result
  }

  /// Returns the given processes and all their descendants.
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

/// Returns the decimal numbers in a text, with any separators.
func numbers(_ bytes: [UInt8]) -> [Int32] {
  bytes.split { !OperationEnvironment.isDigit($0) }
    .compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
}

/// Returns the names in a folder; none if it cannot be read.
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
