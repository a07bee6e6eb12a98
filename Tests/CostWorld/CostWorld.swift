// A coordinator's brain and a worker's, with the codec between them, in one thread: what an
// operation costs each of the three in allocations, and in instructions, if somebody counts those.

import CAllocationCount
import OpClusterExecution
package import OpClusterModel
import OpClusterScheduling
import OpClusterWire

/// What a part allocated.
package struct Allocations: Sendable {
  package var count: UInt64 = 0
  package var bytes: UInt64 = 0

  package init() {}

  /// What the calling thread has allocated since it began.
  package static var ofThisThread: Allocations {
    var all = Allocations()
    all.count = allocation_count()
    all.bytes = allocation_bytes()
    return all
  }
}

package enum Part: String, CaseIterable, Sendable {
  case coordinator, codec, worker
}

package struct CostWorld {
  package private(set) var spent: [Part: Allocations] = [:]
  package private(set) var endedGraphs = 0
  /// The part whose work goes through `counted`; nil: none.
  package var countedPart: Part?
  private var scheduler = Scheduler()
  private var turn = SchedulingTurn()
  private var worker: ExecutionCore
  private var effects: [ExecutionEffect] = []
  private var running: [AttemptID] = []
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var requests: UInt64 = 0
  private static let peer = PeerID(1)
  private static let wall = WallTime(milliseconds: 1_700_000_000_000)

  package init() {
    let identity = WorkerHello(
      name: "w", session: WorkerSession(5), capacity: Resources(cpus: ResourceAmount(4)),
      types: [OperationType(name: "noop")])
    worker = ExecutionCore(
      identity: identity, jitterSeed: 42, settings: ExecutionSettings(), at: now)
    turnOfCoordinator { scheduler, turn in scheduler.start(life: 1, into: &turn) }
    for _ in 0..<10 where worker.conversation == nil {
      now = max(now, worker.nextDeadline ?? now)
      turnOfWorker { core, now, effects in core.apply(.timePassed, at: now, into: &effects) }
    }
  }

  package mutating func submit(_ graph: GraphSubmission) {
    requests += 1
    let request = RequestID(requests)
    turnOfCoordinator { scheduler, turn in
      scheduler.handle(.client(PeerID(9), request, .submit(graph)), into: &turn)
    }
  }

  /// Runs everything to its end.
  package mutating func run() {
    var turns = 0
    while turns < 100_000, !scheduler.livingGraphs(Selection(graphs: .all)).isEmpty {
      turns += 1
      now = now + Span(nanoseconds: 50_000)
      let ended = running
      running = []
      turnOfWorker { core, now, effects in
        for attempt in ended { core.apply(.ended(attempt, .success), at: now, into: &effects) }
        if ended.isEmpty { core.apply(.timePassed, at: now, into: &effects) }
        while core.startReady(atMost: 8, at: now, into: &effects) > 0 {}
      }
    }
  }

  private mutating func measure<Result>(_ part: Part, _ body: (inout Self) -> Result) -> Result {
    let (count, bytes) = (allocation_count(), allocation_bytes())
    let result = part == countedPart ? counted(body) : body(&self)
    spent[part, default: Allocations()].count += allocation_count() - count
    spent[part, default: Allocations()].bytes += allocation_bytes() - bytes
    return result
  }

  /// Whoever counts instructions counts those between its entry and its return, by its name.
  @inline(never)
  private mutating func counted<Result>(_ body: (inout Self) -> Result) -> Result { body(&self) }

  private mutating func turnOfCoordinator(
    _ body: (inout Scheduler, inout SchedulingTurn) -> Void
  ) {
    measure(.coordinator) { world in
      world.turn.begin(at: world.now, wall: Self.wall)
      body(&world.scheduler, &world.turn)
      world.scheduler.close(&world.turn)
    }
    let frames = measure(.codec) { world in world.encodeTurn() }
    endedGraphs += turn.endings.count
    for bytes in frames {
      let message = measure(.codec) { _ in
        try? Wire.decodeCoordinatorMessage(bytes)
      }
      guard let message else { continue }
      turnOfWorker { core, now, effects in
        core.apply(.message(message), at: now, into: &effects)
      }
    }
  }

  /// What the loop encodes for a turn; returns the frames for the worker.
  private func encodeTurn() -> [[UInt8]] {
    if turn.isDurable {
      _ = Wire.encode(records: turn.records)
      if !turn.events.isEmpty { _ = Wire.encode(eventRuns: turn.events) }
      if !turn.history.isEmpty { _ = Wire.encode(history: turn.history) }
    }
    return (turn.atOnce + turn.afterDurable).compactMap { effect in
      guard case .toWorker(_, let message) = effect else { return nil }
      return Wire.encode(message) { _ in "" }
    }
  }

  private mutating func turnOfWorker(
    _ body: (inout ExecutionCore, Instant, inout [ExecutionEffect]) -> Void
  ) {
    let messages = measure(.worker) { world in
      body(&world.worker, world.now, &world.effects)
      while world.worker.startReady(atMost: 8, at: world.now, into: &world.effects) > 0 {}
      for case .launch(let launch) in world.effects { world.running.append(launch.attempt) }
      world.effects.removeAll(keepingCapacity: true)
      var messages: [WorkerMessage] = []
      while let message = world.worker.takeMessage(at: world.now) { messages.append(message) }
      return messages
    }
    for message in messages {
      let decoded = measure(.codec) { _ in
        try? Wire.decodeWorkerMessage(Wire.encode(message))
      }
      guard let decoded else { continue }
      turnOfCoordinator { scheduler, turn in
        scheduler.handle(.worker(Self.peer, decoded), into: &turn)
      }
    }
  }
}
