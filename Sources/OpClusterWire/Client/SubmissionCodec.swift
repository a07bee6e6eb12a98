// Converts a submitted graph ⇄ `Submission`.

import OpClusterModel

extension GraphSubmission: WireConvertible {
  var proto: ProtoSubmission {
    var proto = ProtoSubmission()
    proto.key = key.text
    proto.name = name
    proto.templates = templates.map(\.proto)
    if !groupEdges.isEmpty { proto.groupEdges = ProtoGroupEdges(groupEdges) }
    if elementEdges.count > 0 || !elementEdges.policies.isEmpty {
      proto.elementEdges = ProtoElementEdges(elementEdges)
    }
    if !externalEdges.isEmpty { proto.externalEdges = ProtoExternalEdges(externalEdges) }
    proto.queues = queues.map(\.proto)
    proto.failurePolicy = failurePolicy.proto
    if let maximumFailures { proto.maximumFailures = maximumFailures }
    proto.isSuspended = isSuspended
    proto.isDeclaredOnly = isDeclaredOnly
    proto.allowsCycles = allowsCycles
    proto.labels = labels.map(\.proto)
    proto.origin = clipped(origin, to: WireLimits.sentenceBytes)
    if let continued { proto.continued = continued.proto }
    proto.failureScopes = failureScopes.map(\.proto)
    if !secrets.isEmpty { proto.secrets = secrets }
    return proto
  }

  init(proto: ProtoSubmission) throws(WireError) {
    self.init(
      key: SubmissionKey(try text(proto.key, Limits.ownedSubmissionKeyBytes, "submission.key")),
      name: try text(proto.name, Limits.nameBytes, "submission.name"))
    templates = try list(proto.templates, Limits.templatesPerGraph, "submission.templates")
    try checkCount(operationCount, Limits.operationsPerGraph, "submission.templates.count")
    groupEdges = try proto.groupEdges.words()
    elementEdges = try proto.elementEdges.words(Limits.elementEdgesPerGraph)
    externalEdges = try proto.externalEdges.words()
    queues = try list(proto.queues, Limits.queuesPerGraph, "submission.queues")
    failurePolicy = try FailurePolicy(
      proto: proto.failurePolicy, unspecified: .continue, "submission.failure_policy")
    maximumFailures = proto.hasMaximumFailures ? proto.maximumFailures : nil
    isSuspended = proto.isSuspended
    isDeclaredOnly = proto.isDeclaredOnly
    allowsCycles = proto.allowsCycles
    labels = try list(proto.labels, Limits.labelsPerThing, "submission.labels")
    origin = try text(proto.origin, WireLimits.sentenceBytes, "submission.origin")
    continued = proto.hasContinued ? try ContinuedGraph(proto: proto.continued) : nil
    failureScopes = try list(
      proto.failureScopes, Limits.failureScopesPerGraph, "submission.failure_scopes")
    secrets = try checkSecrets(proto.secrets, "submission.secrets")
  }
}

/// Returns the secret values after a check of their number and their total bytes.
func checkSecrets(_ values: [String], _ field: String) throws(WireError) -> [String] {
  try checkCount(values.count, Limits.secretsPerGraph, field)
  try checkCount(values.reduce(0) { $0 + $1.utf8.count }, Limits.secretBytesPerGraph, field)
  return values
}

extension FailureScope: WireConvertible {
  var proto: ProtoFailureScope {
    var proto = ProtoFailureScope()
    proto.first = first
    proto.count = count
    proto.maximumFailures = maximumFailures
    proto.cancelsRunning = cancelsRunning
    return proto
  }
  init(proto: ProtoFailureScope) throws(WireError) {
    self.init(
      first: proto.first, count: proto.count, maximumFailures: proto.maximumFailures,
      cancelsRunning: proto.cancelsRunning)
  }
}

extension ContinuedGraph: WireConvertible {
  var proto: ProtoContinuedGraph {
    var proto = ProtoContinuedGraph()
    proto.graph = graph.number
    proto.reused = reused.proto
    return proto
  }
  init(proto: ProtoContinuedGraph) throws(WireError) {
    self.init(graph: GraphID(proto.graph), reused: try OperationRuns(proto: proto.reused))
    if reused.graph != graph { throw WireError("continued.reused", .outOfRange) }
  }
}

extension QueueReference: WireConvertible {
  var proto: ProtoQueueReference {
    var proto = ProtoQueueReference()
    switch self {
    case .named(let name): proto.named = name
    case .own(let settings): proto.own = settings.proto
    }
    return proto
  }
  init(proto: ProtoQueueReference) throws(WireError) {
    switch proto.queue {
    case .named(let name): self = .named(try text(name, Limits.nameBytes, "queues.named"))
    case .own(let settings): self = .own(try QueueSettings(proto: settings))
    case nil: throw WireError("queues.queue", .missing)
    }
  }
}

extension ProtoGroupEdges {
  init(_ edges: [GroupEdge]) {
    self.init()
    from = edges.map(\.from)
    to = edges.map(\.to)
    policy = edges.map(\.policy.proto)
    match = omitted(edges.map(\.match.proto), ifAll: .all)
  }

  func words() throws(WireError) -> [GroupEdge] {
    let field = "group_edges"
    let (from, to, policy) = (from, to, policy)
    try checkCount(from.count, Limits.groupEdgesPerGraph, field)
    try checkEqual(to.count, from.count, field)
    try checkEqual(policy.count, from.count, field)
    let matches = try Column(match, count: from.count, else: .all, field)
    var edges: [GroupEdge] = []
    edges.reserveCapacity(from.count)
    for at in from.indices {
      edges.append(
        GroupEdge(
          from: from[at], to: to[at], policy: try EdgePolicy(proto: policy[at], field),
          match: try GroupEdge.Match(proto: matches[at], unspecified: .all, field)))
    }
    return edges
  }
}

extension ProtoElementEdges {
  init(_ edges: ElementEdges) {
    self.init()
    fromDelta = differences(edges.from)
    toDelta = differences(edges.to)
    policy = edges.policies.map(\.proto)
  }

  func words(_ limit: Int) throws(WireError) -> ElementEdges {
    let field = "element_edges"
    try checkCount(fromDelta.count, limit, field)
    try checkEqual(toDelta.count, fromDelta.count, field)
    if policy.count != 1 { try checkEqual(policy.count, fromDelta.count, field) }
    return ElementEdges(
      from: sums(fromDelta), to: sums(toDelta), policies: try EdgePolicy.column(policy, field))
  }
}

extension ProtoExternalEdges {
  init(_ edges: [ExternalEdge]) {
    self.init()
    from = ProtoOperations(edges.map(\.from))
    to = edges.map(\.to)
    policy = edges.map(\.policy.proto)
  }

  func words() throws(WireError) -> [ExternalEdge] {
    let field = "external_edges"
    let operations = try from.words(Limits.groupEdgesPerGraph, field)
    try checkEqual(to.count, operations.count, field)
    let policies = try EdgePolicy.column(policy, field)
    try checkEqual(policies.count, operations.count, field)
    return operations.indices.map { at in
      ExternalEdge(from: operations[at], to: to[at], policy: policies[at])
    }
  }
}
