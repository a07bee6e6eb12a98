// Starts operations by hand (S15): on the calling thread, outside of all queues. The scheduler
// treats it as a second worker, which is draining and so gets nothing else.

public import OpClusterModel
import OpClusterOperations
import OpClusterScheduling
import OpClusterSystem
import Synchronization

extension LocalCluster {
  /// Runs a declared, ready operation on the calling thread, outside of all queues, limits and
  /// suspensions (S15), and returns when it has returned. A finished operation is not an error
  /// (S13).
  ///
  /// - Throws: `notReady`, `alreadyStarted`, `alreadyEnqueued`, `unknownOperation`.
  public func start(_ operation: OperationID) throws(Refusal) {
    let answer = HandAnswer()
    guard post(.start(operation, { answer.put($0) })) else { throw LocalCluster.closedRefusal }
    let start: HandStart
    do throws(Refusal) {
      start = try answer.wait()
    } catch {
      if error.code == .alreadyFinished { return }
      throw error
    }
    switch start {
    case .over: break
    case .elsewhere(let attempt):
      let end = HandAnswer()
      post(.awaitByHand(attempt, { end.put($0) }))
      _ = try end.wait()
    case .here(let run): try runHere(run)
    }
  }

  /// Runs an attempt on this thread, and returns when its end has been reported. The attempt is one
  /// of the second worker: its end goes through the scheduler as any other.
  private func runHere(_ run: AttemptRun) throws(Refusal) {
    let attempt = run.context.attempt
    let registry = registry.withLock { $0 }
    let runner = Runner()
    run.begin(on: runner)
    var result = AttemptResult()
    do throws(SystemError) {
      result = try runOnThisThread(began: { runner.isRun(by: $0) }) {
        self.keepingValue(
          of: await registry.run(run.type, argument: run.argument, context: run.context),
          run.context)
      }
    } catch {
      result.cause = .cannotStart
      result.diagnostic = "\(error)"
    }
    tellError(of: run.context, result)
    running.remove(run)
    // Another thread may be deciding: the operation is over when its end has been reported.
    let end = HandAnswer()
    post(.awaitByHand(attempt, { end.put($0) }))
    post(.ended(attempt, result))
    _ = try end.wait()
  }
}

/// What a start by hand has come to.
enum HandStart: Sendable {
  typealias Handler = @Sendable (Result<HandStart, Refusal>) -> Void
  /// Nothing is left to run.
  case over
  /// The thread that started it runs it.
  case here(AttemptRun)
  case elsewhere(AttemptID)
}

/// The answer to a start by hand, from the stepper to the waiting thread.
final class HandAnswer: Sendable {
  private struct State {
    var answer: Result<HandStart, Refusal>?
    var bell: Mailbox<Bool>?
  }
  private let state = Mutex(State())

  /// Once; the bell is rung only if somebody waits.
  func put(_ answer: Result<HandStart, Refusal>) {
    state.withLock { state in
      state.answer = answer
      _ = state.bell?.post(true)
    }
  }

  /// Waits for the answer, which is usually present already. Blocks the calling thread, which is
  /// the caller's own by the meaning of the call.
  func wait() throws(Refusal) -> HandStart {
    while true {
      let (answer, bell) = state.withLock { state in
        if state.answer == nil, state.bell == nil { state.bell = try? Mailbox(capacity: 2) }
        return (state.answer, state.bell)
      }
      if let answer { return try answer.get() }
      guard let bell else { continue }
      var poller = Poller()
      _ = poller.add(descriptor: bell.descriptor)
      _ = try? poller.wait(until: nil)
    }
  }
}

/// The second worker.
struct HandWorker: Sendable {
  static let peer = PeerID(UInt64.max - 1)
  static let name = "by-hand"
  var conversation: Conversation?
  var reports: UInt64 = 0
  var templates: [GraphID: [UInt32: AnnouncedTemplate]] = [:]
  var waiting: [OperationID: HandStart.Handler] = [:]
  /// Its running attempts, and the callbacks that wait for their ends.
  var running: [AttemptID: [HandStart.Handler]] = [:]
}

extension Brains {
  /// The hidden queue of operations that are outside of all queues.
  static let outsideQueue = ":outside"

  /// Lets the second worker say hello, and drains it.
  mutating func seatHandWorker() {
    var hello = WorkerHello(
      name: HandWorker.name, session: WorkerSession(2), capacity: .none)
    hello.store = Brains.store
    steer(.worker(HandWorker.peer, .hello(hello)))
    steer(.client(Brains.client, RequestID(0), .drainWorker(HandWorker.name)))
    steer(
      .client(
        Brains.client, RequestID(0), .createQueue(QueueSettings(name: Brains.outsideQueue))))
  }

  /// Refused as `scheduler.startByHand` says. A join point is over at once.
  mutating func startByHand(_ operation: OperationID, _ answer: @escaping HandStart.Handler) {
    openTurn()
    do throws(Refusal) {
      let runs = try scheduler.startByHand(
        operation, at: HandWorker.peer, queue: Brains.outsideQueue, into: &turn)
      if runs {
        byHand.waiting[operation] = answer
      } else {
        output.calls.append { answer(.success(.over)) }
      }
    } catch {
      let refusal = error
      output.calls.append { answer(.failure(refusal)) }
    }
  }

  /// Handles the scheduler's messages to the second worker.
  mutating func hearByHand(_ message: CoordinatorMessage) {
    switch message {
    case .welcome(let welcome): byHand.conversation = welcome.conversation
    case .refused, .logRequest: break
    case .orders(let orders):
      for template in orders.templates {
        byHand.templates[template.graph, default: [:]][template.template] =
          AnnouncedTemplate(template)
      }
      for dispatch in orders.dispatches { takeByHand(dispatch) }
      for cancel in orders.cancels { output.deeds.append(.stop(cancel.attempt)) }
      for graph in orders.forgottenGraphs { byHand.templates[graph] = nil }
    }
  }

  /// Hands the attempt to the thread that waits for it. The template was told in these orders or in
  /// earlier ones.
  private mutating func takeByHand(_ dispatch: Dispatch) {
    let operation = dispatch.attempt.operation
    guard let template = byHand.templates[operation.graph]?[dispatch.template] else {
      preconditionFailure("started \(dispatch.attempt) of a template that was not told")
    }
    let ready = ReadyLaunch(
      attempt: dispatch.attempt, run: dispatch.run, queueName: dispatch.queueName,
      argument: dispatch.argument, inputs: dispatch.inputs, template: template)
    byHand.running[dispatch.attempt] = []
    guard let answer = byHand.waiting.removeValue(forKey: operation) else { return }
    output.deeds.append(.handOver(ready, answer))
  }

  mutating func awaitByHand(_ attempt: AttemptID, _ answer: @escaping HandStart.Handler) {
    if byHand.running[attempt]?.append(answer) == nil {
      output.calls.append { answer(.success(.over)) }
    }
  }

  mutating func endByHand(_ attempt: AttemptID, _ result: AttemptResult) {
    guard let waiting = byHand.running.removeValue(forKey: attempt),
      let conversation = byHand.conversation
    else { return }
    for answer in waiting { output.calls.append { answer(.success(.over)) } }
    byHand.reports += 1
    let report = WorkerReport(
      conversation: conversation, number: byHand.reports, entries: [.finished(attempt, result)])
    steer(.worker(HandWorker.peer, .report(report)))
  }
}
