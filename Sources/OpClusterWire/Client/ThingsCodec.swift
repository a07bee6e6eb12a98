// Converts small words that several messages share: resources, labels, types, queues, refusals,
// logs.
// Limits that only this module needs are at the end.

import OpClusterModel

/// Key and value have the same limit, and neither has a grammar here.
extension Label: WireConvertible {
  var proto: ProtoLabel {
    var proto = ProtoLabel()
    proto.key = key
    proto.value = value
    return proto
  }
  init(proto: ProtoLabel) throws(WireError) {
    self.init(
      key: try text(proto.key, Limits.labelBytes, "label.key"),
      value: try text(proto.value, Limits.labelBytes, "label.value"))
  }
}

/// A worker fits if its label of this key has one of the values; without values none fits.
extension LabelRequirement: WireConvertible {
  var proto: ProtoLabelRequirement {
    var proto = ProtoLabelRequirement()
    proto.key = key
    proto.values = values
    return proto
  }
  init(proto: ProtoLabelRequirement) throws(WireError) {
    self.init(
      key: try text(proto.key, Limits.labelBytes, "requirement.key"),
      values: try texts(
        proto.values, WireLimits.valuesPerRequirement, bytes: Limits.labelBytes,
        "requirement.values"))
  }
}

/// Version and fingerprint are part of the type: workers say which they have (S128). Fingerprint 0
/// agrees with any.
extension OperationType: WireConvertible {
  var proto: ProtoOperationType {
    var proto = ProtoOperationType()
    proto.name = name
    proto.version = version
    proto.fingerprint = fingerprint
    return proto
  }
  init(proto: ProtoOperationType) throws(WireError) {
    self.init(
      name: try text(proto.name, Limits.nameBytes, "type.name"), version: proto.version,
      fingerprint: proto.fingerprint)
  }
}

/// Amounts are ten-thousandths, except memory, which is bytes. The field of the enclosing message
/// is absent for the default, so 0 stays 0 here.
extension ProtoResources {
  init(_ resources: Resources) {
    self.init()
    cpus = resources.cpus.tenThousandths
    memoryBytes = resources.memoryBytes
    gpus = resources.gpus.tenThousandths
    custom = resources.custom.map { named in
      var proto = ProtoNamedAmount()
      proto.name = named.name
      proto.tenThousandths = named.amount.tenThousandths
      return proto
    }
  }

  /// `lowest` is 0, except for the remaining amounts of a worker with prefetched work.
  /// - Parameter field: Names the whole: an error in one amount does not say which.
  ///
  /// - Throws: `outOfRange` for an amount below `lowest`, and for custom names that do not ascend.
  /// Ascending names make two equal resources equal in their columns too.
  func words(lowest: Int64 = 0, _ field: String) throws(WireError) -> Resources {
    try checkCount(custom.count, Limits.customResources, field)
    var named: [Resources.NamedAmount] = []
    for proto in custom {
      let name = try text(proto.name, Limits.nameBytes, field)
      if let last = named.last, last.name >= name { throw WireError(field, .outOfRange) }
      let amount = ResourceAmount(tenThousandths: proto.tenThousandths)
      named.append(Resources.NamedAmount(name: name, amount: amount))
    }
    let amounts = [cpus, memoryBytes, gpus] + named.map(\.amount.tenThousandths)
    if amounts.contains(where: { $0 < lowest }) { throw WireError(field, .outOfRange) }
    return Resources(
      cpus: ResourceAmount(tenThousandths: cpus), memoryBytes: memoryBytes,
      gpus: ResourceAmount(tenThousandths: gpus), custom: named)
  }
}

/// A limit that is absent is none; 0 is a limit, under which nothing starts (S65).
extension QueueSettings: WireConvertible {
  var proto: ProtoQueueSettings {
    var proto = ProtoQueueSettings()
    proto.name = name
    proto.qos = qos.proto
    if let maximumConcurrent { proto.maximumConcurrent = maximumConcurrent }
    proto.isSuspended = isSuspended
    if !pool.isEmpty { proto.pool = pool.map(\.proto) }
    return proto
  }
  /// Throws for a service of a later release; without one it is the default (S57).
  init(proto: ProtoQueueSettings) throws(WireError) {
    self.init(
      name: try text(proto.name, Limits.nameBytes, "queue.name"),
      qos: try QualityOfService(proto: proto.qos, unspecified: .default, "queue.qos"),
      maximumConcurrent: proto.hasMaximumConcurrent ? proto.maximumConcurrent : nil,
      isSuspended: proto.isSuspended,
      pool: try list(proto.pool, Limits.labelsPerThing, "queue.pool"))
  }
}

/// One refusal for clients and workers. Its texts are for people, its code for programs.
extension Refusal: WireWorded {
  func proto(_ wording: (Advice) -> String) -> ProtoRefusal {
    var proto = ProtoRefusal()
    proto.code = code.proto
    // Texts are clipped, since a refusal must arrive rather than be exact.
    proto.message = clipped(message, to: WireLimits.sentenceBytes)
    proto.hint = clipped(hint.words(wording), to: WireLimits.sentenceBytes)
    if let advice = hint.code { proto.advice = advice }
    if !operations.isEmpty { proto.operations = ProtoOperations(operations) }
    // Clamped to what readers accept: a negative or absurd wait would make the refusal itself
    // malformed.
    if let retryAfter {
      proto.retryAfter = min(max(retryAfter, .zero), Limits.longestRetryAfter).nanoseconds
    }
    proto.lacksRoom = lacksRoom
    return proto
  }
  /// An unknown code is BAD_REQUEST: the client does not repeat the request, and shows the message
  /// (G32).
  init(proto: ProtoRefusal) throws(WireError) {
    let retryAfter = try span(proto.retryAfter, "refusal.retry_after")
    if retryAfter > Limits.longestRetryAfter {
      throw WireError("refusal.retry_after", .outOfRange)
    }
    let hint = try text(proto.hint, WireLimits.sentenceBytes, "refusal.hint")
    self.init(
      Code(wireNumber: proto.code.rawValue) ?? .badRequest,
      try text(proto.message, WireLimits.sentenceBytes, "refusal.message"),
      // The hint in words is the fallback for a code that is not known here.
      hint: try Advice(code: proto.advice) ?? .text(hint),
      operations: try proto.operations.words(Limits.operationsPerGraph, "refusal.operations"),
      retryAfter: retryAfter == .zero ? nil : retryAfter, lacksRoom: proto.lacksRoom)
  }
}

/// A range without any version would be compatible with nothing, and is refused as malformed.
extension ProtocolVersions: WireConvertible {
  var proto: ProtoProtocolVersions {
    var proto = ProtoProtocolVersions()
    proto.lowest = lowest
    proto.highest = highest
    return proto
  }
  init(proto: ProtoProtocolVersions) throws(WireError) {
    if proto.lowest > proto.highest { throw WireError("versions", .outOfRange) }
    self.init(lowest: proto.lowest, highest: proto.highest)
  }
}

/// Seven spans; a worker lives by those of its coordinator, not by its own.
extension Timing: WireConvertible {
  var proto: ProtoTiming {
    var proto = ProtoTiming()
    proto.heartbeat = heartbeat.nanoseconds
    proto.suspect = suspect.nanoseconds
    proto.lost = lost.nanoseconds
    proto.resync = resync.nanoseconds
    proto.grace = grace.nanoseconds
    proto.orphan = orphan.nanoseconds
    proto.fence = fence.nanoseconds
    return proto
  }
  init(proto: ProtoTiming) throws(WireError) {
    self.init()
    heartbeat = try span(proto.heartbeat, "timing.heartbeat")
    suspect = try span(proto.suspect, "timing.suspect")
    lost = try span(proto.lost, "timing.lost")
    resync = try span(proto.resync, "timing.resync")
    grace = try span(proto.grace, "timing.grace")
    orphan = try span(proto.orphan, "timing.orphan")
    // A coordinator of an earlier release does not send this field.
    if proto.hasFence { fence = try span(proto.fence, "timing.fence") }
  }
}

/// A piece of a log, on its way from a worker over the coordinator to a client. Bytes are raw, as
/// the operation wrote them.
extension LogChunk: WireConvertible {
  var proto: ProtoLogChunk {
    var proto = ProtoLogChunk()
    proto.number = number
    proto.offset = offset
    proto.bytes = data(bytes)
    proto.size = size
    proto.isComplete = isComplete
    proto.problem = clipped(problem, to: Limits.reasonBytes)
    return proto
  }
  /// Offsets and sizes are clamped, since they are measured on another machine.
  init(proto: ProtoLogChunk) throws(WireError) {
    self.init(
      number: proto.number, offset: min(proto.offset, Limits.measuredAmount),
      bytes: try opaque(proto.bytes, Limits.logChunkBytes, "log.bytes"),
      size: min(proto.size, Limits.measuredAmount), isComplete: proto.isComplete,
      problem: try text(proto.problem, Limits.reasonBytes, "log.problem"))
  }
}

/// The shown numbers of an array, as runs: 0, 10, 20 … is one.
extension ProtoIndexRuns {
  init(_ runs: [IndexRun]) {
    self.init()
    first = runs.map(\.first)
    count = runs.map(\.count)
    step = omitted(runs.map(\.step), ifAll: 1)
  }

  /// Throws for more runs than `WireLimits.indexRuns`. Whether they cover all elements is checked
  /// with the graph.
  func words(_ field: String) throws(WireError) -> [IndexRun] {
    try checkCount(first.count, WireLimits.indexRuns, field)
    try checkEqual(count.count, first.count, field)
    let steps = try Column(step, count: first.count, else: 1, field)
    return first.indices.map { at in
      IndexRun(first: first[at], count: count[at], step: steps[at])
    }
  }
}

/// Limits that only this module needs; all others are in `Limits`.
enum WireLimits {
  /// Values of one label that a requirement accepts.
  static let valuesPerRequirement = 1_024
  /// Types that one worker registers, and types that one block operation calls.
  static let typesPerWorker = 4_096
  /// Leaves room for a graph's own queue, which is shown as `GRAPH/name`.
  static let queueNameBytes = 2 * Limits.nameBytes
  /// All exit statuses and signals one by one, with room to spare.
  static let retryReasons = 512
  /// Runs of shown numbers of one array. Single numbers without a common step cost a run each.
  static let indexRuns = 1_000_000
  /// Four times as many as there are exit statuses.
  static let exitStatuses = 1_024
  /// Ranges of graphs in one selection.
  static let graphRanges = 65_536
  /// A sentence of a refusal, an endpoint, a command line as it is shown.
  static let sentenceBytes = 64 * 1024
  /// Leaves room for an operation, which is shown as `GRAPH/name/element`.
  static let advisedNameBytes = 2 * Limits.nameBytes
  /// Lines of one explanation.
  static let sentencesPerExplanation = 1_000
  /// Dependencies and obstacles that a row shows. A person reads no more of them.
  static let needsPerRow = 100
  static let blockersPerRow = 100
  /// Edges between elements in the structure of a graph: more make no drawing.
  static let edgesShown = 10_000
  /// Earlier attempts of one operation in a row.
  static let attemptsPerRow = 10_000
  /// Nesting of messages; our deepest message has 8 levels.
  static let depth = 12
}
