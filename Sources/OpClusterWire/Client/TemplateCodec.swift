// Converts an operation template ⇄ `Template`, and the part of it that a worker receives.
// A template stands for all elements of an array, so its size does not grow with them, but for
// arguments and shown numbers. Retries, allowed failures and kinds of work follow below it.

import FoundationEssentials
import OpClusterModel

extension OperationTemplate: WireConvertible {
  /// Leaves fields with default values untouched: each access to the generated storage costs time,
  /// and a graph may have very many templates.
  var proto: ProtoTemplate {
    var proto = ProtoTemplate()
    proto.name = name
    if count != 0 { proto.count = count }
    if isArray { proto.isArray = true }
    if !indexRuns.isEmpty { proto.indexRuns = ProtoIndexRuns(indexRuns) }
    set(work, in: &proto)
    if !payload.isEmpty { proto.payload = data(payload) }
    if !elementArguments.isEmpty {
      proto.elementArguments = data(elementArguments.bytes)
      proto.elementArgumentLength = elementArguments.lengths
    }
    if queue != 0 { proto.queue = queue }
    // Always set: the value 0 of an enum is never sent on purpose.
    proto.priority = priority.proto
    if let qos { proto.qos = qos.proto }
    if demand != Resources() { proto.demand = ProtoResources(demand) }
    if !requirements.isEmpty { proto.requirements = requirements.map(\.proto) }
    if retry != .never { proto.retry = retry.proto }
    // The default of losses is a number of this release; only another choice is sent.
    if maximumLosses != Limits.lossesBeforeGivingUp { proto.maximumLosses = maximumLosses }
    if maximumParallel != 0 { proto.maximumParallel = maximumParallel }
    set(allowedFailures, in: &proto)
    setSwitches(in: &proto)
    if let timeout { proto.timeoutNanoseconds = timeout.nanoseconds }
    if let grace { proto.graceNanoseconds = grace.nanoseconds }
    // One of two ways to say when: after a time, or at one (S150).
    switch notBefore {
    case nil: break
    case .after(let span): proto.delayNanoseconds = span.nanoseconds
    case .at(let time): proto.notBeforeTime = time.milliseconds
    }
    if !labels.isEmpty { proto.labels = labels.map(\.proto) }
    if !secrets.isEmpty { proto.secrets = secrets }
    if !inputFiles.isEmpty { proto.inputFiles = inputFiles.map(\.proto) }
    if !ownFiles.isEmpty {
      proto.ownFiles = data(ownFiles.bytes)
      proto.ownFilesLength = ownFiles.lengths
    }
    return proto
  }

  /// Types belong to the work: a call names one, blocks name all that they call, so that a worker
  /// can be chosen.
  private func set(_ work: Work, in proto: inout ProtoTemplate) {
    switch work {
    case .nothing: proto.work = .nothing
    case .command: proto.work = .command
    case .call(let type):
      proto.work = .call
      proto.type = type.proto
    case .blocks(let types):
      proto.work = .blocks
      proto.blockTypes = types.map(\.proto)
    }
  }

  /// A list of statuses counts only beside its kind, and may be empty.
  private func set(_ allowedFailures: AllowedFailures, in proto: inout ProtoTemplate) {
    switch allowedFailures {
    case .none: break
    case .all: proto.allowedFailures = .all
    case .exitStatuses(let statuses):
      proto.allowedFailures = .exitStatuses
      proto.allowedExitStatuses = statuses
    }
  }

  /// Booleans that are false are not sent, which is the default of protobuf.
  private func setSwitches(in proto: inout ProtoTemplate) {
    if isFinal { proto.isFinal = true }
    if isBarrier { proto.isBarrier = true }
    if wantsInputs { proto.wantsInputs = true }
    if isHeld { proto.isHeld = true }
    if fillsInput { proto.fillsInput = true }
    if isExclusive { proto.isExclusive = true }
    if isReusable { proto.isReusable = true }
    if !isReproducible { proto.isIrreproducible = true }
    if replicas != 1 { proto.replicas = UInt32(replicas) }
  }

  /// Every count is bounded before memory depends on it. Positions of queues and secrets are
  /// checked with the whole graph, where their lists are known.
  init(proto: ProtoTemplate) throws(WireError) {
    self.init(
      name: try text(proto.name, Limits.nameBytes, "template.name"), count: proto.count,
      work: try Work(proto.work, proto.type, proto.blockTypes))
    try checkCount(Int(count), Limits.operationsPerGraph, "template.count")
    isArray = proto.isArray
    indexRuns = try proto.indexRuns.words("template.index_runs")
    payload = try opaque(proto.payload, Limits.payloadBytes, "template.payload")
    elementArguments = try ElementArguments(
      proto.elementArguments, proto.elementArgumentLength, of: [Int(count)],
      most: Limits.elementArgumentBytes, "template.element_arguments")
    queue = proto.queue
    priority = try Priority(proto: proto.priority, unspecified: .normal, "template.priority")
    qos = try QualityOfService?(proto: proto.qos, "template.qos")
    // An absent demand is one cpu, the default of `Resources()`, and not nothing.
    demand = proto.hasDemand ? try proto.demand.words("template.demand") : Resources()
    requirements = try list(proto.requirements, Limits.labelsPerThing, "template.requirements")
    retry = proto.hasRetry ? try RetryPolicy(proto: proto.retry) : .never
    // Presence matters: 0 losses mean that the first loss ends the operation.
    maximumLosses = proto.hasMaximumLosses ? proto.maximumLosses : Limits.lossesBeforeGivingUp
    maximumParallel = proto.maximumParallel
    allowedFailures = try AllowedFailures(proto)
    isFinal = proto.isFinal
    isBarrier = proto.isBarrier
    wantsInputs = proto.wantsInputs
    timeout =
      proto.hasTimeoutNanoseconds
      ? try span(proto.timeoutNanoseconds, "template.timeout") : nil
    grace =
      proto.hasGraceNanoseconds ? try span(proto.graceNanoseconds, "template.grace") : nil
    isHeld = proto.isHeld
    // A wall-clock time is any number; the longest delay is checked when the submission is
    // accepted.
    switch proto.notBefore {
    case nil: notBefore = nil
    case .delayNanoseconds(let wait): notBefore = .after(try span(wait, "template.delay"))
    case .notBeforeTime(let time): notBefore = .at(WallTime(milliseconds: time))
    }
    fillsInput = proto.fillsInput
    isExclusive = proto.isExclusive
    isReusable = proto.isReusable
    isReproducible = !proto.isIrreproducible
    guard proto.replicas <= UInt32(Limits.replicas) else {
      throw WireError("template.replicas", .outOfRange)
    }
    replicas = max(UInt8(proto.replicas), 1)
    labels = try list(proto.labels, Limits.labelsPerThing, "template.labels")
    // Positions only: the values are in the submission.
    try checkCount(proto.secrets.count, Limits.secretsPerGraph, "template.secrets")
    secrets = proto.secrets
    inputFiles = try list(
      proto.inputFiles, Limits.inputFilesPerOperation, "template.input_files")
    ownFiles = try ElementArguments(
      proto.ownFiles, proto.ownFilesLength, of: [1, Int(count)],
      most: Limits.ownFilesBytes, "template.own_files")
  }
}

/// Shared by templates and announcements: the worker is told the same kinds.
extension Work {
  /// Kind, type of a call, types of blocks; what does not belong to the kind is empty, and is not
  /// sent.
  var protos: (ProtoWorkKind, ProtoOperationType, [ProtoOperationType]) {
    switch self {
    case .nothing: (.nothing, ProtoOperationType(), [])
    case .command: (.command, ProtoOperationType(), [])
    case .call(let type): (.call, type.proto, [])
    case .blocks(let types): (.blocks, ProtoOperationType(), types.map(\.proto))
    }
  }

  /// A work kind names at most as many types as a worker may offer; no worker could serve more.
  init(
    _ kind: ProtoWorkKind, _ type: ProtoOperationType, _ blockTypes: [ProtoOperationType]
  ) throws(WireError) {
    switch kind {
    case .nothing: self = .nothing
    case .command: self = .command
    case .call: self = .call(try OperationType(proto: type))
    case .blocks:
      self = .blocks(try list(blockTypes, WireLimits.typesPerWorker, "work.block_types"))
    case .unspecified, .UNRECOGNIZED:
      throw WireError("work", .unknownValue(kind.rawValue))
    }
  }
}

/// Without a field no failure is allowed.
extension AllowedFailures {
  fileprivate init(_ proto: ProtoTemplate) throws(WireError) {
    let field = "template.allowed_failures"
    switch proto.allowedFailures {
    case .unspecified: self = .none
    case .all: self = .all
    case .exitStatuses:
      // More statuses than exist would be no use, and cost a look at each end.
      try checkCount(proto.allowedExitStatuses.count, WireLimits.exitStatuses, field)
      self = .exitStatuses(proto.allowedExitStatuses)
    case .UNRECOGNIZED(let number): throw WireError(field, .unknownValue(number))
    }
  }
}

/// All arguments are one run of bytes with the length of each: an array of a million items is two
/// fields, not a million.
extension ElementArguments {
  /// Memory holds ends, for access by position; the wire holds lengths, which are smaller numbers.
  fileprivate var lengths: [UInt32] {
    var last: UInt32 = 0
    return ends.map { end in
      defer { last = end }
      return end &- last
    }
  }

  /// Throws `unequalColumns` if there are lengths, but not as many as one of `counts`, or if the
  /// bytes are not as many as the lengths say.
  fileprivate init(
    _ column: Data, _ lengths: [UInt32], of counts: [Int], most: Int, _ field: String
  ) throws(WireError) {
    if !lengths.isEmpty, !counts.contains(lengths.count) {
      throw WireError(field, .unequalColumns)
    }
    var ends: [UInt32] = []
    ends.reserveCapacity(lengths.count)
    var end: UInt32 = 0
    for length in lengths {
      try checkCount(Int(length), most, field)
      // Ends are 32 bits wide, so all arguments together stay below 4 GiB; a frame is far smaller.
      let (sum, overflow) = end.addingReportingOverflow(length)
      if overflow { throw WireError(field, .outOfRange) }
      end = sum
      ends.append(end)
    }
    let all = try opaque(column, Int(end), field)
    guard let arguments = ElementArguments(bytes: all, ends: ends) else {
      throw WireError(field, .unequalColumns)
    }
    self = arguments
  }
}

/// Absent in the template means no further attempts.
extension RetryPolicy: WireConvertible {
  var proto: ProtoRetryPolicy {
    var proto = ProtoRetryPolicy()
    proto.maximum = maximum
    proto.reasons = reasons.map(\.proto)
    proto.backoffNanoseconds = backoff.nanoseconds
    proto.backoffPercent = backoffPercent
    proto.maximumBackoffNanoseconds = maximumBackoff.nanoseconds
    proto.avoidsWorker = avoidsWorker
    return proto
  }

  /// Throws `outOfRange` for more than 100 further attempts. Any percentage is taken: the waits are
  /// capped by their maximum.
  init(proto: ProtoRetryPolicy) throws(WireError) {
    if proto.maximum > 100 { throw WireError("retry.maximum", .outOfRange) }
    self.init(
      maximum: proto.maximum,
      reasons: try list(proto.reasons, WireLimits.retryReasons, "retry.reasons"),
      backoff: try span(proto.backoffNanoseconds, "retry.backoff"),
      backoffPercent: proto.backoffPercent,
      maximumBackoff: try span(proto.maximumBackoffNanoseconds, "retry.maximum_backoff"),
      avoidsWorker: proto.avoidsWorker)
  }
}

/// The numbers are a signal's, or the first and last exit status.
extension RetryPolicy.Reason: WireConvertible {
  var proto: ProtoRetryReason {
    var proto = ProtoRetryReason()
    switch self {
    case .any: proto.kind = .any
    case .failed: proto.kind = .failed
    case .timeout: proto.kind = .timeout
    case .outOfMemory: proto.kind = .outOfMemory
    case .lost: proto.kind = .lost
    case .anySignal: proto.kind = .anySignal
    case .signal(let number):
      proto.kind = .signal
      proto.first = number
    case .exit(let first, let last):
      proto.kind = .exit
      proto.first = Int32(first)
      proto.last = Int32(last)
    }
    return proto
  }

  /// Exit statuses are 0 to 255, so a wider number is refused. A signal is taken as it is: one that
  /// does not exist never matches.
  init(proto: ProtoRetryReason) throws(WireError) {
    switch proto.kind {
    case .any: self = .any
    case .failed: self = .failed
    case .timeout: self = .timeout
    case .outOfMemory: self = .outOfMemory
    case .lost: self = .lost
    case .anySignal: self = .anySignal
    case .signal: self = .signal(proto.first)
    case .exit:
      self = .exit(
        try narrow(proto.first, "retry.reasons.first"),
        try narrow(proto.last, "retry.reasons.last"))
    case .unspecified, .UNRECOGNIZED:
      throw WireError("retry.reasons.kind", .unknownValue(proto.kind.rawValue))
    }
  }
}

/// A worker learns a template once per conversation, before the first dispatch that names it. It
/// holds what a template and its graph say about running an operation, and nothing about
/// scheduling.
extension TemplateAnnouncement: WireConvertible {
  var proto: ProtoTemplateAnnouncement {
    var proto = ProtoTemplateAnnouncement()
    proto.graph = graph.number
    proto.graphName = graphName
    proto.template = template
    proto.firstIndex = firstIndex
    proto.name = name
    proto.isArray = isArray
    if !indexRuns.isEmpty { proto.indexRuns = ProtoIndexRuns(indexRuns) }
    // The three fields of the work, in the order of the tuple.
    (proto.work, proto.type, proto.blockTypes) = work.protos
    proto.payload = data(payload)
    proto.demand = ProtoResources(demand)
    proto.qos = qos.proto
    proto.queueName = queueName
    if let timeout { proto.timeoutNanoseconds = timeout.nanoseconds }
    if let grace { proto.graceNanoseconds = grace.nanoseconds }
    // False is what an earlier coordinator says by silence.
    proto.fillsInput = fillsInput
    proto.isExclusive = isExclusive
    // The values themselves travel here: announcements are the only message for workers that has
    // them (G39).
    if !secrets.isEmpty { proto.secrets = secrets }
    proto.submitter = submitter
    if let traceParent { proto.traceParent = "\(traceParent)" }
    if !inputFiles.isEmpty { proto.inputFiles = inputFiles.map(\.proto) }
    return proto
  }

  /// Throws for texts and lists beyond their limits: a worker trusts its coordinator no more than
  /// it must.
  init(proto: ProtoTemplateAnnouncement) throws(WireError) {
    self.init(
      graph: GraphID(proto.graph),
      graphName: try text(proto.graphName, Limits.nameBytes, "announcement.graph_name"),
      template: proto.template, firstIndex: proto.firstIndex,
      name: try text(proto.name, Limits.nameBytes, "announcement.name"), isArray: proto.isArray,
      indexRuns: try proto.indexRuns.words("announcement.index_runs"),
      work: try Work(proto.work, proto.type, proto.blockTypes),
      payload: try opaque(proto.payload, Limits.payloadBytes, "announcement.payload"),
      demand: try proto.demand.words("announcement.demand"),
      // Not nil: the coordinator has resolved the queue's service already (S55).
      qos: try QualityOfService(
        proto: proto.qos, unspecified: .default, "announcement.qos"))
    queueName = try text(
      proto.queueName, WireLimits.queueNameBytes, "announcement.queue_name")
    timeout =
      proto.hasTimeoutNanoseconds
      ? try span(proto.timeoutNanoseconds, "announcement.timeout") : nil
    grace =
      proto.hasGraceNanoseconds
      ? try span(proto.graceNanoseconds, "announcement.grace") : nil
    fillsInput = proto.fillsInput
    isExclusive = proto.isExclusive
    secrets = try checkSecrets(proto.secrets, "announcement.secrets")
    submitter = try text(proto.submitter, Limits.labelBytes, "announcement.submitter")
    inputFiles = try list(
      proto.inputFiles, Limits.inputFilesPerOperation, "announcement.input_files")
    // What is none is nobody's loss.
    traceParent = TraceParent(
      try text(proto.traceParent, Limits.labelBytes, "announcement.trace_parent"))
  }
}

extension InputFile: WireConvertible {
  var proto: ProtoInputFile {
    var proto = ProtoInputFile()
    proto.operation = operation
    proto.file = file
    proto.folder = folder
    proto.isByIndex = isByIndex
    return proto
  }

  /// Folder and file become names on the worker's disk, so that neither may leave its folder.
  init(proto: ProtoInputFile) throws(WireError) {
    for name in [proto.file, proto.folder] {
      // The submitter's have no folder.
      if name == InputFile.submitter, proto.operation == name, proto.file != name { continue }
      guard !name.contains("/"), RelativePath.isValid(name) else {
        throw WireError("input_file", .outOfRange)
      }
    }
    self.init(
      operation: try text(proto.operation, Limits.nameBytes, "input_file.operation"),
      file: proto.file, folder: proto.folder, isByIndex: proto.isByIndex)
  }
}
