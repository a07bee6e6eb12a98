// The files that each task of a trace reads and writes in the replay: every file has one producer,
// and only descendants of the producer read it. Used by the import.
// A replay writes into one folder, so names must be unique there, and a reader must come after the
// writer.

import OpClusterModel

/// Names are unique over the whole replay; contents are zeros.
struct WfFormatFiles {
  /// Names to read and to write by task; each name is a plain word for the shell.
  private(set) var reads: [[String]] = []
  private(set) var writes: [[String]] = []
  /// Files that tasks read and no task makes: the name in the replay, and the name in the trace.
  private(set) var initial: [(name: String, file: String)] = []
  /// All names that are taken, of written and of initial files.
  private var used: Set<String> = []

  /// If a file of the trace has several producers, each producer writes a file of its own. A reader
  /// takes the file of its last producer among its ancestors, or an initial file if none is an
  /// ancestor.
  /// O(tasks × inputs × producers), and a search for ancestors where the producer is no parent.
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
        // A task that reads and writes a file reads what was there before it.
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

  /// Cut short, so that a number can be appended and stay within a name's length.
  private mutating func uniqueName(_ file: String) -> String {
    let base = String(Names.sanitised(file).prefix(100))
    return Names.unique(base, &used)
  }
}

extension WfFormatTrace {
  /// Whether a task descends from another one through parents.
  /// O(tasks + parents).
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
  /// Returns the name, or the first free one with a number appended.
  /// Numbers begin at 2, as in `name-2`.
  static func unique(_ name: String, _ used: inout Set<String>) -> String {
    if used.insert(name).inserted { return name }
    var number = 2
    while !used.insert("\(name)-\(number)").inserted { number += 1 }
    return "\(name)-\(number)"
  }
}
