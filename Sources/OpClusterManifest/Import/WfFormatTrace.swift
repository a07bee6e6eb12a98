// A recorded run in WfCommons' WfFormat: tasks, their parents, their files, and their run times.
// Read by the import.
// Only what the replay needs is decoded; all other fields of a trace are ignored.

import FoundationEssentials

/// Tasks by position; parents are positions, too.
struct WfFormatTrace {
  struct Task {
    var id: String
    var parents: [Int]
    var inputs: [String]
    var outputs: [String]
    /// 0 where the trace does not say.
    var seconds: Double
    /// The program and its arguments; empty where the trace does not say.
    var command: [String] = []
  }
  var name: String
  var tasks: [Task]
  /// Bytes by file.
  /// A file without an entry has an unknown size; the import takes 1 KiB for it.
  var sizes: [String: Double]

  /// The JSON's shape, versions 1.4 and 1.5.
  /// Optional fields are those that recorders leave out.
  private struct Document: Decodable {
    var name: String?
    var schemaVersion: String?
    var workflow: Workflow
    struct Workflow: Decodable {
      var specification: Specification
      var execution: Execution?
    }
    struct Specification: Decodable {
      var tasks: [TaskSpecification]
      var files: [File]?
    }
    struct TaskSpecification: Decodable {
      var id: String
      var parents: [String]?
      var inputFiles: [String]?
      var outputFiles: [String]?
    }
    struct File: Decodable {
      var id: String
      var sizeInBytes: Double?
    }
    struct Execution: Decodable {
      var tasks: [TaskExecution]
    }
    struct TaskExecution: Decodable {
      var id: String
      var runtimeInSeconds: Double?
      var command: Command?
    }
    struct Command: Decodable {
      var program: String?
      var arguments: [String]?
    }
  }

  /// - Throws: `WfFormatError` for a missing part, a repeated task, or an unknown parent. A cycle
  /// is found later, by `criticalSeconds`.
  init(_ bytes: [UInt8]) throws(WfFormatError) {
    let document: Document
    do {
      document = try JSONDecoder().decode(Document.self, from: Data(bytes))
    } catch DecodingError.keyNotFound(let key, _) {
      throw WfFormatError("it has no '\(key.stringValue)': WfFormat 1.4 or newer is needed")
    } catch {
      throw WfFormatError("it is not WfFormat JSON")
    }
    name = document.name ?? "workflow"
    let specified = document.workflow.specification
    if specified.tasks.isEmpty { throw WfFormatError("it has no tasks") }
    var positions: [String: Int] = [:]
    for (at, task) in specified.tasks.enumerated() {
      if positions.updateValue(at, forKey: task.id) != nil {
        throw WfFormatError("the task '\(task.id)' is there twice")
      }
    }
    let runs = document.workflow.execution?.tasks ?? []
    let seconds = Dictionary(
      // Negative times and sizes are errors of recorders, and count as none.
      runs.map { ($0.id, max(0, $0.runtimeInSeconds ?? 0)) }, uniquingKeysWith: { a, _ in a })
    sizes = Dictionary(
      (specified.files ?? []).map { ($0.id, max(0, $0.sizeInBytes ?? 0)) },
      uniquingKeysWith: { a, _ in a })
    let commands = Dictionary(
      runs.map { run in
        let program = run.command?.program ?? ""
        return (run.id, program.isEmpty ? [] : [program] + (run.command?.arguments ?? []))
      }, uniquingKeysWith: { a, _ in a })
    tasks = []
    for task in specified.tasks {
      var parents: [Int] = []
      for parent in task.parents ?? [] {
        guard let at = positions[parent] else {
          throw WfFormatError("the task '\(task.id)' has an unknown parent '\(parent)'")
        }
        if !parents.contains(at) { parents.append(at) }
      }
      tasks.append(
        Task(
          id: task.id, parents: parents, inputs: Self.unique(task.inputFiles ?? []),
          outputs: Self.unique(task.outputFiles ?? []), seconds: seconds[task.id] ?? 0,
          command: commands[task.id] ?? []))
    }
  }

  /// The first of equal names stays.
  private static func unique(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { seen.insert($0).inserted }
  }

  /// Seconds along the longest path; nil if the parents form a cycle.
  /// O(tasks + parents). It bounds how fast the replay can be, however many workers there are.
  var criticalSeconds: Double? {
    guard let order else { return nil }
    var ends = [Double](repeating: 0, count: tasks.count)
    for at in order {
      let start = tasks[at].parents.map { ends[$0] }.max() ?? 0
      ends[at] = start + tasks[at].seconds
    }
    return ends.max()
  }

  /// Tasks with parents before children; nil for a cycle.
  /// A task is placed once all its parents are; tasks of a circle never are.
  private var order: [Int]? {
    var missing = tasks.map { $0.parents.count }
    var children = [[Int]](repeating: [], count: tasks.count)
    for (at, task) in tasks.enumerated() {
      for parent in task.parents { children[parent].append(at) }
    }
    var order = tasks.indices.filter { missing[$0] == 0 }
    var next = 0
    while next < order.count {
      for child in children[order[next]] {
        missing[child] -= 1
        if missing[child] == 0 { order.append(child) }
      }
      next += 1
    }
    return order.count == tasks.count ? order : nil
  }
}

/// The reason why a trace cannot be imported.
/// A refused trace is a mistake of its file: nothing was written.
public struct WfFormatError: Error, Hashable, Sendable {
  /// The reason, for people; it follows `cannot import FILE: `.
  public var reason: String
  init(_ reason: String) { self.reason = reason }
}
