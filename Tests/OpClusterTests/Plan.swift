// A graph in the making, in the words of the conformance cases. Value type; made by a `Scene`.

import OpClusterModel
import OpClusterWire
import RealCluster

/// What an operation of a case does. In all but `shell` its own name is the argument.
enum Deed {
  /// Writes its name.
  case mark
  /// Writes `name+`, waits for the gate of its name, writes `name-`.
  case gate
  /// The same, deaf to TERM.
  case deafGate
  /// Ends with status 3.
  case fail
  /// A join point: nothing runs (S4).
  case nothing
  case call(String)
  case shell(String)
}

struct Plan {
  var submission: GraphSubmission
  private let scene: Scene
  private var indices: [String: UInt32] = [:]

  init(_ scene: Scene) {
    self.scene = scene
    submission = GraphSubmission(name: scene.name)
  }

  /// Adds one operation and answers its position.
  ///
  /// - Parameters:
  ///   - after: names of earlier ones in this plan, with edges of the policy `when`.
  ///   - behind: operations of earlier submissions, with the same policy.
  ///   - queue: nil is the last one named, or `default`.
  @discardableResult
  mutating func add(
    _ name: String, _ deed: Deed, after: [String] = [], behind: [OperationID] = [],
    when: EdgePolicy = .finished, queue: String? = nil, priority: Priority = .normal,
    qos: QualityOfService? = nil, demand: Resources = Resources(), barrier: Bool = false,
    change: (inout OperationTemplate) -> Void = { _ in }
  ) throws -> UInt32 {
    let index = UInt32(submission.operationCount)
    indices[name] = index
    var template = try template(name, deed)
    template.queue = position(queue)
    template.priority = priority
    template.qos = qos
    template.demand = demand
    template.isBarrier = barrier
    change(&template)
    submission.templates.append(template)
    for other in after {
      guard let from = submission.templates.firstIndex(where: { $0.name == other }) else {
        throw Trouble("\(name) is after \(other), which is not there")
      }
      submission.groupEdges.append(
        GroupEdge(
          from: UInt32(from), to: UInt32(submission.templates.count - 1), policy: when))
    }
    for other in behind {
      submission.externalEdges.append(ExternalEdge(from: other, to: index, policy: when))
    }
    return index
  }

  private mutating func position(_ queue: String?) -> UInt32 {
    guard let queue else { return UInt32(max(submission.queues.count, 1) - 1) }
    let reference = QueueReference.named(queue)
    if let at = submission.queues.firstIndex(of: reference) { return UInt32(at) }
    submission.queues.append(reference)
    return UInt32(submission.queues.count - 1)
  }

  private func template(_ name: String, _ deed: Deed) throws -> OperationTemplate {
    switch deed {
    case .mark: return command(name, "mark \(name)")
    case .gate:
      try scene.makeGate(name)
      return command(name, "gate \(name)")
    case .deafGate:
      try scene.makeGate(name)
      return command(name, "trap '' TERM; gate \(name)")
    case .fail: return command(name, "exit 3")
    case .shell(let text): return command(name, text)
    case .nothing: return OperationTemplate(name: name, work: .nothing)
    case .call(let type):
      return OperationTemplate(name: name, work: .call(OperationType(name: type)))
    }
  }

  private func command(_ name: String, _ text: String) -> OperationTemplate {
    let specification = CommandSpecification(
      form: .shell(
        interpreter: ["/bin/sh", "-c"], text: CommandText(scene.preamble + text + "\n")))
    var template = OperationTemplate(name: name, work: .command)
    template.payload = Wire.encode(command: specification)
    return template
  }
}

extension Resources {
  /// One of a resource that only one worker has once.
  static let solo = Resources(
    cpus: .zero, custom: [NamedAmount(name: "solo", amount: ResourceAmount(1))])
}
