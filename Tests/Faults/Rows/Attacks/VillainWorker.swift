// A worker with a key that reports as no worker would: numbers at the ends of their types, attempts
// that it never had, ends twice, outputs and pieces of logs that are too long. For the thread that
// makes it.

import Glibc
import MessageGenerators
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import RealCluster

final class VillainWorker {
  private let dealer: KeyedDealer
  private let hello: WorkerHello
  private(set) var conversation: Conversation?
  private(set) var dispatched: [AttemptID] = []
  private(set) var logRequests: [LogRequest] = []
  private(set) var refusals: [Refusal] = []
  private var ordersTaken: UInt64 = 0
  private var reports: UInt64 = 0

  init(_ address: String, _ keys: SocketKeys, name: String, _ session: UInt64) throws {
    dealer = try KeyedDealer(address, keys)
    hello = WorkerHello(
      build: "villain", name: name, session: WorkerSession(session),
      capacity: Resources(cpus: ResourceAmount(1), memoryBytes: 1 << 30),
      types: [OperationType(name: "villainy")])
    _ = try dealer.send(Wire.encode(WorkerMessage.hello(hello)))
  }

  var isCut: Bool { dealer.isCut }

  /// Takes in what has come; says hello again when it is told that it is not known.
  func listen(within milliseconds: Int64 = 500) throws {
    for bytes in try dealer.receive(within: milliseconds) {
      switch try Wire.decodeCoordinatorMessage(bytes) {
      case .welcome(let welcome):
        conversation = welcome.conversation
        reports = 0
        ordersTaken = 0
      case .orders(let orders):
        ordersTaken = max(ordersTaken, orders.number)
        dispatched += orders.dispatches.map(\.attempt)
      case .refused(let refusal): refusals.append(refusal)
      case .logRequest(let request): logRequests.append(request)
      }
    }
  }

  /// Listens until something holds; whether it came to that.
  @discardableResult
  func listen(_ seconds: Double = 20, until isSo: (VillainWorker) -> Bool) throws -> Bool {
    let deadline = MonotonicClock.now() + Int64(seconds * 1e9)
    while !isSo(self) {
      guard MonotonicClock.now() < deadline, !dealer.isCut else { return false }
      try listen(within: 200)
    }
    return true
  }

  func awaitDispatches(_ count: Int) throws {
    guard try listen(until: { $0.dispatched.count >= count || !$0.refusals.isEmpty }),
      refusals.isEmpty
    else { throw Trouble("the villain was given nothing to do: \(refusals)") }
  }

  func say(_ message: WorkerMessage) throws { _ = try dealer.send(Wire.encode(message)) }

  /// A report that is in order, whatever its entries say.
  func report(_ entries: [WorkerReport.Entry]) throws {
    guard let conversation else { return }
    reports += 1
    try say(
      .report(
        WorkerReport(
          conversation: conversation, number: reports, entries: entries, ordersTaken: ordersTaken)))
  }

  /// Says how its first operation ended, with one number replaced; how many numbers there are.
  func reportEnd(oddly end: UInt64, at number: Int) throws -> Int {
    guard let conversation, let attempt = dispatched.first else { return 0 }
    var result = AttemptResult()
    result.cause = .failed
    result.exitStatus = 3
    result.signal = 9
    result.maximumResidentBytes = 1 << 20
    result.processorMicroseconds = 1_000
    result.startedAt = WallTime(milliseconds: 1_700_000_000_000)
    result.endedAt = WallTime(milliseconds: 1_700_000_001_000)
    result.diagnostic = "odd"
    let report = WorkerReport(
      conversation: conversation, number: 1,
      entries: [.started(attempt), .finished(attempt, result)], ordersTaken: ordersTaken)
    let all = FutureMessages.withEachNumber(
      Wire.encode(WorkerMessage.report(report)), replacedBy: end)
    if all.indices.contains(number) { _ = try dealer.send(all[number]) }
    _ = try dealer.receive(within: 20)
    _ = try dealer.send(Wire.encode(WorkerMessage.goodbye(lastReport: 0)))
    return all.count
  }
}
