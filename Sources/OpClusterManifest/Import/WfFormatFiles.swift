// Which file each task of a trace reads and writes when it is replayed: every file has one
// producer, and is read only behind it. Used by the import.

import OpClusterModel

struct WfFormatFiles {
  /// By task: names to read and to write, all of them plain words for the shell.
  private(set) var reads: [[String]] = []
  private(set) var writes: [[String]] = []
  /// Files that no task makes for those who read them: name in the replay, and in the trace.
  private(set) var initial: [(name: String, file: String)] = []
  private var used: Set<String> = []

  /// Where a trace's file has several producers, each writes a file of its own, and a reader
  /// takes that of the last one it descends from; one that descends from none reads an initial
  /// file.
  init(_ trace: WfFormatTrace) {
    var producers: [String: [(task: Int, name: String)]] = [:]
    for (at, task) in trace.tasks.enumerated() {
      var names: [String] = []
      for file in task.outputs {
        let name = uniqueName(file)
        producers[file, default: []].append((at, name))
        names.append(name)
      }
      writes.append(names)
    }
    var initialNames: [String: String] = [:]
    for (at, task) in trace.tasks.enumerated() {
      var names: [String] = []
      for file in task.inputs {
        let made = (producers[file] ?? []).filter { $0.task != at }
        let parents = made.filter { task.parents.contains($0.task) }
        let behind = parents.isEmpty ? made.filter { trace.descends(at, from: $0.task) } : parents
        if let name = behind.last?.name ?? initialNames[file] {
          names.append(name)
        } else {
          let name = uniqueName(file)
          initialNames[file] = name
          initial.append((name, file))
          names.append(name)
        }
      }
      reads.append(names)
    }
  }

  private mutating func uniqueName(_ file: String) -> String {
    let base = String(Names.sanitised(file).prefix(100))
    return Names.unique(base, &used)
  }
}

extension WfFormatTrace {
  /// Whether a task comes behind another by way of parents.
  func descends(_ task: Int, from ancestor: Int) -> Bool {
    var seen: Set<Int> = [task]
    var open = [task]
    while let at = open.popLast() {
      for parent in tasks[at].parents where seen.insert(parent).inserted {
        if parent == ancestor { return true }
        open.append(parent)
      }
    }
    return false
  }
}

extension Names {
  /// The name itself, or the first free one with a number behind it.
  static func unique(_ name: String, _ used: inout Set<String>) -> String {
    if used.insert(name).inserted { return name }
    var number = 2
    while !used.insert("\(name)-\(number)").inserted { number += 1 }
    return "\(name)-\(number)"
  }
}
