// What workers were told of graphs, from both sides: a worker's conversation remembers the
// templates, and a graph the workers, so that its end is told to those that know it, however many
// others there are. Not durable. The memory of both sides follows what was told.

import OpClusterModel

/// One template that a worker was told.
struct ToldTemplate: Sendable {
  var graph: GraphID
  var template: UInt32
  var queue: String
}

/// The names of the queues with which a worker was told the templates of one graph.
struct ToldTemplates: Sendable {
  /// Most graphs have one template.
  private var first: String?
  /// Looked up, never iterated.
  private var others: [UInt32: String] = [:]

  var count: Int { others.count + (first == nil ? 0 : 1) }

  func queue(of template: UInt32) -> String? { template == 0 ? first : others[template] }

  mutating func tell(_ template: UInt32, queue name: String) {
    if template == 0 { first = name } else { others[template] = name }
  }
}

/// The workers that were told a template of each graph in their present conversation.
struct ToldWorkers: Sendable {
  /// Looked up, never iterated.
  private var workers: [GraphID: Set<UInt32>] = [:]
  /// The number of pairs of a graph and a worker.
  private(set) var count = 0

  func contains(_ worker: UInt32, of graph: GraphID) -> Bool {
    workers[graph]?.contains(worker) == true
  }

  mutating func insert(_ worker: UInt32, of graph: GraphID) {
    if workers[graph, default: []].insert(worker).inserted { count += 1 }
  }

  mutating func remove(_ worker: UInt32, of graph: GraphID) {
    if workers[graph]?.remove(worker) != nil { count -= 1 }
    if workers[graph]?.isEmpty == true { workers[graph] = nil }
  }

  /// Removes a graph; returns its workers, ascending.
  mutating func take(_ graph: GraphID) -> [UInt32] {
    guard let told = workers.removeValue(forKey: graph) else { return [] }
    count -= told.count
    return told.sorted()
  }
}

extension Scheduler {
  /// Notes that a worker is told a template with the queue's present name.
  mutating func noteTold(
    _ template: UInt32, of graph: GraphID, queue name: String, to worker: UInt32
  ) {
    toldWorkers.insert(worker, of: graph)
    conversations[worker].noteTold(template, of: graph, queue: name)
  }

  /// Forgets what a worker was told: its conversation ends. Visits the graphs that it was told of.
  mutating func forgetTold(to worker: UInt32) {
    for graph in conversations[worker].toldTemplates.keys.sorted() {
      toldWorkers.remove(worker, of: graph)
    }
    conversations[worker].forgetAllTold()
  }

  /// Lets workers forget ended graphs. Visits the workers that were told of them.
  mutating func forgetAtWorkers(_ graphs: [GraphID], into turn: inout SchedulingTurn) {
    for graph in graphs {
      for number in toldWorkers.take(graph) {
        looks += 1
        conversations[number].forgetTold(of: graph)
        if conversations[number].peer == nil { continue }
        let at = turn.orders(for: WorkerID(number))
        turn.orders[at].orders.forgottenGraphs.append(graph)
      }
    }
  }
}
