// A workflow in WfFormat 1.5, as far as a manifest can say it: tasks, their order, their recorded
// commands and needs. Reading only.

import FoundationEssentials

struct Workflow {
  var name: String
  var tasks: [Task]

  struct Task {
    var id: String
    var parents: [String]
    /// Empty when none was recorded.
    var command: [String]
    var seconds: Double
    var cpus: Double?
    var memoryBytes: Int64?
  }

  static let maximumBytes = 64 << 20
  static let maximumTasks = 100_000

  static func decode(_ bytes: [UInt8], name: String) throws(Failure) -> Workflow {
    let document: Document
    do {
      document = try JSONDecoder().decode(Document.self, from: Data(bytes))
    } catch {
      throw Failure(
        .badInput, code: "bad_workflow", "\(name) is not a WfFormat 1.5 workflow: \(reason(error))",
        hint: "WfFormat has 'workflow' with 'specification' and its 'tasks'")
    }
    let tasks = document.workflow.specification.tasks
    guard (1...maximumTasks).contains(tasks.count) else {
      throw Failure(
        .badInput, code: "bad_workflow", "\(name) has \(tasks.count) tasks",
        hint: "1 to \(maximumTasks) can be imported")
    }
    return Workflow(document, tasks)
  }

  private static func reason(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    switch error {
    case .keyNotFound(let key, let context):
      return "'\(key.stringValue)' is missing at '\(path(context))'"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      return "'\(path(context))' is of another kind"
    case .dataCorrupted(let context): return context.debugDescription
    @unknown default: return "it cannot be read"
    }
  }

  private static func path(_ context: DecodingError.Context) -> String {
    context.codingPath.map(\.stringValue).joined(separator: ".")
  }

  private init(_ document: Document, _ tasks: [Document.Task]) {
    name = document.name ?? "workflow"
    let runs = Dictionary(
      (document.workflow.execution?.tasks ?? []).map { ($0.id, $0) },
      uniquingKeysWith: { first, _ in first })
    // What has a parent in either direction: some writers fill in one side only.
    var parents: [String: [String]] = [:]
    for task in tasks {
      parents[task.id, default: []] += task.parents ?? []
      for child in task.children ?? [] { parents[child, default: []].append(task.id) }
    }
    let known = Set(tasks.map(\.id))
    self.tasks = tasks.map { task in
      let run = runs[task.id]
      var seen: Set<String> = []
      let needs = (parents[task.id] ?? []).filter { known.contains($0) && seen.insert($0).inserted }
      return Task(
        id: task.id, parents: needs,
        command: run?.command.map { [$0.program].compactMap(\.self) + ($0.arguments ?? []) } ?? [],
        seconds: run?.runtimeInSeconds ?? 0, cpus: run?.coreCount, memoryBytes: run?.memoryInBytes)
    }
  }

  private struct Document: Decodable {
    var name: String?
    var workflow: Body

    struct Body: Decodable {
      var specification: Specification
      var execution: Execution?
    }
    struct Specification: Decodable {
      var tasks: [Task]
    }
    struct Task: Decodable {
      var id: String
      var parents: [String]?
      var children: [String]?
    }
    struct Execution: Decodable {
      var tasks: [Run]?
    }
    struct Run: Decodable {
      var id: String
      var command: Command?
      var runtimeInSeconds: Double?
      var coreCount: Double?
      var memoryInBytes: Int64?
    }
    struct Command: Decodable {
      var program: String?
      var arguments: [String]?
    }
  }
}
