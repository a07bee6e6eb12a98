// The conditions for accepting a submission that follow from it alone: no state, no clock. The
// first violation refuses all of it (S58, G2). A submission that passes cannot cause a trap later:
// `GraphPlan` and `LoweredEdges` index into it without checks. So a new field of a submission that
// is an index, a count or a name needs a check here. The codec has bounded single numbers before; a
// local cluster has no codec.

import OpClusterModel

struct SubmissionChecks {
  private let submission: GraphSubmission

  init(_ submission: GraphSubmission) { self.submission = submission }

  /// Throws the first reason against the submission; returns its edges between templates. The sizes
  /// come first, since every later check costs what they bound: templates, edges and operations,
  /// each visited a constant number of times. The cycle search is last, because it builds the whole
  /// graph of the submission.
  func run() throws(Refusal) -> TemplateEdges {
    try checkSizes()
    try checkNames()
    for at in submission.templates.indices { try check(submission.templates[at], at) }
    try checkFailureScopes()
    var templateEdges = try checkedTemplateEdges()
    try checkElementEdges(beside: &templateEdges)
    try checkSecrets()
    if !submission.allowsCycles, submission.hasEdges {
      let search = CycleSearch(submission)
      var steps = 0
      if let cycle = try search.find(&steps) {
        throw Refusal(
          .cycle, "these operations wait for each other: \(cycle)",
          hint: "take one of these dependencies away")
      }
    }
    return templateEdges
  }

  /// Checks the secrets: the codec checks them in messages, but an in-process scheduler has no
  /// codec.
  private func checkSecrets() throws(Refusal) {
    try bound(submission.secrets.count, Limits.secretsPerGraph, "secrets")
    try bound(
      submission.secrets.reduce(0) { $0 + $1.utf8.count }, Limits.secretBytesPerGraph,
      "bytes of secrets")
  }

  /// Checks counts and bytes against `Limits`. Operations are added up in 64 bits, so that no
  /// counts of templates can overflow the sum.
  private func checkSizes() throws(Refusal) {
    try bound(submission.templates.count, Limits.templatesPerGraph, "templates")
    try bound(submission.groupEdges.count, Limits.groupEdgesPerGraph, "dependencies")
    try bound(submission.elementEdges.count, Limits.elementEdgesPerGraph, "dependencies")
    try bound(submission.externalEdges.count, Limits.groupEdgesPerGraph, "dependencies")
    try bound(submission.queues.count, Limits.queuesPerGraph, "queues")
    try bound(
      submission.failureScopes.count, Limits.failureScopesPerGraph,
      "parts with a failure policy of their own")
    try bound(submission.labels.count, Limits.labelsPerThing, "labels")
    try bound(submission.key.text.utf8.count, Limits.ownedSubmissionKeyBytes, "bytes in its key")
    try bound(submission.name.utf8.count, Limits.nameBytes, "bytes in its name")
    var total = 0
    for at in submission.templates.indices {
      total += Int(submission.templates[at].count)
      try bound(total, Limits.operationsPerGraph, "operations")
    }
  }

  /// Checks names, because a program can send a submission without a manifest.
  private func checkNames() throws(Refusal) {
    guard submission.name.isEmpty || submission.name.isPlainName else {
      throw Refusal(
        .badRequest, "the graph's name has a '/' or control characters, or over 128 bytes")
    }
    guard submission.key.text.isPlainText else {
      throw Refusal(.badRequest, "the graph's key has control characters")
    }
    if let label = submission.labels.first(where: { !$0.isPlain }) { throw Self.bad(label) }
    // The graph's number is put in front of the names of its own queues later.
    for case .own(let settings) in submission.queues where !settings.name.isValidName {
      throw Refusal(.badRequest, "'\(settings.name)' cannot be the name of a queue")
    }
  }

  private static func bad(_ label: Label) -> Refusal {
    Refusal(
      .badRequest,
      "a label has control characters, or its key is empty or over \(Limits.nameBytes) bytes: "
        + "'\(String(label.key.filter { "\($0)".isPlainText }.prefix(32)))'")
  }

  /// Refuses a count above a limit; `what` is a plural noun for the sentence.
  private func bound(_ count: Int, _ limit: Int, _ what: String) throws(Refusal) {
    if count > limit {
      throw Refusal(
        .limitExceeded, "the graph has more than \(limit) \(what)",
        hint: "split it into several submissions")
    }
  }

  /// Checks one template: all that does not depend on other templates.
  private func check(_ template: OperationTemplate, _ at: Int) throws(Refusal) {
    func refuse(_ what: String) -> Refusal {
      Refusal(.badRequest, "operation \(template.name): \(what)")
    }
    guard template.name.isPlainName else {
      throw Refusal(
        .badRequest,
        "template \(at) has no name of 1 to 128 bytes without '/' and control characters")
    }
    if let label = template.labels.first(where: { !$0.isPlain }) { throw Self.bad(label) }
    if template.payload.count > Limits.payloadBytes {
      throw refuse("its description exceeds \(Limits.payloadBytes) bytes")
    }
    if !(1...Limits.replicas).contains(template.replicas) {
      throw refuse("\(template.replicas) replicas, not 1 to \(Limits.replicas)")
    }
    // One argument for each element, or none at all: `argument(of:)` indexes by element.
    let arguments = template.elementArguments
    if !arguments.isEmpty, arguments.count != Int(template.count) {
      throw refuse("\(arguments.count) items for \(template.count) elements")
    }
    let own = template.ownFiles
    if !own.isEmpty, own.count != 1, own.count != Int(template.count) {
      throw refuse("files of the submitter for \(own.count) of \(template.count) elements")
    }
    // Without queues of its own a submission has one, the queue `default`, as number 0.
    if submission.queues.isEmpty ? template.queue != 0 : template.queue >= submission.queues.count {
      throw refuse("it names queue number \(template.queue), which the graph does not have")
    }
    // A barrier has one place; an array would have one for each element and no order among them.
    if template.isBarrier, template.count != 1 { throw refuse("a barrier is one operation") }
    let demand = template.demand
    let isFitting =
      [demand.cpus.tenThousandths, demand.memoryBytes, demand.gpus.tenThousandths]
      .allSatisfy(Self.isAmount)
      && demand.custom.allSatisfy { Self.isAmount($0.amount.tenThousandths) }
    if !isFitting { throw refuse("a resource demand is negative or beyond all machines") }
    if demand.custom.count > Limits.customResources {
      throw refuse("more than \(Limits.customResources) kinds of resources")
    }
    // No worker can have these, so that it would wait for ever.
    if demand.custom.contains(where: { $0.name.isEmpty }) { throw refuse("a resource has no name") }
    if template.requirements.contains(where: { $0.key.isEmpty || $0.values.isEmpty }) {
      throw refuse("a requirement has no key or no values")
    }
  }

  /// Amounts are in the smallest unit: ten-thousandths of a cpu, gpu or custom resource, bytes of
  /// memory.
  private static func isAmount(_ amount: Int64) -> Bool {
    amount >= 0 && amount <= Limits.resourceAmount
  }

  /// Scopes are ranges of templates. They may overlap; an empty one or one beyond the templates is
  /// refused. Widened to 64 bits, since first and count are each up to 2^32 - 1.
  private func checkFailureScopes() throws(Refusal) {
    for scope in submission.failureScopes
    where scope.count == 0
      || UInt64(scope.first) + UInt64(scope.count) > UInt64(submission.templates.count)
    {
      throw Refusal(
        .badRequest, "a failure policy is for templates that the graph does not have")
    }
  }

  /// Checks edges between templates. The same pair may be matched in two ways but not have two
  /// policies (S30). Costs the edges.
  private func checkedTemplateEdges() throws(Refusal) -> TemplateEdges {
    for edge in submission.groupEdges {
      guard edge.from < submission.templates.count, edge.to < submission.templates.count else {
        throw Refusal(.unknownDependency, "a dependency names template \(edge.from)")
      }
      // A template is large: looked at where it is, not copied.
      func template(_ at: UInt32) -> OperationTemplate { submission.templates[Int(at)] }
      if edge.from == edge.to {
        throw Refusal(.selfDependency, "operation \(template(edge.to).name) waits for itself")
      }
      let from = submission.templates[Int(edge.from)].count
      let to = submission.templates[Int(edge.to)].count
      if edge.match == .sameIndex, from != to {
        throw Refusal(
          .badRequest,
          "\(template(edge.to).name) waits element by element for \(template(edge.from).name), "
            + "but they have \(to) and \(from)")
      }
    }
    let edges = TemplateEdges(submission)
    if let conflict = edges.conflict {
      let edge = submission.groupEdges[conflict]
      throw Refusal(
        .conflictingEdge,
        "\(submission.templates[Int(edge.to)].name) waits for "
          + "\(submission.templates[Int(edge.from)].name) in two ways")
    }
    return edges
  }

  /// Checks edges between operations, which come as columns of equal length; a policies column of
  /// one value counts for all. With one policy no pair can conflict. Costs the edges, times the
  /// logarithm of the templates if templates are connected.
  private func checkElementEdges(beside templateEdges: inout TemplateEdges) throws(Refusal) {
    let edges = submission.elementEdges
    let count = UInt32(submission.operationCount)
    let policies = edges.policies.count
    guard edges.from.count == edges.to.count, policies == 1 || policies == edges.count else {
      throw Refusal(.badRequest, "the columns of the dependencies have different lengths")
    }
    func refuse(_ from: UInt32, _ to: UInt32) -> Refusal {
      Refusal(.conflictingEdge, "operation \(to) waits for \(from) in two ways")
    }
    for at in edges.from.indices {
      let (from, to) = (edges.from[at], edges.to[at])
      try check(from, to, count)
      let whole = templateEdges.policy(from: from, to: to)
      let policy = edges.policies[policies == 1 ? 0 : at]
      guard whole ?? policy == policy else { throw refuse(from, to) }
    }
    if edges.policies.allSatisfy({ $0 == edges.policies[0] }) { return }
    let table = EdgeTable(
      operations: Int(count), keys: edges.to, values: edges.from, edges: edges)
    if let (from, to) = table.contradiction() { throw refuse(from, to) }
  }

  private func check(_ from: UInt32, _ to: UInt32, _ count: UInt32) throws(Refusal) {
    if from >= count || to >= count {
      throw Refusal(
        .unknownDependency, "a dependency names operation \(max(from, to)) of \(count)")
    }
    if from == to { throw Refusal(.selfDependency, "operation \(to) waits for itself") }
  }
}

extension Label {
  /// Whether the label can be shown and queried.
  fileprivate var isPlain: Bool {
    !key.isEmpty && key.utf8.count <= Limits.nameBytes && key.isPlainText && value.isPlainText
  }
}
