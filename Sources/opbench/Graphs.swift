// The graphs of the workloads, as a client submits them. None depends on chance, so that every run
// measures the same graph. The shapes are those of Workloads.md in OpCluster.docc; tests of the
// daemons use none of them.

import OpClusterClient
import OpClusterModel
import OpClusterWire

enum Graphs {
  /// A registered type that every worker has: it measures the cost of running nothing.
  private static let noop = Work.call(OperationType(name: "noop"))

  /// The same name in all runs, since names cost bytes.
  private static func graph(_ templates: [OperationTemplate]) -> GraphSubmission {
    var graph = GraphSubmission(name: "bench")
    graph.templates = templates
    return graph
  }

  /// One array: the least that a submission can say about so many operations.
  static func independent(_ count: UInt32) -> GraphSubmission {
    graph([OperationTemplate(name: "noop", count: count, work: noop)])
  }

  /// All links may go to one worker, which unblocks them by itself (S151).
  static func chain(_ count: UInt32) -> GraphSubmission {
    var chain = independent(count)
    chain.elementEdges = ElementEdges(
      from: Array(0..<(count - 1)), to: Array(1..<count), policies: [.succeeded])
    return chain
  }

  /// A chain whose links are bound to two workers in turn: every hop crosses. Templates of their
  /// own, since only a template can ask for a worker. `pin` binds them.
  static func zigzag(_ count: UInt32) -> GraphSubmission {
    var chain = graph([])
    for link in 0..<count {
      chain.templates.append(OperationTemplate(name: "link\(link)", work: noop))
      if link > 0 {
        chain.groupEdges.append(GroupEdge(from: link - 1, to: link, policy: .succeeded))
      }
    }
    return chain
  }

  /// Binds the templates of a graph to the connected workers in turn, by the label that every
  /// worker has: its name.
  static func pin(
    _ graph: inout GraphSubmission, to connection: ClusterConnection
  ) async throws {
    // A worker that is down would leave its links waiting for ever.
    guard case .workers(let all) = try await connection.request(.workers) else { return }
    let rows = all.filter { $0.state != .down }
    if rows.isEmpty { return }
    for at in graph.templates.indices {
      graph.templates[at].requirements = [
        LabelRequirement(key: "worker", values: [rows[at % rows.count].name])
      ]
    }
  }

  /// Expects a width above 67 that 7 does not divide, so that the three predecessors differ. Edges
  /// ask for any finish, as Foundation's do (S22).
  static func layers(width: UInt32, depth: UInt32) -> GraphSubmission {
    var layers = independent(width * depth)
    var edges = ElementEdges(policies: [.finished])
    for layer in 1..<depth {
      for position in 0..<width {
        // Three fixed, spread predecessors: the same graph in every run.
        for step: UInt32 in [1, 34, 67] {
          edges.from.append((layer - 1) * width + (position * 7 + step) % width)
          edges.to.append(layer * width + position)
        }
      }
    }
    layers.elementEdges = edges
    return layers
  }

  /// The smallest program of the system: what is left is the cost of starting one.
  static func commands(_ count: UInt32) -> GraphSubmission {
    var template = OperationTemplate(name: "true", count: count, work: .command)
    template.payload = Wire.encode(
      command: CommandSpecification(form: .arguments([CommandText("/bin/true")])))
    return graph([template])
  }

  /// Two edges with whole arrays, which are counted and not stored for each element.
  static func fan(_ count: UInt32) -> GraphSubmission {
    var fan = graph([
      OperationTemplate(name: "first", work: noop),
      OperationTemplate(name: "middle", count: count, work: noop),
      OperationTemplate(name: "last", work: noop),
    ])
    fan.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded),
      GroupEdge(from: 1, to: 2, policy: .succeeded),
    ]
    return fan
  }

  /// An array behind an operation whose queue is suspended. Expects the suspended queue `closed`;
  /// nothing of it ever runs.
  static func waitingArray(_ count: UInt32) -> GraphSubmission {
    var waiting = fan(count)
    waiting.templates.removeLast()
    waiting.groupEdges.removeLast()
    waiting.queues = [.named("closed")]
    return waiting
  }

  /// An array that is ready and stays in line, since no worker is called like that. (What is
  /// cancelled in a suspended queue ends when the queue is resumed.)
  static func unplaceable(_ count: UInt32) -> GraphSubmission {
    var waiting = independent(count)
    waiting.templates[0].requirements = [LabelRequirement(key: "worker", values: ["nobody"])]
    return waiting
  }

  /// An array in a queue that is suspended. Expects the suspended queue `closed`.
  static func closed(_ count: UInt32) -> GraphSubmission {
    var closed = independent(count)
    closed.queues = [.named("closed")]
    return closed
  }

  /// Edges between single operations take the most memory. `count` is a multiple of 100.
  static func waitingWithEdges(_ count: UInt32) -> GraphSubmission {
    var waiting = layers(width: 100, depth: count / 100)
    waiting.queues = [.named("closed")]
    return waiting
  }
}
