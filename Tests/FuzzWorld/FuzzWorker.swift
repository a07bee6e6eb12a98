// The worker's side of a hostile case: a real brain whose attempts end by the generator.

import MessageGenerators
import OpClusterExecution
import OpClusterModel
import OpClusterPresentation
import OpClusterScheduling
import OpClusterWire

struct FuzzWorker {
  let name: String
  var core: ExecutionCore
  /// The conversation's peer as the coordinator numbers it; nil: it has no connection.
  var peer: PeerID?
  /// From the coordinator, not read yet.
  var inbox: [[UInt8]] = []
  var running: [AttemptID] = []

  init(number: Int, chance: UInt64, at now: Instant) {
    name = "w\(number)"
    let hello = WorkerHello(
      build: "fuzz", name: name, session: WorkerSession(chance | 1),
      capacity: Resources(cpus: ResourceAmount(Int64(2 + number)), memoryBytes: 1 << 30),
      labels: [Label(key: "zone", value: "a")],
      types: [OperationType(name: "sum", version: 1)])
    core = ExecutionCore(identity: hello, jitterSeed: chance, at: now)
  }
}

extension FuzzCase {
  /// One turn of a worker's body.
  mutating func workerSpeaks(_ at: Int) {
    readInbox(at)
    if let deadline = workers[at].core.nextDeadline, deadline <= now {
      apply(.timePassed, to: at)
    }
    endSome(at)
    var effects: [ExecutionEffect] = []
    report.launched += workers[at].core.startReady(atMost: 4, at: now, into: &effects)
    carryOut(effects, at)
    if let message = workers[at].core.takeMessage(at: now), let peer = workers[at].peer {
      let bytes = Wire.encode(message)
      record(bytes, .workerToCoordinator)
      deliverToCoordinator(worker: changed(bytes, &generator, .workerToCoordinator), from: peer)
    } else {
      take(.tick())
    }
    if workers[at].core.exit != nil { replace(at) }
  }

  /// A worker process after the other under the same name.
  private mutating func replace(_ at: Int) {
    if let peer = workers[at].peer { take(.gone(peer)) }
    workers[at] = FuzzWorker(number: at, chance: generator.bits(), at: now)
  }

  private mutating func readInbox(_ at: Int) {
    let inbox = workers[at].inbox
    workers[at].inbox = []
    for bytes in inbox { deliver(changed(bytes, &generator, .coordinatorToWorker), toWorker: at) }
  }

  /// What no coordinator said: of another worker, of another time, or made up.
  mutating func hostileWordToWorker(_ at: Int) {
    let made = Wire.encode(generator.coordinatorMessage(), wording: \.forShell)
    deliver(changed(made, &generator, .coordinatorToWorker), toWorker: at)
  }

  private mutating func deliver(_ bytes: [UInt8], toWorker at: Int) {
    let message: CoordinatorMessage
    do {
      message = try Wire.decodeCoordinatorMessage(bytes)
      count(.coordinatorToWorker, isRejected: false)
    } catch {
      count(.coordinatorToWorker, isRejected: true)
      return apply(.disconnected, to: at)
    }
    trace?("\(workers[at].name) hears \(message)")
    apply(.message(message), to: at)
  }

  mutating func apply(_ event: ExecutionEvent, to at: Int) {
    var effects: [ExecutionEffect] = []
    workers[at].core.apply(event, at: now, into: &effects)
    carryOut(effects, at)
    if let broken = workers[at].core.checkInvariants().first {
      fail("worker \(workers[at].name): \(broken)")
    }
  }

  private mutating func carryOut(_ effects: [ExecutionEffect], _ at: Int) {
    for effect in effects {
      switch effect {
      case .renewConversation:
        if let old = workers[at].peer { take(.gone(old)) }
        workers[at].peer = newPeer()
        workers[at].inbox = []
      case .learn(let number, let template):
        let command = template.work == .command ? try? Wire.decodeCommand(template.payload) : nil
        let limits = TemplateLimits(
          timeout: command?.timeout ?? template.timeout, grace: command?.grace ?? template.grace)
        apply(.prepared(number, limits), to: at)
      case .launch(let launch): workers[at].running.append(launch.attempt)
      case .kill(let attempt), .stop(let attempt):
        guard let found = workers[at].running.firstIndex(of: attempt), generator.bool() else {
          continue
        }
        workers[at].running.remove(at: found)
        var result = AttemptResult()
        result.wasStopped = true
        apply(.ended(attempt, result), to: at)
      case .fetch(let content, _):
        if generator.bool() {
          apply(.contentsGained([content]), to: at)
        } else if generator.bool() {
          let miss: ContentMiss = content.size % 2 == 0 ? .unreachable : .holdersChanged
          apply(.contentMissed(content, "by chance", miss), to: at)
        }
      case .letGo(let digests): apply(.contentsLost(digests), to: at)
      case .deliver(let deliveries):
        if generator.bool() {
          apply(.undelivered(deliveries.map { FailedDelivery($0, isUnreached: true) }), to: at)
        }
      case .forget, .forgetGraph, .dropFetch, .grant, .revoke, .keep: break
      }
    }
  }

  private mutating func endSome(_ at: Int) {
    while !workers[at].running.isEmpty, generator.below(3) > 0 {
      let attempt = workers[at].running.remove(at: generator.below(workers[at].running.count))
      if generator.below(5) == 0 {
        apply(.progress(attempt, fraction: Double(generator.below(101)) / 100, text: "on"), to: at)
      }
      apply(.ended(attempt, generator.bool() ? .success : generator.result()), to: at)
    }
  }

  /// A peer that nobody knows: no hello, another's name, another's session, old words.
  mutating func strangerSpeaks() {
    let peer =
      generator.below(3) == 0 ? PeerID(UInt64(generator.below(Int(lastPeer) + 1))) : newPeer()
    if generator.bool() {
      let made = Wire.encode(generator.workerMessage())
      deliverToCoordinator(worker: changed(made, &generator, .workerToCoordinator), from: peer)
    } else {
      let made = Wire.encode(
        generator.clientMessage(generator.below(MessageGenerator.clientMessageKinds)))
      deliverToCoordinator(client: changed(made, &generator, .clientToCoordinator), from: peer)
    }
  }
}
