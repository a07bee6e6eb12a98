// Workers that were lost stay in the list, with the reason and since when, until they come back or
// are forgotten.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

extension World {
  fileprivate mutating func rows() -> [WorkerRow] {
    guard case .workers(let rows)? = ask(.workers) else { return [] }
    return rows
  }

  /// Time goes by in which these workers are heard of and nobody else is.
  fileprivate mutating func pass(_ seconds: Int, heard: [Int] = []) {
    for _ in 0..<seconds {
      tick(after: .seconds(1))
      for at in heard { report(at) }
    }
  }
}

@Suite struct DownWorkersTests {
  // Lost by silence.
  @Test(.checks("S147")) func aLostWorkerIsListedAsDown() throws {
    var world = World()
    world.join("a")
    world.join("b")
    world.pass(1, heard: [0, 1])
    let lastHeard = WallTime(milliseconds: world.now.nanoseconds / 1_000_000)
    world.pass(20, heard: [0])
    let rows = world.rows()
    #expect(rows.map(\.name) == ["a", "b"] && rows.map(\.state) == [.connected, .down])
    let down = try #require(rows.last)
    #expect(down.downReason == "it was not heard of for 16 s")
    #expect(down.downSince == lastHeard)
    #expect(down.lastHeard == .seconds(20))
    #expect(world.scheduler.workers(at: world.now).map(\.name) == ["a"], "it is no worker any more")
  }

  @Test func itIsGoneWhenItsNameJoins() throws {
    var world = World()
    world.join("a")
    world.pass(20)
    #expect(world.rows().map(\.state) == [.down])
    world.join("a")
    #expect(world.rows().map(\.state) == [.connected])
    // Down again, it is listed once.
    world.pass(20)
    #expect(world.rows().map(\.state) == [.down])
  }

  // Who leaves in good order is not down.
  @Test func whoLeavesIsNotDown() throws {
    var world = World()
    let at = world.join("a")
    world.input(.worker(world.workers[at].peer, .goodbye(lastReport: 0)))
    #expect(world.rows() == [])
  }

  // One that does not come back after a start of the coordinator.
  @Test(.checks("S150")) func whoDoesNotComeBackAfterAStart() throws {
    var world = World()
    world.join("a")
    world.beginLife()
    world.pass(32)
    // The fake's conversation is that of the life before; nothing was heard in this one.
    let row = try #require(world.rows().first)
    #expect(row.state == .down)
  }

  @Test func forgetting() throws {
    var world = World()
    world.join("a")
    world.join("b")
    world.pass(20, heard: [0])
    guard case .refused(let there)? = world.ask(.forgetWorker("a")) else {
      Issue.record("a worker that is there was forgotten")
      return
    }
    #expect(there.message == "worker a is not down" && !there.hint.isEmpty)
    guard case .done? = world.ask(.forgetWorker("b")) else {
      Issue.record("b is not forgotten")
      return
    }
    #expect(world.rows().map(\.name) == ["a"])
    guard case .refused(let unknown)? = world.ask(.forgetWorker("b")) else {
      Issue.record("b was forgotten twice")
      return
    }
    #expect(unknown.code == .unknownWorker)
  }

  /// `Limits.lostWorkersListed`: the first lost go first, and those that came back do not count.
  @Test func soManyAreListed() {
    var down = DownWorkers()
    func add(_ number: Int) {
      down.add(
        "w\(number)", WorkerID(UInt32(number)), at: Instant(nanoseconds: Int64(number)),
        since: .unknown, reason: "gone")
    }
    for number in 1...Limits.lostWorkersListed { add(number) }
    #expect(down.count == Limits.lostWorkersListed)
    down.remove("w5")
    add(Limits.lostWorkersListed + 1)
    #expect(down.rows(at: .zero).first?.name == "w1")
    add(Limits.lostWorkersListed + 2)
    let rows = down.rows(at: .zero)
    #expect(rows.count == Limits.lostWorkersListed && rows.first?.name == "w2")
  }

  /// `Limits.lostWorkerLife`
  @Test func soLongTheyAreListed() {
    var down = DownWorkers()
    down.add("w", WorkerID(1), at: .zero, since: .unknown, reason: "gone")
    let end = Instant.zero + Limits.lostWorkerLife
    #expect(down.rows(at: end).count == 1)
    #expect(down.rows(at: end + Span(nanoseconds: 1)).isEmpty)
  }
}
