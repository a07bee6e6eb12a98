// Many workers in this process, for the coordinator: each has a socket and a brain of its own and
// speaks as `opworker` does, but has no processes, no files and no child. An operation that it is
// given has ended as soon as it begins. So a machine that could not hold a thousand workers can
// show what a thousand cost the coordinator.

import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Synchronization

/// Workers on threads of their own, some on each. From any thread.
final class WorkerCrowd: Sendable {
  private let threads: Mutex<[ThreadHandle]>
  private let order = CrowdOrder()

  /// So many share a thread: it looks at each of its sockets whenever one of them has something.
  private static let workersPerThread = 20

  /// Begins to connect so many workers; they join a little later.
  ///
  /// - Throws: What the machine lacks for them: descriptors or threads.
  init(of count: Int, at address: String) throws {
    _ = ProcessLimits.descriptors(raising: true)
    let endpoint = try Endpoint(address)
    let order = self.order
    let threads = try stride(from: 0, to: count, by: Self.workersPerThread).map { first in
      let names = (first..<min(first + Self.workersPerThread, count)).map { "crowd-\($0)" }
      return try startThread(name: "crowd-\(first)") {
        var group = CrowdGroup(names, endpoint)
        order.note { () throws(SystemError) in try group.serve(until: order) }
      }
    }
    self.threads = Mutex(threads)
  }

  /// Ends all workers without a word, and waits for their threads.
  ///
  /// - Throws: The first trouble of a thread, which has ended its workers before.
  func end() throws {
    order.isOver.store(true, ordering: .relaxed)
    for thread in threads.withLock({ $0 }) { thread.join() }
    if let trouble = order.trouble { throw trouble }
  }
}

/// What the threads of a crowd share.
private final class CrowdOrder: Sendable {
  let isOver = Atomic(false)
  private let first = Mutex<SystemError?>(nil)

  var trouble: SystemError? { first.withLock { $0 } }

  /// Remembers what ended a thread too early.
  func note(_ body: () throws(SystemError) -> Void) {
    do throws(SystemError) {
      try body()
    } catch {
      first.withLock { $0 = $0 ?? error }
    }
  }
}

/// The workers of one thread.
private struct CrowdGroup: ~Copyable {
  private let workers: [CrowdWorker]
  private var poller = SocketPoller()

  init(_ names: [String], _ endpoint: Endpoint) {
    let now = Instant(nanoseconds: MonotonicClock.now())
    workers = names.map { CrowdWorker($0, endpoint, at: now) }
  }

  /// How late the order to end may be seen.
  private static let longestSleep = Span.milliseconds(200)

  mutating func serve(until order: CrowdOrder) throws(SystemError) {
    while !order.isOver.load(ordering: .relaxed) {
      let now = Instant(nanoseconds: MonotonicClock.now())
      var hasOthers = false
      var next = now + Self.longestSleep
      for worker in workers {
        if try worker.turn(worker.readiness(poller), at: now) { hasOthers = true }
        if let deadline = worker.deadline { next = min(next, deadline) }
      }
      if hasOthers {
        poller.removeAll()
        for worker in workers { worker.join(&poller) }
      }
      _ = try poller.wait(until: next.nanoseconds)
    }
  }
}

/// A worker without anything that could run: the brain of a real one, and its socket.
private final class CrowdWorker {
  private let endpoint: Endpoint
  private var core: ExecutionCore
  private var socket: Socket?
  private var item: SocketPoller.Item?
  private var effects: [ExecutionEffect] = []
  /// A message that the socket did not take yet.
  private var unsent: [UInt8]?

  init(_ name: String, _ endpoint: Endpoint, at now: Instant) {
    self.endpoint = endpoint
    let hello = WorkerHello(
      build: Build.name, name: name,
      session: WorkerSession(UInt64.random(in: 1...UInt64.max)),
      capacity: Resources(cpus: ResourceAmount(1), memoryBytes: 1 << 30),
      types: OperationRegistry().types)
    core = ExecutionCore(
      identity: hello, jitterSeed: UInt64.random(in: 0...UInt64.max), at: now)
  }

  /// When time itself has something to do.
  var deadline: Instant? { core.nextDeadline }

  func readiness(_ poller: borrowing SocketPoller) -> PollReadiness {
    item.map { poller.readiness(of: $0) } ?? []
  }

  func join(_ poller: inout SocketPoller) {
    item = socket == nil ? nil : poller.add(socket!)
    if let item, unsent != nil { poller.change(item, to: [.readable, .writable]) }
  }

  /// Takes in, runs and says what there is. Returns whether the poller has to be told anew.
  func turn(_ readiness: PollReadiness, at now: Instant) throws(SystemError) -> Bool {
    let isDue = core.nextDeadline.map { now >= $0 } ?? false
    if readiness.isEmpty, !isDue { return false }
    let wasWaiting = unsent != nil
    if readiness.contains(.connectionEvent) { takeConnectionEvents(at: now) }
    if readiness.contains(.readable) { takeFrames(at: now) }
    if isDue { core.apply(.timePassed, at: now, into: &effects) }
    var isOther = try carryOut(at: now)
    while core.startReady(atMost: 64, at: now, into: &effects) > 0 {
      if try carryOut(at: now) { isOther = true }
    }
    speak(at: now)
    return isOther || wasWaiting != (unsent != nil)
  }

  private func takeConnectionEvents(at now: Instant) {
    while let event = socket?.nextConnectionEvent() {
      if event != .connected { core.apply(.disconnected, at: now, into: &effects) }
    }
  }

  private func takeFrames(at now: Instant) {
    for _ in 0..<Limits.framesPerTurn {
      guard case .message(let bytes, _)? = socket?.receive() else { return }
      if let message = try? Wire.decodeCoordinatorMessage(bytes) {
        core.apply(.message(message), at: now, into: &effects)
      } else {
        core.apply(.disconnected, at: now, into: &effects)
      }
    }
  }

  /// Returns whether there is another socket.
  private func carryOut(at now: Instant) throws(SystemError) -> Bool {
    var isOther = false
    var next = 0
    while next < effects.count {
      switch effects[next] {
      case .renewConversation:
        socket = nil
        unsent = nil
        let fresh = try Socket(role: .dealer(maximumMessageBytes: Limits.messageBytes))
        try fresh.connect(endpoint)
        socket = consume fresh
        isOther = true
      case .launch(let launch):
        core.apply(.ended(launch.attempt, .success), at: now, into: &effects)
      // Nothing runs, so that nothing of it is known, stopped or kept.
      case .learn, .forget, .forgetGraph, .stop, .kill, .fetch, .dropFetch, .deliver, .grant,
        .revoke, .keep, .letGo:
        break
      }
      next += 1
    }
    effects.removeAll(keepingCapacity: true)
    return isOther
  }

  private func speak(at now: Instant) {
    if let bytes = unsent {
      unsent = nil
      guard send(bytes, at: now) else { return }
    }
    while let message = core.takeMessage(at: now) {
      guard send(Wire.encode(message), at: now) else { return }
    }
  }

  private func send(_ bytes: [UInt8], at now: Instant) -> Bool {
    guard let result = socket?.send(bytes) else { return false }
    switch result {
    case .sent: return true
    case .wouldBlock: unsent = bytes
    case .unreachable, .failed: core.apply(.disconnected, at: now, into: &effects)
    }
    return false
  }
}
