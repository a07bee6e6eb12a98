// What workers, clients and the coordinator say, by chance.

package import OpClusterModel

extension MessageGenerator {
  package mutating func workerMessage() -> WorkerMessage {
    switch below(5) {
    case 0: .hello(workerHello())
    case 1: .logChunk(chunk())
    case 2: .goodbye(lastReport: number())
    default: .report(report())
    }
  }

  package mutating func workerHello() -> WorkerHello {
    var hello = WorkerHello(
      versions: versions(), build: text(), name: one(of: ["w", "a.b:c-d_9"]),
      session: WorkerSession(number()), capacity: resources(), labels: labels(),
      types: many { $0.type() }, assigned: many { $0.attempt() }, executing: many { $0.attempt() })
    hello.known = maybe { $0.mark() }
    hello.largest = maybe { $0.resources() }
    hello.store = maybe { $0.source() }
    return hello
  }

  package mutating func report() -> WorkerReport {
    var report = WorkerReport(
      conversation: conversation(), number: number(), entries: many(20) { $0.entry() },
      ordersTaken: number())
    report.isLeaving = below(4) == 0
    if below(4) == 0 {
      report.unkillable = many { $0.attempt() }
      report.unkillableDemand = resources()
    }
    if below(4) == 0 {
      report.held = many { $0.content() }
      report.lost = many { $0.content().digest }
      report.unreached = many { generator in
        UnreachedContent(
          generator.content(), from: generator.many(Limits.holdersReported) { $0.source() })
      }
      report.undelivered = many { generator in
        FailedDelivery(
          ContentDelivery(generator.content(), to: generator.source()),
          isUnreached: generator.bool())
      }
    }
    return report
  }

  package mutating func entry() -> WorkerReport.Entry {
    switch below(8) {
    case 0: .started(attempt())
    case 1: .recalled(attempt())
    case 2: .alreadyStarted(attempt())
    case 3: .cancelTaken(attempt())
    case 4:
      .progress(attempt(), fraction: Double(below(1001)) / 1000, text: text())
    default: .finished(attempt(), result())
    }
  }

  package mutating func coordinatorMessage() -> CoordinatorMessage {
    switch below(5) {
    case 0: .welcome(welcome())
    case 1: .refused(refusal())
    case 2:
      .logRequest(
        LogRequest(
          number: number(), attempt: attempt(), stream: member(LogStream.self),
          offset: number(), maximumBytes: number()))
    default: .orders(orders())
    }
  }

  package mutating func welcome() -> Welcome {
    var welcome = Welcome(
      conversation: conversation(), version: number(), worker: worker(), timing: timing(),
      stale: many { $0.attempt() }, clientEndpoint: text())
    welcome.known = maybe { $0.mark() }
    welcome.takesContents = bool()
    return welcome
  }

  package mutating func content() -> StoredContent {
    let bytes = (0..<ContentDigest.byteCount).map { _ in UInt8(truncatingIfNeeded: bits()) }
    guard let digest = ContentDigest(bytes: bytes) else { preconditionFailure("32 bytes") }
    return StoredContent(digest: digest, size: Int64(below(Int(Limits.contentBytes))))
  }

  package mutating func source() -> ContentSource {
    ContentSource(endpoint: text(), key: bool() ? [] : content().digest.bytes)
  }

  package mutating func contentRequest() -> ContentRequest {
    switch below(5) {
    case 0: .stop(number: number())
    case 1: .credit(number: number(), bytes: content().size)
    case 2: .offer(number: number(), content())
    case 3: .piece(number: number(), offset: content().size, bytes(300))
    default:
      .wish(
        number: number(),
        ContentWish(
          digest: content().digest, offset: content().size, credit: content().size,
          hearsOfHolders: bool()))
    }
  }

  package mutating func contentAnswer() -> ContentAnswer {
    switch below(4) {
    case 0: .refused(number: number(), member(ContentRefusal.self))
    case 1: .kept(number: number())
    case 2:
      .wanted(number: number(), offset: content().size, credit: max(1, content().size))
    default: .piece(number: number(), offset: content().size, bytes(300))
    }
  }

  package mutating func operationOutput() -> OperationOutput {
    var output = OperationOutput(
      pairs: many { .init(key: $0.text(), value: $0.text()) }, typeName: text(), value: bytes())
    output.contents = many { $0.content() }
    if !output.contents.isEmpty { output.valueContent = maybe { $0.below(1) } }
    output.files = many { generator in
      StoredFile(
        name: generator.fileName(),
        path: generator.bool() ? "" : "\(generator.fileName())/\(generator.fileName())",
        isExecutable: generator.bool(), content: generator.content())
    }
    return output
  }

  package mutating func orders() -> WorkerOrders {
    var orders = WorkerOrders(
      conversation: conversation(), number: number(), acknowledged: number())
    orders.heard = number()
    orders.commit = CommitIndex(number())
    if below(4) == 0 { return orders }
    orders.templates = many { $0.announcement() }
    orders.dispatches = many(20) { $0.dispatch() }
    orders.recalls = many { $0.attempt() }
    orders.cancels = many { generator in
      CancelOrder(attempt: generator.attempt(), grace: generator.maybe { $0.span() })
    }
    orders.stale = many { $0.attempt() }
    orders.forgottenGraphs = many { $0.graph() }
    orders.drain = bool()
    orders.holders = many { generator in
      ContentHolders(
        digest: generator.content().digest,
        sources: generator.many(Limits.holdersTold) { $0.source() })
    }
    orders.grants = many {
      GrantOrder(
        digest: $0.content().digest, reader: $0.source().key, mayWrite: $0.below(4) == 0)
    }
    orders.released = many { $0.content().digest }
    orders.retained = many { $0.content().digest }
    orders.copies = many { $0.content() }
    orders.revoked = many { $0.content().digest.bytes }
    orders.deliveries = many { ContentDelivery($0.content(), to: $0.source()) }
    orders.unobtainable = many { $0.content().digest }
    return orders
  }

  package mutating func announcement() -> TemplateAnnouncement {
    var announcement = TemplateAnnouncement(
      graph: graph(), graphName: text(), template: number(), firstIndex: number(),
      name: text(), isArray: bool(), indexRuns: indexRuns(), work: work(), payload: bytes(),
      demand: resources(), qos: member(QualityOfService.self))
    announcement.queueName = text()
    announcement.timeout = maybe { $0.span() }
    announcement.grace = maybe { $0.span() }
    announcement.fillsInput = bool()
    announcement.isExclusive = bool()
    announcement.secrets = many { $0.text() }
    announcement.submitter = text()
    let digits = "\(content().digest)"
    if bool() {
      announcement.traceParent = TraceParent("00-\(digits.prefix(32))-\(digits.suffix(16))-01")
    }
    announcement.inputFiles = inputFiles()
    return announcement
  }

  package mutating func dispatch() -> Dispatch {
    var dispatch = Dispatch(
      attempt: attempt(), template: UInt32(below(3)),
      priority: bool() ? .normal : member(Priority.self), place: number())
    if below(4) == 0 { dispatch.run = number() }
    if below(3) == 0 { dispatch.queue = QueueID(number()) }
    if below(3) == 0 { dispatch.service = member(QualityOfService.self) }
    if below(3) == 0 { dispatch.queueName = one(of: ["fast", "12/own", text()]) }
    if below(3) == 0 { dispatch.argument = bytes() }
    if below(3) == 0 {
      dispatch.inputs = many { $0.input() }
    }
    if below(3) == 0 {
      dispatch.awaits = many { generator in
        LocalDependency(operation: generator.operation(), policy: generator.member(EdgePolicy.self))
      }
    }
    return dispatch
  }

  package mutating func input() -> DependencyInput {
    DependencyInput(
      operation: operation(), name: one(of: ["", "align", "sum"]),
      index: maybe { $0.number() }, outcome: member(Outcome.self), output: maybe { $0.bytes() })
  }

  package mutating func selection() -> Selection {
    let graphs: Selection.Graphs =
      switch below(4) {
      case 0: .numbers(many { .init($0.graph(), $0.graph()) })
      case 1: .last(back: number())
      case 2: .active
      default: .all
      }
    return Selection(
      graphs: graphs, operation: maybe { $0.text() }, elements: indexRuns(),
      states: many { $0.member(StateWord.self) }, labels: labels(), queue: maybe { $0.text() },
      priority: maybe { $0.member(Priority.self) })
  }

  package mutating func target() -> OperationTarget {
    switch below(3) {
    case 0: .selection(selection())
    case 1: .operations(many { $0.operation() })
    default: .dependents(of: operation())
    }
  }

  /// `kind` from 0 to 37: hello and the requests.
  package mutating func clientMessage(_ kind: Int) -> ClientMessage {
    if kind == 0 { return .hello(ClientHello(versions: versions(), build: text())) }
    if kind == 32 { return .request(RequestID(number()), .resumeWorker(text())) }
    if kind == 33 { return .request(RequestID(number()), .forgetWorker(text())) }
    if kind == 35 {
      return .request(
        RequestID(number()),
        .locate(many { $0.content().digest }, reader: ContentAsker(key: source().key)))
    }
    if kind == 36 {
      return .request(
        RequestID(number()),
        .place(
          many { $0.content() }, avoided: many { $0.text() },
          writer: ContentAsker(key: source().key)))
    }
    if kind == 37 { return .request(RequestID(number()), .reusable(submission())) }
    if kind == 38 {
      return .request(
        RequestID(number()),
        .bring(
          content(), unreached: many { $0.text() }, reader: ContentAsker(key: source().key)))
    }
    if kind == 34 { return .request(RequestID(number()), .removeGraphs(many { $0.graph() })) }
    return .request(RequestID(number()), kind <= 17 ? steering(kind) : reading(kind))
  }
  package static let clientMessageKinds = 39

  private mutating func steering(_ kind: Int) -> ClientRequest {
    switch kind {
    case 1: .submit(submission())
    case 2: .enqueue(many { $0.operation() }, queue: text())
    case 3: .cancel(target(), reason: text(), grace: maybe { $0.span() })
    case 4: .cancelQueue(text(), reason: text())
    case 5: .suspendGraphs(selection(), bool())
    case 6: .createQueue(settings())
    case 7: .changeQueue(text(), queueChange())
    case 8: .removeQueue(text())
    case 9:
      .addDependency(
        from: operation(), to: operation(), member(EdgePolicy.self), allowsCycle: bool())
    case 10: .removeDependency(from: operation(), to: operation())
    case 11: .setPriority(target(), member(Priority.self))
    case 12: .hold(target(), bool())
    case 13: .setQueue(target(), queue: text())
    case 14: .addBlocks(operation(), bytes())
    case 15:
      .beginWait(
        operation(), bool() ? .operations(many { $0.operation() }) : .queue(text()))
    case 16: .endWait(operation())
    default: .drainWorker(text())
    }
  }

  private mutating func reading(_ kind: Int) -> ClientRequest {
    switch kind {
    case 18: .graphs(selection(), after: maybe { $0.graph() }, limit: number())
    case 19: .operations(selection(), after: maybe { $0.operation() }, limit: number())
    case 20: .structure(selection())
    case 21: .explain(selection())
    case 22: .queues(named: text(), after: maybe { $0.queue() }, limit: number())
    case 23: .workers
    case 24: .configuration
    case 25: .ping
    case 26:
      .log(
        AttemptSelection(operation: operation(), attempt: maybe { $0.number() }),
        member(LogStream.self), offset: number(), maximumBytes: number())
    case 27: .subscribe(subscription())
    case 28: .grantCredit(subscription: number(), events: number())
    case 29: .submission(graph())
    case 30: .enrol(name: text(), publicKey: (0..<32).map { _ in UInt8(below(256)) })
    default: .unsubscribe(subscription: number())
    }
  }

  package mutating func subscription() -> EventSubscription {
    var subscription = EventSubscription(
      number: number(), selection: selection(), since: maybe { $0.number() },
      graphsOnly: bool(), backlogOnly: bool(), includesOwn: bool(), takesRuns: bool(),
      credit: number())
    subscription.known = maybe { EventMark(life: $0.life(), sequence: $0.number()) }
    return subscription
  }

  package mutating func queueChange() -> QueueChange {
    QueueChange(
      newName: maybe { $0.text() }, qos: maybe { $0.member(QualityOfService.self) },
      limit: maybe { $0.bool() ? .unlimited : .atMost($0.number()) },
      isSuspended: maybe { $0.bool() }, pool: maybe { $0.requirements() })
  }
}
