// Converts objects to a submission: one template for each run of neighbours that differ only in
// their argument, edges by index, edges to known operations by number. Pure except for the
// registration of closures and types with a local cluster.

import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Synchronization

struct GraphBuilder {
  private(set) var graph: GraphSubmission
  /// The objects by operation index; nil for operations without one (completion functions).
  private(set) var objects: [ClusterOperation?] = []
  private let cluster: OperationCluster
  private var local: LocalCluster? { cluster.backend.local }
  /// The dependencies of single operations: few have any.
  private var dependents: [(operation: ClusterOperation, dependencies: [Dependency])] = []
  private var completions: [(from: UInt32, function: OperationWork.Invocation)] = []
  /// The origin of the newest template, to decide whether the next operation may join it.
  private var newest: (settings: OperationSettings, work: OperationType, isBarrier: Bool)?

  init(for cluster: OperationCluster, queue: String?, isDeclaredOnly: Bool) {
    // Within a process no message is repeated, so it needs no key.
    graph = GraphSubmission(key: cluster.isLocal ? SubmissionKey("") : cluster.newKey(), name: "")
    graph.isDeclaredOnly = isDeclaredOnly
    if let queue { graph.queues = [.named(queue)] }
    self.cluster = cluster
  }

  /// Adds operations in order, with the dependencies among them and on known operations.
  mutating func add(_ operations: [ClusterOperation]) throws(ClusterError) {
    objects.reserveCapacity(operations.count)
    for operation in operations { try addTemplate(operation) }
    if !dependents.isEmpty { try addEdges(among: operations) }
    graph.name = graph.templates.count == 1 ? graph.templates[0].name : "operations"
    for completion in completions { addCompletionFunction(completion.function, completion.from) }
  }

  // MARK: - Templates

  private mutating func addTemplate(_ operation: ClusterOperation) throws(ClusterError) {
    let (settings, work, isBarrier, isCancelled, dependencies) = operation.life.withLock { life in
      if !life.dependencies.isEmpty { dependents.append((operation, life.dependencies)) }
      if let function = life.completionFunction {
        completions.append((UInt32(objects.count), function))
      }
      return (life.settings, life.work, life.isBarrier, life.isCancelled, life.dependencies)
    }
    if !settings.inputFiles.isEmpty { try check(settings.inputFiles, of: operation, dependencies) }
    let (lowered, payload) = try lower(work, of: settings.name ?? work.defaultName)
    objects.append(operation)
    if case .call(let type) = lowered, let newest, newest.work == type,
      newest.settings == settings, newest.isBarrier == isBarrier, !payload.isEmpty
    {
      extendNewest(payload)
      return
    }
    var template = OperationTemplate(name: settings.name ?? work.defaultName, work: lowered)
    template.payload = payload
    template.isBarrier = isBarrier
    settings.fill(&template)
    if isCancelled { template.isHeld = true }
    graph.templates.append(template)
    if case .call(let type) = lowered, !isCancelled {
      newest = (settings, type, isBarrier)
    } else {
      newest = nil
    }
  }

  /// Files are found by the name of the dependency, so that it must be clear which one that is.
  private func check(
    _ files: [String: [String]], of operation: ClusterOperation, _ dependencies: [Dependency]
  ) throws(ClusterError) {
    let names = dependencies.map { $0.operation.templateName }
    for (name, wanted) in files.sorted(by: { $0.key < $1.key }) {
      let count = names.count { $0 == name }
      guard count != 1 else {
        if Set(wanted).count == wanted.count { continue }
        throw ClusterError(
          .badRequest, "'\(operation)' reads a file of '\(name)' twice: \(wanted.sorted())")
      }
      throw ClusterError(
        .badRequest,
        "'\(operation)' reads files of '\(name)', and "
          + (count == 0
            ? "none of its dependencies has this name"
            : "\(count) of its dependencies have this name"),
        hint: count == 0
          ? "add the dependency before the operation; its name is what '.name' says"
          : "give each a name of its own")
    }
  }

  private mutating func extendNewest(_ payload: [UInt8]) {
    let last = graph.templates.count - 1
    if graph.templates[last].elementArguments.isEmpty {
      graph.templates[last].elementArguments.append(graph.templates[last].payload)
      graph.templates[last].payload = []
    }
    graph.templates[last].elementArguments.append(payload)
    graph.templates[last].count += 1
    graph.templates[last].isArray = true
  }

  private func lower(
    _ work: OperationWork, of name: String
  ) throws(ClusterError) -> (Work, [UInt8]) {
    switch work {
    case .nothing: return (.nothing, [])
    case .spent: throw .spent(name)
    case .command(let command):
      return (.command, Wire.encode(command: try command.checked()))
    case .call(let invocation):
      if let local { invocation.register(local) }
      return (.call(invocation.type), try invocation.argument.get())
    case .closure(let body):
      guard let local else { throw .localOnly(name) }
      let number = local.register(closure: body.encoding)
      return (.call(OperationRegistry.closureType), ClosureNumber.argument(number))
    case .blocks(let blocks):
      var lowered: [OperationBlock] = []
      for block in blocks { lowered.append(try block.lowered(for: local, of: name)) }
      return (.blocks(Self.types(of: lowered)), Wire.encode(blocks: lowered))
    }
  }

  /// Each type once, in order of appearance.
  private static func types(of blocks: [OperationBlock]) -> [OperationType] {
    var types: [OperationType] = []
    for case .call(let type, _) in blocks where !types.contains(type) { types.append(type) }
    return types
  }

  // MARK: - Edges

  private mutating func addEdges(among operations: [ClusterOperation]) throws(ClusterError) {
    var indices: [ObjectIdentifier: UInt32] = [:]
    for operation in operations { indices[ObjectIdentifier(operation)] = UInt32(indices.count) }
    for (operation, dependencies) in dependents {
      guard let to = indices[ObjectIdentifier(operation)] else { continue }
      for dependency in dependencies { try addEdge(dependency, operation, to, indices) }
    }
  }

  private mutating func addEdge(
    _ dependency: Dependency, _ operation: ClusterOperation, _ to: UInt32,
    _ indices: [ObjectIdentifier: UInt32]
  ) throws(ClusterError) {
    if let from = indices[ObjectIdentifier(dependency.operation)] {
      graph.elementEdges.from.append(from)
      graph.elementEdges.to.append(to)
      graph.elementEdges.policies.append(dependency.condition)
    } else if let (home, from) = dependency.operation.place {
      // Its number means another operation here.
      if home !== cluster { throw .foreign(dependency.operation) }
      graph.externalEdges.append(ExternalEdge(from: from, to: to, policy: dependency.condition))
    } else {
      throw ClusterError(
        .unknownDependency,
        "'\(operation)' depends on '\(dependency.operation)', which no "
          + "cluster knows", hint: "add it in the same call, or before")
    }
  }

  /// Adds a completion function as an operation of its own in a private queue. Its failure has no
  /// effect, and it runs at most once (S109, S112).
  private mutating func addCompletionFunction(
    _ invocation: OperationWork.Invocation, _ from: UInt32
  ) {
    guard case .success(let argument) = invocation.argument else { return }
    if let local { invocation.register(local) }
    if graph.queues.count < 2 {
      if graph.queues.isEmpty { graph.queues = [.named("default")] }
      graph.queues.append(.own(QueueSettings(name: "completions")))
    }
    var template = OperationTemplate(name: "completion", work: .call(invocation.type))
    template.payload = argument
    template.queue = 1
    template.demand = .none
    template.maximumLosses = 0
    template.allowedFailures = .all
    template.wantsInputs = true
    graph.templates.append(template)
    graph.elementEdges.from.append(from)
    graph.elementEdges.to.append(UInt32(objects.count))
    graph.elementEdges.policies.append(.finished)
    objects.append(nil)
    newest = nil
  }
}

extension ClusterError {
  static func foreign(_ operation: ClusterOperation) -> ClusterError {
    ClusterError(
      .unknownDependency, "'\(operation)' belongs to another cluster",
      hint: "dependencies hold within one cluster")
  }
}
