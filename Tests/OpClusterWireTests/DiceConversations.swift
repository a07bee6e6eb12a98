// What workers, clients and the coordinator say, by chance.

import OpClusterModel

extension Dice {
  mutating func workerMessage() -> WorkerMessage {
    switch below(5) {
    case 0: .hello(workerHello())
    case 1: .logChunk(chunk())
    case 2: .goodbye
    default: .report(report())
    }
  }

  mutating func workerHello() -> WorkerHello {
    WorkerHello(
      versions: versions(), build: text(), name: one(of: ["w", "a.b:c-d_9"]),
      session: WorkerSession(number()), capacity: resources(), labels: labels(),
      types: many { $0.type() }, held: many { $0.attempt() }, executing: many { $0.attempt() })
  }

  mutating func report() -> WorkerReport {
    WorkerReport(
      conversation: conversation(), number: number(), entries: many(20) { $0.entry() },
      ordersTaken: number())
  }

  mutating func entry() -> WorkerReport.Entry {
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

  mutating func coordinatorMessage() -> CoordinatorMessage {
    switch below(5) {
    case 0:
      .welcome(
        Welcome(
          conversation: conversation(), version: number(), worker: worker(), timing: timing(),
          stale: many { $0.attempt() }))
    case 1: .refused(refusal())
    case 2:
      .logRequest(
        LogRequest(
          number: number(), attempt: attempt(), stream: member(LogStream.self),
          offset: number(), maximumBytes: number()))
    default: .orders(orders())
    }
  }

  mutating func orders() -> WorkerOrders {
    var orders = WorkerOrders(
      conversation: conversation(), number: number(), acknowledged: number())
    if below(4) == 0 { return orders }
    orders.templates = many { $0.announcement() }
    orders.dispatches = many(20) { $0.dispatch() }
    orders.recalls = many { $0.attempt() }
    orders.cancels = many { dice in
      CancelOrder(attempt: dice.attempt(), grace: dice.maybe { $0.span() })
    }
    orders.stale = many { $0.attempt() }
    orders.forgottenGraphs = many { $0.graph() }
    orders.drain = bool()
    return orders
  }

  mutating func announcement() -> TemplateAnnouncement {
    TemplateAnnouncement(
      graph: graph(), graphName: text(), template: number(), firstIndex: number(),
      name: text(), isArray: bool(), indexRuns: indexRuns(), work: work(), payload: bytes(),
      demand: resources(), qos: member(QualityOfService.self))
  }

  mutating func dispatch() -> Dispatch {
    var dispatch = Dispatch(
      attempt: attempt(), template: UInt32(below(3)),
      priority: bool() ? .normal : member(Priority.self), place: number())
    if below(3) == 0 { dispatch.argument = bytes() }
    if below(3) == 0 {
      dispatch.inputs = many { $0.input() }
    }
    if below(3) == 0 {
      dispatch.awaits = many { dice in
        LocalDependency(operation: dice.operation(), policy: dice.member(EdgePolicy.self))
      }
    }
    return dispatch
  }

  mutating func input() -> DependencyInput {
    DependencyInput(
      operation: operation(), name: one(of: ["", "align", "sum"]),
      index: maybe { $0.number() }, outcome: member(Outcome.self), output: maybe { $0.bytes() })
  }

  mutating func selection() -> Selection {
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

  /// `kind` from 0 to 24: hello and the requests.
  mutating func clientMessage(_ kind: Int) -> ClientMessage {
    if kind == 0 { return .hello(ClientHello(versions: versions(), build: text())) }
    return .request(RequestID(number()), kind <= 12 ? steering(kind) : reading(kind))
  }
  static let clientMessageKinds = 25

  private mutating func steering(_ kind: Int) -> ClientRequest {
    switch kind {
    case 1: .submit(submission())
    case 2: .enqueue(many { $0.operation() }, queue: text())
    case 3: .cancel(selection(), reason: text(), grace: maybe { $0.span() })
    case 4: .cancelQueue(text(), reason: text())
    case 5: .suspendGraphs(selection(), bool())
    case 6: .createQueue(settings())
    case 7: .changeQueue(text(), queueChange())
    case 8: .removeQueue(text())
    case 9: .addDependency(from: operation(), to: operation(), member(EdgePolicy.self))
    case 10: .removeDependency(from: operation(), to: operation())
    case 11: .setPriority(operation(), member(Priority.self))
    default: .drainWorker(text())
    }
  }

  private mutating func reading(_ kind: Int) -> ClientRequest {
    switch kind {
    case 13: .graphs(selection(), after: maybe { $0.graph() }, limit: number())
    case 14: .operations(selection(), after: maybe { $0.operation() }, limit: number())
    case 15: .structure(selection())
    case 16: .explain(selection())
    case 17: .queues
    case 18: .workers
    case 19: .configuration
    case 20: .ping
    case 21:
      .log(
        AttemptSelection(operation: operation(), attempt: maybe { $0.number() }),
        member(LogStream.self), offset: number(), maximumBytes: number())
    case 22: .subscribe(subscription())
    case 23: .grantCredit(subscription: number(), events: number())
    default: .unsubscribe(subscription: number())
    }
  }

  mutating func subscription() -> EventSubscription {
    EventSubscription(
      number: number(), selection: selection(), since: maybe { $0.number() },
      graphsOnly: bool(), backlogOnly: bool(), credit: number())
  }

  mutating func queueChange() -> QueueChange {
    QueueChange(
      newName: maybe { $0.text() }, qos: maybe { $0.member(QualityOfService.self) },
      limit: maybe { $0.bool() ? .unlimited : .atMost($0.number()) },
      isSuspended: maybe { $0.bool() })
  }
}
