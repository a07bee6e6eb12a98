// Converts the conversation of worker and coordinator in both directions, except reports and
// orders, which have files of their own.
// The order of a conversation: hello, welcome or refusal, then reports and orders until a goodbye.
// A hello at any time begins it anew. Rules about that are in OpClusterExecution and
// OpClusterScheduling, not here.

import OpClusterModel

/// Everything that a worker sends; the answers to it are `CoordinatorMessage`.
extension WorkerMessage: WireConvertible {
  var proto: ProtoWorkerMessage {
    var proto = ProtoWorkerMessage()
    switch self {
    case .hello(let hello): proto.hello = hello.proto
    case .report(let report): proto.report = report.proto
    case .logChunk(let chunk): proto.logChunk = chunk.proto
    case .goodbye(let lastReport):
      // The last report's number tells the coordinator whether it has heard everything. 0 is said
      // by earlier releases, and means that they do not tell.
      proto.goodbye = ProtoWorkerGoodbye()
      proto.goodbye.lastReport = lastReport
    }
    return proto
  }

  /// Throws `missing` for a kind of message that only a later release has.
  init(proto: ProtoWorkerMessage) throws(WireError) {
    switch proto.body {
    case .hello(let hello): self = .hello(try WorkerHello(proto: hello))
    case .report(let report): self = .report(try WorkerReport(proto: report))
    case .logChunk(let chunk): self = .logChunk(try LogChunk(proto: chunk))
    case .goodbye(let goodbye): self = .goodbye(lastReport: goodbye.lastReport)
    case nil: throw WireError("body", .missing)
    }
  }
}

/// A worker's whole account of itself: what it is, what it can do, and what it has in hand from
/// earlier conversations.
extension WorkerHello: WireConvertible {
  var proto: ProtoWorkerHello {
    var proto = ProtoWorkerHello()
    proto.versions = versions.proto
    proto.build = build
    proto.name = name
    // Random for each life of the process: a restarted worker is never taken for the one before.
    proto.session = session.number
    proto.capacity = ProtoResources(capacity)
    if let largest { proto.largest = ProtoResources(largest) }
    proto.labels = labels.map(\.proto)
    proto.types = types.map(\.proto)
    if !assigned.isEmpty { proto.assigned = ProtoAttempts(assigned) }
    if !executing.isEmpty { proto.executing = ProtoAttempts(executing) }
    // Absent before the first welcome: there is nothing to compare with the coordinator's journal
    // yet.
    if let known { proto.known = known.proto }
    if let store { proto.store = store.proto }
    return proto
  }

  /// Attempts in hand have the limit of a message's entries.
  init(proto: ProtoWorkerHello) throws(WireError) {
    self.init(
      versions: try ProtocolVersions(proto: proto.versions),
      build: try text(proto.build, Limits.labelBytes, "hello.build"),
      name: try workerName(proto.name), session: WorkerSession(proto.session),
      capacity: try proto.capacity.words("hello.capacity"),
      labels: try list(proto.labels, Limits.labelsPerThing, "hello.labels"),
      types: try list(proto.types, WireLimits.typesPerWorker, "hello.types"),
      assigned: try proto.assigned.words(Limits.entriesPerMessage, "hello.assigned"),
      executing: try proto.executing.words(Limits.entriesPerMessage, "hello.executing"))
    if proto.hasKnown { known = HistoryMark(proto: proto.known) }
    if proto.hasLargest { largest = try proto.largest.words("hello.largest") }
    if proto.hasStore { store = try ContentSource(proto: proto.store) }
  }
}

/// `[A-Za-z0-9._:-]{1,128}`
/// Stricter than other names, so that it needs no quoting in commands, logs and tables. An empty
/// one throws `outOfRange` as well.
private func workerName(_ name: String) throws(WireError) -> String {
  let isFitting = name.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: ":"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
  guard isFitting && !name.isEmpty else { throw WireError("hello.name", .outOfRange) }
  return try text(name, Limits.nameBytes, "hello.name")
}

/// Every report and every order names its conversation; what comes from an earlier one is dropped.
extension Conversation: WireConvertible {
  var proto: ProtoConversation {
    var proto = ProtoConversation()
    proto.epoch = epoch.number
    proto.session = session.number
    proto.increment = increment
    return proto
  }
  /// No number is malformed: whether it is the conversation of now is compared later.
  init(proto: ProtoConversation) throws(WireError) {
    self.init(
      epoch: Epoch(proto.epoch), session: WorkerSession(proto.session),
      increment: proto.increment)
  }
}

/// The coordinator sends these to workers, and a worker to its child processes.
extension CoordinatorMessage: WireWorded {
  func proto(_ wording: (Advice) -> String) -> ProtoCoordinatorMessage {
    var proto = ProtoCoordinatorMessage()
    switch self {
    case .welcome(let welcome): proto.welcome = welcome.proto
    case .refused(let refusal): proto.refused = refusal.proto(wording)
    case .orders(let orders): proto.orders = orders.proto
    case .logRequest(let request): proto.logRequest = request.proto
    }
    return proto
  }

  /// A client's address answers with other messages on the same numbers, so this is where a wrong
  /// port is noticed.
  init(proto: ProtoCoordinatorMessage) throws(WireError) {
    switch proto.body {
    case .welcome(let welcome): self = .welcome(try Welcome(proto: welcome))
    case .refused(let refusal):
      // A refusal with a client code has no worker code: it is unspecified here.
      if refusal.code == .unspecified { throw WireError("refused.code", .meantForClients) }
      self = .refused(try Refusal(proto: refusal))
    case .orders(let orders): self = .orders(try WorkerOrders(proto: orders))
    case .logRequest(let request): self = .logRequest(try LogRequest(proto: request))
    case nil: throw WireError("body", .missing)
    }
  }
}

/// Begins a conversation: numbers of reports and orders start at 1 after it.
extension Welcome: WireConvertible {
  var proto: ProtoWelcome {
    var proto = ProtoWelcome()
    proto.conversation = conversation.proto
    proto.version = version
    proto.worker = worker.number
    proto.timing = timing.proto
    if !stale.isEmpty { proto.stale = ProtoAttempts(stale) }
    proto.clientEndpoint = clientEndpoint
    if let known { proto.known = known.proto }
    proto.takesContents = takesContents
    return proto
  }
  /// The limit of stale attempts is twice that of a list: a hello names two lists, and all of them
  /// may be stale.
  init(proto: ProtoWelcome) throws(WireError) {
    self.init(
      conversation: try Conversation(proto: proto.conversation), version: proto.version,
      worker: WorkerID(proto.worker), timing: try Timing(proto: proto.timing),
      stale: try proto.stale.words(2 * Limits.entriesPerMessage, "welcome.stale"),
      clientEndpoint: try text(
        proto.clientEndpoint, WireLimits.sentenceBytes, "welcome.client_endpoint"))
    if proto.hasKnown { known = HistoryMark(proto: proto.known) }
    takesContents = proto.takesContents
  }
}

/// `number` belongs to the coordinator, which asks for several clients at once and tells the
/// answers apart by it.
extension LogRequest: WireConvertible {
  var proto: ProtoLogRequest {
    var proto = ProtoLogRequest()
    proto.number = number
    proto.attempt = attempt.proto
    proto.stream = stream.proto
    proto.offset = offset
    proto.maximumBytes = maximumBytes
    return proto
  }
  /// A negative offset counts from the end. The worker clamps the length to `Limits.logChunkBytes`.
  init(proto: ProtoLogRequest) throws(WireError) {
    self.init(
      number: proto.number, attempt: try AttemptID(proto: proto.attempt),
      stream: try LogStream(
        proto: proto.stream, unspecified: .standardOutput, "log_request.stream"),
      offset: proto.offset, maximumBytes: proto.maximumBytes)
  }
}
