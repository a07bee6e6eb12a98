// A model of a large cluster on a virtual clock: the real scheduler, machines that do as they are
// told, and costs. Nothing goes wrong in it; what goes wrong is the business of `World`. It says
// how busy slots and coordinator are, and how long a free slot waits.

import OpClusterModel
import OpClusterScheduling

public struct LargeCluster: Sendable {
  private enum Step: Sendable {
    case turn
    /// What the coordinator said reaches machines.
    case delivery([Arriving])
    case end(machine: Int, AttemptID)
    case speak(machine: Int)
    case beat(machine: Int)
    case hello(machine: Int)
  }

  private struct Arriving: Sendable {
    var machine: Int
    var message: CoordinatorMessage
  }

  private let plan: LargeClusterPlan
  private var now = Instant(nanoseconds: 1_000_000_000)
  private var agenda = Agenda<Step>()
  private var coordinator: ModelCoordinator
  private var disk: ModelDisk
  /// When the coordinator's thread is free again, and for when its next turn is planned.
  private var freeAt = Instant.zero
  private var plannedTurn: Instant?
  private var machines: [ModelMachine] = []
  private var greeted = 0
  public private(set) var figures: LargeClusterFigures

  /// - Parameter clock: Nanoseconds of processor time of the calling thread; nil: the brain takes
  ///   no time but the constants of the plan, so that the same plan is the same run.
  public init(_ plan: LargeClusterPlan, clock: (@Sendable () -> Int64)? = nil) {
    self.plan = plan
    coordinator = ModelCoordinator(plan, clock: clock)
    disk = ModelDisk(commit: plan.costs.commit)
    // A relay passes an order on, and the end of it.
    figures = LargeClusterFigures(
      slots: plan.slots, operations: plan.operations,
      overhead: plan.relays == nil ? .zero : plan.costs.network * 2)
  }

  /// The peers of the machines have their positions as numbers, and the client the last one.
  private static let client = PeerID(.max)

  // MARK: - The run

  public mutating func run() {
    let start = now
    coordinator.beginLife(at: now)
    for machine in 0..<plan.machines {
      machines.append(
        ModelMachine(slots: plan.slots(of: machine), isRelay: plan.relays != nil, at: now))
      // At different moments, so that heartbeats come evenly.
      var chance = Chance(plan.seed, purpose: UInt64(machine))
      agenda.plan(.hello(machine: machine), at: now + chance.milliseconds(0, 999))
    }
    while !isOver, let (at, event) = agenda.next() {
      now = at
      carryOut(event)
    }
    figures.seconds = (now - start).seconds
  }

  private var isOver: Bool {
    if figures.collapse != nil { return true }
    return plan.runsToTheEnd ? figures.ended >= plan.operations : figures.isMeasured
  }

  private mutating func carryOut(_ event: Step) {
    switch event {
    case .turn: takeTurn()
    case .delivery(let deliveries): for delivery in deliveries { deliver(delivery) }
    case .end(let machine, let attempt):
      figures.ends(at: now)
      began(machines[machine].end(attempt, result(of: attempt), at: now), machine)
      speak(machine)
    case .speak(let machine): speak(machine)
    case .beat(let machine):
      speak(machine)
      planBeat(machine)
    case .hello(let machine):
      let capacity = Resources(cpus: ResourceAmount(Int64(plan.slots(of: machine))))
      let session = WorkerSession(UInt64(machine) + 1)
      let hello = WorkerHello(name: "w\(machine)", session: session, capacity: capacity)
      send(.hello(hello), from: machine)
    }
  }

  // MARK: - The coordinator

  private mutating func planTurn(at moment: Instant) {
    let moment = max(moment, freeAt)
    if let plannedTurn, plannedTurn <= moment { return }
    plannedTurn = moment
    agenda.plan(.turn, at: moment)
  }

  /// The turn of a replaced plan finds another moment, and does nothing.
  private mutating func takeTurn() {
    guard plannedTurn == now else { return }
    plannedTurn = nil
    let outcome = coordinator.takeTurn(at: now)
    figures.note(outcome)
    freeAt = now + outcome.spent
    release(outcome.atOnce, at: freeAt)
    let durable = outcome.isDurable ? disk.append(at: freeAt) : disk.durableAt
    release(outcome.afterDurable, at: max(durable, freeAt))
    planTurn(at: coordinator.nextTurn)
  }

  private mutating func release(_ effects: [Effect], at moment: Instant) {
    var deliveries: [Arriving] = []
    for effect in effects {
      switch effect {
      case .toWorker(let peer, let message):
        deliveries.append(Arriving(machine: Int(peer.number), message: message))
      case .toClient(_, _, .refused(let refusal)):
        preconditionFailure("the graph of the model was refused: \(refusal.message)")
      case .toClient, .close: break
      }
    }
    if deliveries.isEmpty { return }
    agenda.plan(.delivery(deliveries), at: moment + plan.costs.network)
  }

  /// As few graphs as there can be, each an array of commands.
  private mutating func submit() {
    var left = plan.operations
    while left > 0 {
      let count = min(left, Limits.operationsPerGraph)
      var graph = GraphSubmission(name: "model")
      var template = OperationTemplate(name: "a", count: UInt32(count), work: .command)
      template.payload = Array(repeating: 32, count: 200)
      graph.templates = [template]
      coordinator.receive(
        .submit(graph), from: Self.client, at: now + plan.costs.network)
      left -= count
    }
    planTurn(at: now + plan.costs.network)
  }

  // MARK: - The machines

  private mutating func send(_ message: WorkerMessage, from machine: Int) {
    let arrival = now + plan.costs.network
    coordinator.receive(message, from: PeerID(UInt64(machine)), at: arrival)
    planTurn(at: arrival)
  }

  private mutating func deliver(_ delivery: Arriving) {
    let machine = delivery.machine
    switch delivery.message {
    case .welcome(let welcome):
      machines[machine].hear(welcome)
      planBeat(machine)
      greeted += 1
      if greeted == plan.machines { submit() }
    case .orders(let orders):
      began(machines[machine].obey(orders), machine)
      speak(machine)
    case .refused(let refusal):
      // Machines of the model do nothing wrong: the coordinator is so far behind that it takes its
      // own delay for lost messages. What a real cluster does then is not modelled.
      figures.collapse = refusal.message
    case .logRequest: break
    }
  }

  private mutating func began(_ begun: [ModelMachine.Begin], _ machine: Int) {
    let way = plan.relays == nil ? Span.zero : plan.costs.network * 2
    for begin in begun {
      figures.begins(at: now, freeSince: begin.freeSince)
      let span = plan.runTimes.span(of: begin.attempt.operation, seed: plan.seed)
      agenda.plan(.end(machine: machine, begin.attempt), at: now + span + way)
    }
  }

  private mutating func speak(_ machine: Int) {
    switch machines[machine].speak(at: now, heartbeat: coordinator.timing.heartbeat) {
    case .nothing: break
    case .later(let moment): agenda.plan(.speak(machine: machine), at: moment)
    case .report(let report): send(.report(report), from: machine)
    }
  }

  private mutating func planBeat(_ machine: Int) {
    let heartbeat = coordinator.timing.heartbeat
    agenda.plan(.beat(machine: machine), at: machines[machine].nextBeat(heartbeat: heartbeat))
  }

  /// As a command ends: with its times, which the history keeps.
  private func result(of attempt: AttemptID) -> AttemptResult {
    var result = AttemptResult.success
    let span = plan.runTimes.span(of: attempt.operation, seed: plan.seed)
    result.endedAt = WallTime(milliseconds: 1_700_000_000_000) + (now - .zero)
    result.startedAt = result.endedAt - span
    result.processorMicroseconds = UInt64(span.nanoseconds / 1_000)
    result.maximumResidentBytes = 10 << 20
    return result
  }
}
