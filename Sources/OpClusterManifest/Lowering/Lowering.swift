// Lowers declarations to a submission: templates, edges, queues and commands. The last step of the
// compiler.
// The coordinator accepts the result, but for what only it knows: queues of the cluster, earlier
// graphs, quotas. Dependencies are in `Edges.swift`, commands in `CommandBuilder.swift`, arguments
// of calls in `CallInputBuilder.swift`.

public import OpClusterModel

/// Templates stand in the order of the operations: positions are used by edges and scopes, and seen
/// by people in lists.
struct Lowering {
  let findings: Findings
  /// Declared names may still be wrong; they are resolved here.
  let graph: GraphDeclaration
  /// Given, or derived from the file's name.
  let name: String
  let encoders: PayloadEncoders
  private let secrets = SecretTable()

  init(
    findings: Findings, graph: GraphDeclaration, name: String, encoders: PayloadEncoders
  ) {
    self.findings = findings
    self.graph = graph
    self.name = name
    self.encoders = encoders
  }

  /// Returns the submission and the work of each template. Meaningless after an error.
  /// Runs on after a finding, so that all are reported. A share of failures is computed at the end,
  /// when every count is known.
  func lower() -> (
    submission: GraphSubmission, work: [LoweredWork], ownFiles: [OwnFileWishes]
  ) {
    var submission = GraphSubmission(name: name)
    submission.failurePolicy = graph.failurePolicy
    submission.labels = graph.labels
    var queues = QueueTable(own: graph.queues, findings: findings)
    let edges = Edges(findings: findings, operations: graph.operations)
    submission.groupEdges = edges.resolve()
    var lowered: [LoweredWork] = []
    var ownFiles: [OwnFileWishes] = []
    // Sums over the whole graph, for limits that no single operation breaks.
    var total = 0
    var bytes = 0
    for operation in graph.operations {
      var template = template(operation)
      template.queue = queues.position(operation.settings.queue, isJoint: operation.isJoint)
      lowered.append(
        work(operation, edges, &template, at: submission.templates.count, &ownFiles))
      submission.templates.append(template)
      total += Int(template.count)
      bytes += template.payload.count + template.elementArguments.bytes.count
    }
    submission.queues = queues.references
    submission.secrets = secrets.values
    submission.maximumFailures = graph.maximumFailures?.count(
      of: Self.running(submission.templates[...]))
    submission.failureScopes = failureScopes(submission.templates)
    checkLimits(submission, total: total, bytes: bytes)
    return (submission, lowered, ownFiles)
  }

  /// Settings that the coordinator reads. Work, payload and secrets follow in `work`.
  private func template(_ operation: OperationDeclaration) -> OperationTemplate {
    let settings = operation.settings
    var template = OperationTemplate(name: operation.name, work: .nothing)
    template.isFinal = operation.isFinal
    // A joint needs no worker: an empty demand lets it end inside the coordinator.
    if operation.isJoint {
      template.demand = .none
      return template
    }
    template.priority = settings.priority
    template.qos = settings.qos
    template.demand = settings.demand
    template.requirements = settings.requirements
    template.notBefore = settings.notBefore
    template.retry = settings.retry
    template.maximumLosses = settings.maximumLosses
    template.isExclusive = settings.isExclusive
    template.isReusable = settings.isReusable
    template.isReproducible = settings.isReproducible
    template.replicas = settings.replicas
    template.maximumParallel = operation.maximumParallel
    template.allowedFailures = operation.allowedFailures
    template.labels = settings.labels
    if let elements = operation.elements {
      template.count = elements.count
      template.isArray = true
      template.indexRuns = elements.indexRuns
      template.elementArguments = elements.arguments
    }
    return template
  }

  /// Fills in the template's work, and returns it in a form that can be shown. After a finding the
  /// shown work is meaningless.
  private func work(
    _ operation: OperationDeclaration, _ edges: Edges, _ template: inout OperationTemplate,
    at position: Int, _ ownFiles: inout [OwnFileWishes]
  ) -> LoweredWork {
    let outputs = declaredOutputs(of: operation, edges)
    let substitution = Substitution(
      findings: findings, operation: operation, outputsByNeed: outputs)
    template.inputFiles = inputFiles(of: operation, edges)
    // Declared outputs of a need are sent along, whether or not a text names them.
    let isRead = outputs.contains { !$0.value.keys.isEmpty } || !template.inputFiles.isEmpty
    switch operation.work {
    case .nothing: return operation.members == nil ? .barrier : .group
    case .call(let call):
      template.work = .call(call.type)
      template.timeout = operation.settings.timeout
      template.grace = operation.settings.grace
      if let input = call.input { fillCall(input, substitution, &template) }
      if let wishes = self.ownFiles(of: operation, substitution, template, at: position) {
        ownFiles.append(wishes)
      }
      checkPayload(template, operation, "the input")
      // The operation's type may read the outputs of all its needs (S135).
      template.wantsInputs = !operation.needs.isEmpty
      return .call(call.type)
    case .run(let node):
      template.work = .command
      let own = OperationSecrets(secrets)
      let builder = CommandBuilder(substitution: substitution, secrets: own)
      // The finding makes the whole compilation fail; the barrier only fills the place.
      guard let command = builder.build(node) else { return .barrier }
      template.secrets = own.positions
      template.payload = encoders.command(command)
      template.wantsInputs = command.readsOutputs || isRead
      if let wishes = self.ownFiles(of: operation, substitution, template, at: position) {
        ownFiles.append(wishes)
      }
      checkPayload(template, operation, "the command")
      return .command(command)
    case .blocks(let declared):
      let own = OperationSecrets(secrets)
      let blocks = self.blocks(declared, substitution, own)
      template.secrets = own.positions
      template.work = .blocks(Self.types(of: blocks))
      template.timeout = operation.settings.timeout
      template.grace = operation.settings.grace
      let values = template.elementArguments
      template.elementArguments = wrapped(values, operation)
      template.payload = encoders.blocks(blocks)
      template.wantsInputs =
        isRead
        || blocks.contains { block in
          if case .command(let command) = block {
            command.readsOutputs
          } else {
            !operation.needs.isEmpty
          }
        }
      checkPayload(template, operation, "the blocks")
      return .blocks(blocks, values: values)
    }
  }

  /// What the needs of an operation declare to leave, by the names that it uses.
  private func declaredOutputs(
    of operation: OperationDeclaration, _ edges: Edges
  ) -> [String: Substitution.NeedOutputs] {
    var outputs: [String: Substitution.NeedOutputs] = [:]
    for need in operation.needs {
      guard let at = edges.positions[need.on.name] else { continue }
      let on = graph.operations[at]
      // By the name that the operation uses: a short one among siblings of a group.
      outputs[need.written] = .init(
        operation: on.name, keys: on.outputs,
        isList: on.elements != nil && need.match != .sameIndex)
    }
    return outputs
  }

  /// The files of its needs that an operation reads. Costs its needs and their files.
  private func inputFiles(of operation: OperationDeclaration, _ edges: Edges) -> [InputFile] {
    var files: [InputFile] = []
    for need in operation.needs {
      guard !need.files.isEmpty, let at = edges.positions[need.on.name] else { continue }
      let on = graph.operations[at]
      for file in need.files {
        // Which files a value has is known when it is there.
        guard on.leavesValue || on.outputFiles.contains(where: { $0.name == file.name }) else {
          let near = NearNames.hint(for: file.name, among: on.outputFiles.map(\.name))
          findings.error(
            "'\(need.written)' has no output file '\(file.name)'", file.place,
            hint: near.isEmpty
              ? "it declares its files as: outputs: {files: {\(file.name): PATH}}" : near)
          continue
        }
        files.append(
          InputFile(
            operation: on.name, file: file.name, folder: need.written,
            isByIndex: on.elements != nil && need.match != .sameIndex))
      }
    }
    if files.count > Limits.inputFilesPerOperation {
      findings.error(
        "'\(operation.name)' reads more than \(Limits.inputFilesPerOperation) files of its needs",
        operation.place, hint: "hand folders on, or patterns of files")
    }
    return files
  }

  /// Encodes the element values in the form that lists of blocks carry.
  /// Blocks are one payload for all elements, so their values come in an envelope of that format.
  /// Returns no arguments after the first item that is too large.
  private func wrapped(
    _ values: ElementArguments, _ operation: OperationDeclaration
  ) -> ElementArguments {
    var arguments = ElementArguments()
    for element in 0..<values.count {
      let bytes = encoders.blockElement(values[element])
      if bytes.count > Limits.elementArgumentBytes {
        findings.error(
          "an item of '\(operation.name)' is too large for blocks", operation.place,
          hint: "pass it by file")
        return ElementArguments()
      }
      arguments.append(bytes)
    }
    return arguments
  }

  /// The limit is that of one command with its environment.
  private func checkPayload(
    _ template: OperationTemplate, _ operation: OperationDeclaration, _ what: String
  ) {
    guard template.payload.count > Limits.payloadBytes else { return }
    findings.error(
      "\(what) of '\(operation.name)' has more than \(Limits.payloadBytes / 1024) KiB",
      operation.place, hint: "put the text in a file")
  }

  /// Blocks that could not be built are left out; their findings have been reported.
  private func blocks(
    _ declared: [DeclaredBlock], _ substitution: Substitution, _ secrets: OperationSecrets
  ) -> [OperationBlock] {
    let builder = CommandBuilder(substitution: substitution, secrets: secrets)
    let call = CallInputBuilder(substitution: substitution)
    return declared.compactMap { block in
      switch block {
      case .run(let node): return builder.block(node).map { .command($0) }
      case .call(let declared):
        guard let input = declared.input else { return .call(declared.type, argument: []) }
        guard let built = call.build(input) else { return nil }
        // Without places the argument is known, and is sent as it is.
        if built.hasPlaces { return .filledCall(declared.type, built) }
        return .call(declared.type, argument: built.json(element: [], index: 0))
      }
    }
  }

  /// Returns the distinct types that the blocks call, in order.
  /// The coordinator chooses workers that have all of them.
  private static func types(of blocks: [OperationBlock]) -> [OperationType] {
    var types: [OperationType] = []
    var seen: Set<OperationType> = []
    for block in blocks {
      guard let type = block.type, seen.insert(type).inserted else { continue }
      types.append(type)
    }
    return types
  }

  /// Three cases: one argument for all elements, one per element, or an argument that the worker
  /// fills in.
  private func fillCall(
    _ input: ManifestNode, _ substitution: Substitution, _ template: inout OperationTemplate
  ) {
    guard let built = CallInputBuilder(substitution: substitution).build(input) else { return }
    let values = template.elementArguments
    template.elementArguments = ElementArguments()
    guard built.hasPlaces else {
      template.payload = built.json(element: [], index: 0)
      return
    }
    // Outputs are known to the worker alone, so it gets the places and the element's values.
    if built.readsOutputs {
      template.fillsInput = true
      template.payload = encoders.callInput(built)
      if !built.elementKeys.isEmpty { template.elementArguments = values }
      return
    }
    // The remaining values differ only by element: each element gets its own argument.
    for element in 0..<template.count {
      let own = substitution.operation.elements?.values(Int(element)) ?? []
      let json = built.json(element: own, index: template.shownIndex(ofElement: element))
      let isTooLarge = json.count > Limits.elementArgumentBytes
      if isTooLarge
        || template.elementArguments.bytes.count + json.count > ElementColumns.maximumBytes
      {
        findings.error("the input of '\(template.name)' is too large", input.place)
        return
      }
      template.elementArguments.append(json)
    }
  }

  /// Counts operations that run; join points and `finally` do not count.
  /// The whole of which `max_failures: 20%` is a share.
  private static func running(_ templates: ArraySlice<OperationTemplate>) -> Int {
    templates.reduce(0) { $0 + ($1.work == .nothing || $1.isFinal ? 0 : Int($1.count)) }
  }

  /// Returns the failure scopes of arrays and groups with `max_failures`. The members of a group
  /// are adjacent.
  /// A group's scope goes from its first member to its last; nested groups and joints lie between.
  private func failureScopes(_ templates: [OperationTemplate]) -> [FailureScope] {
    var positions: [String: Int] = [:]
    for (at, template) in templates.enumerated() { positions[template.name] = at }
    return graph.operations.compactMap { operation in
      guard let bound = operation.maximumFailures else { return nil }
      let members = (operation.members ?? [operation.name]).compactMap { positions[$0] }
      guard let first = members.min(), let last = members.max() else { return nil }
      // Operations of `finally` count here: the scope has a total of its own.
      let total = templates[first...last].reduce(0) {
        $0 + ($1.work == .nothing ? 0 : Int($1.count))
      }
      return FailureScope(
        first: UInt32(first), count: UInt32(last - first + 1),
        maximumFailures: bound.count(of: total),
        cancelsRunning: operation.failureCancelsRunning ?? (graph.failurePolicy == .cancel))
    }
  }

  /// Findings about sums have no place: no line is to blame.
  private func checkLimits(_ submission: GraphSubmission, total: Int, bytes: Int) {
    if total > Limits.operationsPerGraph {
      findings.error("the graph has more than \(Limits.operationsPerGraph) operations", nil)
    }
    if submission.templates.count > Limits.templatesPerGraph {
      findings.error("the manifest has more than \(Limits.templatesPerGraph) operations", nil)
    }
    if submission.groupEdges.count > Limits.groupEdgesPerGraph {
      findings.error("the graph has more than \(Limits.groupEdgesPerGraph) dependencies", nil)
    }
    if submission.failureScopes.count > Limits.failureScopesPerGraph {
      findings.error(
        "more than \(Limits.failureScopesPerGraph) arrays and groups have a failure policy", nil)
    }
    if submission.queues.count > Limits.queuesPerGraph {
      findings.error("the graph uses more than \(Limits.queuesPerGraph) queues", nil)
    }
    let secretBytes = submission.secrets.reduce(0) { $0 + $1.utf8.count }
    if submission.secrets.count > Limits.secretsPerGraph || secretBytes > Limits.secretBytesPerGraph
    {
      findings.error(
        "the graph has more than \(Limits.secretsPerGraph) secrets, or more than "
          + "\(Limits.secretBytesPerGraph / 1024) KiB of them", nil,
        hint: "keep them in a file that workers can read")
    }
    // Three quarters of a message; the rest is for names, edges and what the submitter adds.
    if bytes > Limits.messageBytes * 3 / 4 {
      findings.error("the commands and items have more than 12 MiB together", nil)
    }
  }
}

/// Encodes the payloads of templates, which are opaque to the coordinator. This module has no
/// encoding of its own, so the caller provides it.
/// Closures, so that this module stays below the wire format.
public struct PayloadEncoders {
  public var command: (CommandSpecification) -> [UInt8]
  public var callInput: (CallInput) -> [UInt8]
  public var blocks: ([OperationBlock]) -> [UInt8]
  /// Encodes the argument of an element whose work is blocks, from its `ElementValues`.
  public var blockElement: ([UInt8]) -> [UInt8]
  public init(
    command: @escaping (CommandSpecification) -> [UInt8],
    callInput: @escaping (CallInput) -> [UInt8],
    blocks: @escaping ([OperationBlock]) -> [UInt8],
    blockElement: @escaping ([UInt8]) -> [UInt8]
  ) {
    self.command = command
    self.callInput = callInput
    self.blocks = blocks
    self.blockElement = blockElement
  }
}

extension OperationDeclaration {
  /// Whether the operation runs nothing and only joins dependencies.
  var isJoint: Bool {
    if case .nothing = work { true } else { false }
  }
}

/// The queues by position: the manifest's own first, then queues of the cluster in the order of
/// their first use.
/// O(1) expected for each look-up.
struct QueueTable {
  private(set) var references: [QueueReference]
  private var positions: [String: UInt32] = [:]
  private let findings: Findings
  private let ownNames: [String]

  /// A name that occurs twice is a finding of the decoder; here the later one wins.
  init(own: [QueueSettings], findings: Findings) {
    references = own.map { .own($0) }
    ownNames = own.map { $0.name }
    self.findings = findings
    for (at, name) in ownNames.enumerated() { positions[name] = UInt32(at) }
  }

  /// Returns a queue's position. A name that the manifest does not declare is a queue of the
  /// cluster. Join points go to `default`: a queue's limit or suspension does not concern them.
  /// A name that is nearly one of the manifest's queues is warned of: a typing mistake would
  /// otherwise wait in a queue of the cluster.
  mutating func position(_ queue: PlacedName?, isJoint: Bool) -> UInt32 {
    guard let queue, !isJoint else { return position(named: "default") }
    if positions[queue.name] == nil,
      let near = NearNames.nearest(to: queue.name, among: ownNames)
    {
      findings.warning(
        "'\(queue.name)' is taken for a queue of the cluster", queue.place,
        hint: "did you mean '\(near)'?")
    }
    return position(named: queue.name)
  }

  /// Each queue of the cluster is named once, at its first use.
  private mutating func position(named name: String) -> UInt32 {
    if let known = positions[name] { return known }
    let position = UInt32(references.count)
    references.append(.named(name))
    positions[name] = position
    return position
  }
}
