// A disk that takes seconds for a sync delays what claims a fact and nothing else: heartbeats go
// on, and nobody is lost for our own silence (Guarantees.md, F51).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("G22")) struct StalledDisk {
  // Every turn has orders, and all of them wait for the disk: whoever hears nothing else looks for
  // another connection after SUSPECT.
  @Test func heartbeatsGoOnWhileOrdersWait() {
    var world = World()
    let worker = world.join("w1")
    world.ask(.submit(graph((0..<80).map { "o\($0)" }, [])))
    world.turns = []
    let start = world.now
    for number in 0..<80 {
      world.now = world.now + .milliseconds(50)
      world.start(worker, operation(1, UInt32(number)))
      world.end(worker, operation(1, UInt32(number)))
      world.report(worker)
      world.tick(after: .milliseconds(50))
    }
    let turns = world.turns ?? []
    let orders = turns.flatMap(\.afterDurable).count {
      if case .toWorker = $0 { true } else { false }
    }
    #expect(orders >= 80)
    var last = start
    for turn in turns where !turn.atOnce.isEmpty {
      #expect(turn.now - last <= .milliseconds(1_100))
      last = turn.now
    }
    #expect(world.now - last <= .milliseconds(1_100))
  }

  // So much waits for the disk that nothing is decided: heartbeats go on without a fact, but not to
  // who has not been welcomed, nor to a suspect.
  @Test func heartbeatsGoOnWhileNothingIsDecided() {
    var world = World()
    world.join("w1")
    let durable = world.scheduler.lastCommit
    world.join("w2")
    func talk(after span: Span) -> [PeerID] {
      world.now = world.now + span
      world.turns = []
      world.step { $0.keepTalking(durable, into: &$1) }
      #expect(world.turns?.allSatisfy { !$0.isDurable } == true)
      return (world.turns ?? []).flatMap(\.atOnce).compactMap {
        if case .toWorker(let peer, .orders(let orders)) = $0, orders.isHeartbeat {
          peer
        } else {
          nil
        }
      }
    }
    let first = world.workers[0].peer
    #expect(talk(after: .milliseconds(900)) == [])
    for _ in 0..<30 { #expect(talk(after: .seconds(1)) == [first]) }
    world.step { scheduler, _ in scheduler.conversations[1].isSuspect = true }
    #expect(talk(after: .seconds(1)) == [])
  }

  // Who has not been welcomed cannot speak: its silence begins when the welcome leaves.
  @Test func aWelcomeThatWaitsForTheDiskIsNobodysSilence() {
    var world = World()
    let before = world.scheduler.lastCommit
    world.join("w1")
    world.turns = []
    for _ in 0..<60 { world.tick(after: .seconds(1), durable: before) }
    #expect(!world.events.contains { $0.kind == .workerLost })
    #expect(
      world.turns?.contains { !$0.atOnce.isEmpty } == false, "no heartbeat before the welcome")
    let durable = world.scheduler.lastCommit
    for _ in 0..<15 { world.tick(after: .seconds(1), durable: durable) }
    #expect(!world.events.contains { $0.kind == .workerLost })
    for _ in 0..<2 { world.tick(after: .seconds(1), durable: durable) }
    #expect(world.events.contains { $0.kind == .workerLost }, "it never spoke after it (G22)")
  }

  // A welcome without a fact waits for those before it, and for nothing that comes later.
  @Test func aWelcomeOfAKnownWorkerWaitsForNothingNew() {
    var world = World()
    let worker = world.join("w1")
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    let durable = world.scheduler.lastCommit
    for _ in 0..<17 { world.tick(after: .seconds(1), durable: durable) }
    #expect(world.events.contains { $0.kind == .workerLost })
  }

  // Once it has left, what the disk does with the next commit is no reason to be silent.
  @Test(.checks("G22")) func heartbeatsFollowAWelcomeThatHasLeft() {
    var world = World()
    let worker = world.join("w1")
    world.workers[worker].peer = PeerID(900)
    world.greet(worker)
    let durable = world.scheduler.lastCommit
    world.ask(.createQueue(QueueSettings(name: "late")))
    #expect(world.scheduler.lastCommit > durable)
    world.turns = []
    for _ in 0..<4 { world.tick(after: .seconds(1), durable: durable) }
    #expect(world.turns?.allSatisfy { !$0.atOnce.isEmpty } == true)
  }

  // A connection that has ended waits for no welcome.
  @Test func whoHasGoneMeanwhileIsLostInTime() {
    var world = World()
    let before = world.scheduler.lastCommit
    let worker = world.join("w1")
    world.tick(after: .seconds(1), durable: before)
    world.input(.gone(world.workers[worker].peer))
    for _ in 0..<17 { world.tick(after: .seconds(1), durable: before) }
    #expect(world.events.contains { $0.kind == .workerLost })
  }

  // The scheduler asks for no turn at once, again and again, while a welcome waits.
  @Test(.checks("G30")) func waitingIsNotABusyLoop() throws {
    var world = World()
    let before = world.scheduler.lastCommit
    world.join("w1")
    for _ in 0..<40 {
      let next = try #require(world.scheduler.nextDeadline())
      #expect(next > world.now)
      world.tick(after: next - world.now, durable: before)
    }
    #expect(world.now.nanoseconds > 10_000_000_000)
  }
}
