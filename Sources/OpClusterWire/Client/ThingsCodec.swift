// Converts small words that several messages share: resources, labels, types, queues, refusals,
// logs.

import OpClusterModel

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
  init(proto: ProtoQueueSettings) throws(WireError) {
    self.init(
      name: try text(proto.name, Limits.nameBytes, "queue.name"),
      qos: try QualityOfService(proto: proto.qos, unspecified: .default, "queue.qos"),
      maximumConcurrent: proto.hasMaximumConcurrent ? proto.maximumConcurrent : nil,
      isSuspended: proto.isSuspended,
      pool: try list(proto.pool, Limits.labelsPerThing, "queue.pool"))
  }
}

extension Refusal: WireWorded {
  func proto(_ wording: (Advice) -> String) -> ProtoRefusal {
    var proto = ProtoRefusal()
    proto.code = code.proto
    proto.message = clipped(message, to: WireLimits.sentenceBytes)
    proto.hint = clipped(hint.words(wording), to: WireLimits.sentenceBytes)
    if let advice = hint.code { proto.advice = advice }
    if !operations.isEmpty { proto.operations = ProtoOperations(operations) }
    if let retryAfter {
      proto.retryAfter = min(max(retryAfter, .zero), Limits.longestRetryAfter).nanoseconds
    }
    proto.lacksRoom = lacksRoom
    return proto
  }
  init(proto: ProtoRefusal) throws(WireError) {
    let retryAfter = try span(proto.retryAfter, "refusal.retry_after")
    if retryAfter > Limits.longestRetryAfter {
      throw WireError("refusal.retry_after", .outOfRange)
    }
    let hint = try text(proto.hint, WireLimits.sentenceBytes, "refusal.hint")
    self.init(
      Code(wireNumber: proto.code.rawValue) ?? .badRequest,
      try text(proto.message, WireLimits.sentenceBytes, "refusal.message"),
      hint: try Advice(code: proto.advice) ?? .text(hint),
      operations: try proto.operations.words(Limits.operationsPerGraph, "refusal.operations"),
      retryAfter: retryAfter == .zero ? nil : retryAfter, lacksRoom: proto.lacksRoom)
  }
}

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
  init(proto: ProtoLogChunk) throws(WireError) {
    self.init(
      number: proto.number, offset: min(proto.offset, Limits.measuredAmount),
      bytes: try opaque(proto.bytes, Limits.logChunkBytes, "log.bytes"),
      size: min(proto.size, Limits.measuredAmount), isComplete: proto.isComplete,
      problem: try text(proto.problem, Limits.reasonBytes, "log.problem"))
  }
}

extension ProtoIndexRuns {
  init(_ runs: [IndexRun]) {
    self.init()
    first = runs.map(\.first)
    count = runs.map(\.count)
    step = omitted(runs.map(\.step), ifAll: 1)
  }

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
  static let valuesPerRequirement = 1_024
  static let typesPerWorker = 4_096
  /// Leaves room for a graph's own queue, which is shown as `GRAPH/name`.
  static let queueNameBytes = 2 * Limits.nameBytes
  static let retryReasons = 512
  static let indexRuns = 1_000_000
  static let exitStatuses = 1_024
  static let graphRanges = 65_536
  static let sentenceBytes = 64 * 1024
  /// Leaves room for an operation, which is shown as `GRAPH/name/element`.
  static let advisedNameBytes = 2 * Limits.nameBytes
  static let sentencesPerExplanation = 1_000
  static let needsPerRow = 100
  static let blockersPerRow = 100
  static let edgesShown = 10_000
  static let attemptsPerRow = 10_000
  /// Nesting of messages; our deepest message has 8 levels.
  static let depth = 12
}
