// Converts client requests ⇄ `ClientMessage`: the message and all requests, except those that steer
// single operations (`SteeringCodec.swift`).
// The number of a request is its sender's, and the reply carries it back. Its meaning, and the role
// that may make it, are decided in OpClusterCoordinator and OpClusterScheduling.

import OpClusterModel

/// A hello comes first, and once.
extension ClientMessage: WireConvertible {
  var proto: ProtoClientMessage {
    var proto = ProtoClientMessage()
    switch self {
    case .hello(let hello):
      proto.hello.versions = hello.versions.proto
      // The build is for logs alone: versions decide (G32).
      proto.hello.build = hello.build
    case .request(let number, let request):
      var body = ProtoRequest()
      body.number = number.number
      body.body = request.body
      proto.request = body
    }
    return proto
  }

  /// Throws `missing` for a request without a body: one of a later release, or a mistake. The
  /// client is told so, and is not heard any more.
  init(proto: ProtoClientMessage) throws(WireError) {
    switch proto.body {
    case .hello(let hello):
      self = .hello(
        ClientHello(
          versions: try ProtocolVersions(proto: hello.versions),
          build: try text(hello.build, Limits.labelBytes, "hello.build")))
    case .request(let request):
      guard let body = request.body else { throw WireError("request.body", .missing) }
      self = .request(RequestID(request.number), try ClientRequest(body))
    case nil: throw WireError("body", .missing)
    }
  }
}

/// Four functions each way, by groups, so that no function grows with every new request.
extension ClientRequest {
  /// Encodes requests about graphs, queues and workers; the other groups follow.
  fileprivate var body: ProtoRequest.OneOf_Body {
    switch self {
    case .submit(let submission): return .submit(submission.proto)
    case .reusable(let submission): return .reusable(submission.proto)
    case .cancelQueue(let queue, let reason):
      var proto = ProtoCancelQueue()
      proto.queue = queue
      proto.reason = clipped(reason, to: Limits.reasonBytes)
      return .cancelQueue(proto)
    case .suspendGraphs(let selection, let isSuspended):
      var proto = ProtoSuspendGraphs()
      proto.selection = selection.proto
      proto.isSuspended = isSuspended
      return .suspendGraphs(proto)
    case .createQueue(let settings): return .createQueue(settings.proto)
    case .changeQueue(let queue, let change): return .changeQueue(change.proto(queue))
    case .removeQueue(let queue): return .removeQueue(queue)
    case .drainWorker(let name): return .drainWorker(name)
    case .resumeWorker(let name): return .resumeWorker(name)
    case .forgetWorker(let name): return .forgetWorker(name)
    case .locate(let digests, let reader):
      var proto = ProtoLocateContents()
      proto.key = data(reader.key)
      proto.digests = column(digests)
      return .locate(proto)
    case .place(let contents, let avoided, let writer):
      var proto = ProtoPlaceContents()
      proto.key = data(writer.key)
      proto.digests = column(contents.map(\.digest))
      proto.sizes = contents.map { UInt64(clamping: $0.size) }
      proto.avoided = avoided
      return .place(proto)
    case .bring(let content, let unreached, let reader):
      var proto = ProtoBringContent()
      proto.key = data(reader.key)
      proto.digest = column([content.digest])
      proto.size = UInt64(clamping: content.size)
      proto.unreached = unreached
      return .bring(proto)
    case .removeGraphs(let graphs):
      var proto = ProtoRemoveGraphs()
      proto.graphs = graphs.map(\.number)
      return .removeGraphs(proto)
    // The order matters: the reading group has no further one, and stops the program for a request
    // that it does not know.
    default: return operationBody ?? readingBody
    }
  }

  /// Requests that read, and those that belong to a connection: subscriptions and their credit.
  private var readingBody: ProtoRequest.OneOf_Body {
    switch self {
    case .graphs(let selection, let after, let limit):
      var proto = ProtoReadGraphs()
      proto.selection = selection.proto
      // Absent means the first page.
      if let after { proto.after = after.number }
      proto.limit = limit
      return .graphs(proto)
    case .operations(let selection, let after, let limit):
      var proto = ProtoReadOperations()
      proto.selection = selection.proto
      if let after { proto.after = after.proto }
      proto.limit = limit
      return .operations(proto)
    case .structure(let selection): return .structure(selection.proto)
    case .explain(let selection): return .explain(selection.proto)
    case .submission(let graph): return .submission(graph.number)
    case .queues(let name, let after, let limit):
      var proto = ProtoReadQueues()
      proto.name = name
      if let after { proto.after = after.number }
      proto.limit = limit
      return .queues(proto)
    case .workers: return .workers(ProtoNothing())
    case .configuration: return .configuration(ProtoNothing())
    case .ping: return .ping(ProtoNothing())
    case .enrol(let name, let publicKey):
      var proto = ProtoEnrol()
      proto.name = name
      proto.publicKey = data(publicKey)
      return .enrol(proto)
    case .log(let selection, let stream, let offset, let maximumBytes):
      var proto = ProtoReadLog()
      proto.operation = selection.operation.proto
      if let attempt = selection.attempt { proto.attempt = attempt }
      proto.stream = stream.proto
      proto.offset = offset
      proto.maximumBytes = maximumBytes
      return .log(proto)
    case .subscribe(let subscription): return .subscribe(subscription.proto)
    case .grantCredit(let subscription, let events):
      var proto = ProtoGrantCredit()
      proto.subscription = subscription
      proto.events = events
      return .grantCredit(proto)
    case .unsubscribe(let subscription): return .unsubscribe(subscription)
    // Listed one by one, so that a new request does not compile before it has a group.
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue,
      .addBlocks, .beginWait, .endWait, .drainWorker, .resumeWorker, .forgetWorker, .removeGraphs,
      .locate, .place, .bring, .reusable:
      preconditionFailure("not a reading request: \(self)")
    }
  }

  /// Numbers and names are bounded here. Whether they exist is decided when the request is carried
  /// out.
  fileprivate init(_ body: ProtoRequest.OneOf_Body) throws(WireError) {
    let queueNameBytes = WireLimits.queueNameBytes
    switch body {
    case .submit(let submission): self = .submit(try GraphSubmission(proto: submission))
    case .reusable(let submission): self = .reusable(try GraphSubmission(proto: submission))
    case .cancelQueue(let proto):
      self = .cancelQueue(
        try text(proto.queue, queueNameBytes, "cancel_queue.queue"),
        reason: try text(proto.reason, Limits.reasonBytes, "cancel_queue.reason"))
    case .suspendGraphs(let proto):
      self = .suspendGraphs(try Selection(proto: proto.selection), proto.isSuspended)
    case .createQueue(let settings): self = .createQueue(try QueueSettings(proto: settings))
    case .changeQueue(let proto):
      let queue = try text(proto.queue, queueNameBytes, "change_queue.queue")
      self = .changeQueue(queue, try QueueChange(proto))
    case .removeQueue(let queue):
      self = .removeQueue(try text(queue, queueNameBytes, "remove_queue"))
    case .drainWorker(let name):
      self = .drainWorker(try text(name, Limits.nameBytes, "drain_worker"))
    case .resumeWorker(let name):
      self = .resumeWorker(try text(name, Limits.nameBytes, "resume_worker"))
    case .forgetWorker(let name):
      self = .forgetWorker(try text(name, Limits.nameBytes, "forget_worker"))
    case .locate(let proto):
      self = .locate(
        try digests(proto.digests, Limits.rowsPerReply, "locate.digests"),
        reader: ContentAsker(key: try key(proto.key, "locate.key")))
    case .place(let proto):
      self = .place(
        try contents(proto.digests, proto.sizes, Limits.rowsPerReply, "place"),
        avoided: try Self.workerNames(proto.avoided, "place.avoided"),
        writer: ContentAsker(key: try key(proto.key, "place.key")))
    case .bring(let proto):
      let brought = try contents(proto.digest, [proto.size], 1, "bring.digest")
      guard let content = brought.first else { throw WireError("bring.digest", .outOfRange) }
      self = .bring(
        content, unreached: try Self.workerNames(proto.unreached, "bring.unreached"),
        reader: ContentAsker(key: try key(proto.key, "bring.key")))
    case .removeGraphs(let proto):
      try checkCount(proto.graphs.count, Limits.graphsPerRemoval, "remove_graphs.graphs")
      self = .removeGraphs(proto.graphs.map { GraphID($0) })
    // A steering request, or one of the reading group, which takes all the rest.
    default:
      if let steering = try ClientRequest(operations: body) {
        self = steering
      } else {
        self = try ClientRequest(reading: body)
      }
    }
  }

  private static func workerNames(
    _ names: [String], _ field: String
  ) throws(WireError) -> [String] {
    try checkCount(names.count, Limits.workers, field)
    var checked: [String] = []
    for name in names { checked.append(try text(name, Limits.nameBytes, field)) }
    return checked
  }

  /// The limit of a page is taken as it is: the coordinator clamps it, and 0 asks for the most.
  private init(reading body: ProtoRequest.OneOf_Body) throws(WireError) {
    switch body {
    case .graphs(let proto):
      self = .graphs(
        try Selection(proto: proto.selection),
        after: proto.hasAfter ? GraphID(proto.after) : nil, limit: proto.limit)
    case .operations(let proto):
      self = .operations(
        try Selection(proto: proto.selection),
        after: proto.hasAfter ? try OperationID(proto: proto.after) : nil, limit: proto.limit)
    case .structure(let selection): self = .structure(try Selection(proto: selection))
    case .explain(let selection): self = .explain(try Selection(proto: selection))
    case .submission(let graph): self = .submission(GraphID(graph))
    case .queues(let proto):
      self = .queues(
        // Empty means all queues.
        named: try text(proto.name, Limits.nameBytes, "queues.name"),
        after: proto.hasAfter ? QueueID(proto.after) : nil, limit: proto.limit)
    case .workers: self = .workers
    case .configuration: self = .configuration
    case .ping: self = .ping
    case .enrol(let proto):
      // `opaque` bounds the bytes from above only, and a shorter key is none.
      let key = try opaque(proto.publicKey, Limits.publicKeyBytes, "enrol.public_key")
      try checkEqual(key.count, Limits.publicKeyBytes, "enrol.public_key")
      self = .enrol(name: try text(proto.name, Limits.nameBytes, "enrol.name"), publicKey: key)
    case .log(let proto):
      self = .log(
        AttemptSelection(
          operation: try OperationID(proto: proto.operation),
          attempt: proto.hasAttempt ? proto.attempt : nil),
        // Without a stream it is the standard output, which is what people mean mostly.
        try LogStream(proto: proto.stream, unspecified: .standardOutput, "log.stream"),
        offset: proto.offset, maximumBytes: proto.maximumBytes)
    case .subscribe(let proto): self = .subscribe(try EventSubscription(proto: proto))
    case .grantCredit(let proto):
      self = .grantCredit(subscription: proto.subscription, events: proto.events)
    case .unsubscribe(let subscription): self = .unsubscribe(subscription: subscription)
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue,
      .addBlocks, .beginWait, .endWait, .drainWorker, .resumeWorker, .forgetWorker, .removeGraphs,
      .locate, .place, .bring, .reusable:
      preconditionFailure("not a reading request")
    }
  }
}

/// Only what is to change is set. A limit can be set, lifted, or left as it is, so it needs three
/// values.
extension QueueChange {
  /// - Parameter queue: The name before the change.
  fileprivate func proto(_ queue: String) -> ProtoChangeQueue {
    var proto = ProtoChangeQueue()
    proto.queue = queue
    if let newName { proto.newName = newName }
    if let qos { proto.qos = qos.proto }
    switch limit {
    case .unlimited: proto.unlimited = true
    case .atMost(let most): proto.atMost = most
    case nil: break
    }
    if let isSuspended { proto.isSuspended = isSuspended }
    if let pool { proto.pool.requirements = pool.map(\.proto) }
    return proto
  }

  /// `unlimited` with the value false says nothing, and is read as "leave it".
  fileprivate init(_ proto: ProtoChangeQueue) throws(WireError) {
    self.init(
      newName: proto.hasNewName
        ? try text(proto.newName, Limits.nameBytes, "change_queue.new_name") : nil,
      qos: try QualityOfService?(proto: proto.qos, "change_queue.qos"),
      isSuspended: proto.hasIsSuspended ? proto.isSuspended : nil,
      pool: proto.hasPool
        ? try list(proto.pool.requirements, Limits.labelsPerThing, "change_queue.pool") : nil)
    switch proto.limit {
    case .unlimited(true): limit = .unlimited
    case .unlimited(false), nil: limit = nil
    case .atMost(let most): limit = .atMost(most)
    }
  }
}

/// `since` and `known` belong together: the first says where to resume, the second whose log that
/// number is from.
extension EventSubscription: WireConvertible {
  var proto: ProtoSubscribe {
    var proto = ProtoSubscribe()
    proto.number = number
    proto.selection = selection.proto
    // Absent means from now on; 0 means from the first event that is kept.
    if let since { proto.since = since }
    proto.graphsOnly = graphsOnly
    proto.takesRuns = takesRuns
    proto.backlogOnly = backlogOnly
    proto.includesOwn = includesOwn
    proto.credit = credit
    if let known { proto.known = known.proto }
    return proto
  }
  init(proto: ProtoSubscribe) throws(WireError) {
    self.init(
      number: proto.number, selection: try Selection(proto: proto.selection),
      since: proto.hasSince ? proto.since : nil, graphsOnly: proto.graphsOnly,
      backlogOnly: proto.backlogOnly, includesOwn: proto.includesOwn, takesRuns: proto.takesRuns,
      credit: proto.credit)
    if proto.hasKnown { known = EventMark(proto: proto.known) }
  }
}
