// How scripts and traces name things: operations by the names that a script gave them, workers by
// theirs, queues by what they are called at the moment.

import OpClusterModel

@testable import OpClusterScheduling

/// Operations by name, and back.
struct ScriptNames {
  struct Group {
    var name: String
    var graph: UInt32
    var first: UInt32
    var count: UInt32
    var isArray: Bool
  }
  private(set) var groups: [Group] = []
  var workers: [WorkerID: String] = [:]
  var queues: [QueueID: String] = [.main: "default"]

  /// A submission's templates, in order; names that are known already keep their first meaning.
  mutating func add(_ submission: GraphSubmission, graph: UInt32) {
    var first: UInt32 = 0
    for template in submission.templates {
      groups.append(
        Group(
          name: template.name, graph: graph, first: first, count: template.count,
          isArray: template.isArray))
      first += template.count
    }
  }

  mutating func forget(graph: UInt32) { groups.removeAll { $0.graph == graph } }

  func group(_ name: String) -> Group? { groups.first { $0.name == name } }

  /// `a`, `x/2`, or `99/0` for operation 0 of graph 99 by number.
  func operation(_ text: String) -> OperationID? {
    let parts = text.split(separator: "/").map(String.init)
    if parts.count == 2, let graph = UInt32(parts[0]), let index = UInt32(parts[1]) {
      return OperationID(graph: GraphID(graph), index: index)
    }
    guard let group = group(parts[0]) else { return nil }
    var element: UInt32 = 1
    if parts.count == 2 {
      guard let shown = UInt32(parts[1]), shown >= 1, shown <= group.count else { return nil }
      element = shown
    }
    return OperationID(graph: GraphID(group.graph), index: group.first + element - 1)
  }

  func name(_ id: OperationID) -> String {
    guard let group = group(of: id) else { return "\(id.graph.number)/\(id.index)" }
    return group.isArray ? "\(group.name)/\(id.index - group.first + 1)" : group.name
  }

  func name(_ attempt: AttemptID) -> String { "\(name(attempt.operation))#\(attempt.attempt)" }

  func name(_ worker: WorkerID) -> String { workers[worker] ?? "worker \(worker.number)" }

  func name(_ queue: QueueID) -> String { queues[queue] ?? "queue \(queue.number)" }

  private func group(of id: OperationID) -> Group? {
    groups.first {
      $0.graph == id.graph.number && $0.first <= id.index && id.index < $0.first + $0.count
    }
  }

  /// `a b x/1-3`.
  func names(_ ids: [OperationID]) -> String {
    var words: [String] = []
    var at = 0
    while at < ids.count {
      var end = at
      let array = group(of: ids[at]).flatMap { $0.isArray ? $0 : nil }
      while let array, end + 1 < ids.count, group(of: ids[end + 1])?.name == array.name,
        ids[end + 1].index == ids[end].index + 1
      {
        end += 1
      }
      let first = name(ids[at])
      words.append(end == at ? first : "\(first)-\(name(ids[end]).split(separator: "/")[1])")
      at = end + 1
    }
    return words.joined(separator: " ")
  }

  func names(_ runs: OperationRuns) -> String {
    var ids: [OperationID] = []
    runs.forEachOperation { ids.append($0) }
    return names(ids)
  }
}
