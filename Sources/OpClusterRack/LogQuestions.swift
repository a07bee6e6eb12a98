// Requests for pieces of logs on their way through the relay. The machine that has the file of a
// running or lately ended attempt is known; for older ones all machines are asked.

import DequeModule
import OpClusterModel

struct LogQuestions: Sendable {
  struct Ask: Sendable {
    /// The machines that have not answered.
    var awaited: Set<UInt32>
    /// The answer if nobody has more to say.
    var poorest: LogChunk
  }

  /// By the coordinator's number of the request.
  fileprivate(set) var asks: [UInt64: Ask] = [:]
  /// The machines of attempts that ended lately.
  private var holders: [AttemptID: WorkerSession] = [:]
  private var order = Deque<AttemptID>()

  /// Notes where an attempt has ended.
  mutating func note(_ attempt: AttemptID, at machine: WorkerSession) {
    if holders.updateValue(machine, forKey: attempt) == nil { order.append(attempt) }
    if order.count > Limits.endedAttemptsPerRelay, let oldest = order.popFirst() {
      holders[oldest] = nil
    }
  }

  func holder(of attempt: AttemptID) -> WorkerSession? { holders[attempt] }
}

extension RackCore {
  /// Passes a request on. Costs one machine, or all of them for an attempt of long ago.
  mutating func ask(_ request: LogRequest, into effects: inout [RackEffect]) {
    guard logs.asks.count < Limits.logQuestions else { return }
    let known =
      placements[request.attempt]?.machine
      ?? logs.holder(of: request.attempt).flatMap { machines.bySession[$0] }
    let asked = (known.map { [$0] } ?? machines.all).filter {
      machines.contains($0) && machines[$0].peer != nil
    }
    let nothing = LogChunk(
      number: request.number, offset: 0, bytes: [], size: 0, isComplete: true,
      problem: "the machine that ran it is not connected to its relay")
    guard !asked.isEmpty else { return effects.append(.toCoordinator(nothing)) }
    logs.asks[request.number] = LogQuestions.Ask(awaited: Set(asked), poorest: nothing)
    for machine in asked {
      guard let peer = machines[machine].peer else { continue }
      effects.append(.toMachine(peer, .logRequest(request)))
    }
  }

  /// Takes an answer: the first with bytes counts, else the last one.
  mutating func take(
    _ chunk: LogChunk, from machine: UInt32, into effects: inout [RackEffect]
  ) {
    guard var ask = logs.asks[chunk.number], ask.awaited.remove(machine) != nil else { return }
    ask.poorest = chunk
    answer(chunk.number, ask, isGood: chunk.size > 0, into: &effects)
  }

  /// Waits no longer for a machine that is gone.
  mutating func forgetAsks(of machine: UInt32, into effects: inout [RackEffect]) {
    for (number, ask) in logs.asks.sorted(by: { $0.key < $1.key })
    where ask.awaited.contains(machine) {
      var ask = ask
      ask.awaited.remove(machine)
      answer(number, ask, isGood: false, into: &effects)
    }
  }

  private mutating func answer(
    _ number: UInt64, _ ask: LogQuestions.Ask, isGood: Bool, into effects: inout [RackEffect]
  ) {
    if isGood || ask.awaited.isEmpty {
      logs.asks[number] = nil
      effects.append(.toCoordinator(ask.poorest))
    } else {
      logs.asks[number] = ask
    }
  }
}
