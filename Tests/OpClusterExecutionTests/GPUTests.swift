// Gpus have an identity: two attempts at once never have the same one, whatever ends them.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterExecution

@Suite struct GPUTests {
  private static func amount(_ tenThousandths: Int64) -> ResourceAmount {
    ResourceAmount(tenThousandths: tenThousandths)
  }

  /// Whether a demand fits into what is free of each, by the rule and not by the code.
  private static func fits(_ demand: Int64, _ free: [Int64]) -> Bool {
    let (whole, rest) = (Int(demand / 10_000), demand % 10_000)
    let wholes = free.count { $0 == 10_000 }
    if rest == 0 { return whole <= wholes }
    return whole < wholes || (whole == wholes && free.contains { $0 < 10_000 && $0 >= rest })
  }

  // A thousand gives and takes of many seeds against a model that counts each gpu.
  @Test(arguments: 0..<50) func nobodyHasWhatAnotherHas(seed: UInt64) throws {
    var generator = Seeded(state: seed)
    let capacity =
      Int64.random(in: 0...6, using: &generator) * 10_000 + (generator.chance(20) ? 5_000 : 0)
    var room = GPURoom(Self.amount(capacity))
    var free = room.free
    var held: [GPUShare] = []
    #expect(free.reduce(0, +) == capacity)
    for _ in 0..<1_000 {
      if generator.chance(45), let at = held.indices.randomElement(using: &generator) {
        let share = held.remove(at: at)
        room.giveBack(share)
        for part in share.parts { free[Int(part.position)] += part.amount }
      } else {
        let demand = [1, 2_500, 3_333, 5_000, 9_999, 10_000, 12_500, 20_000, 70_000]
          .randomElement(using: &generator)!
        let share = room.share(of: Self.amount(Int64(demand)))
        #expect((share != nil) == Self.fits(Int64(demand), free), "\(demand) of \(free)")
        guard let share else { continue }
        #expect(share.parts.reduce(0) { $0 + $1.amount } == demand)
        #expect(Set(share.parts.map(\.position)).count == share.parts.count)
        for part in share.parts {
          free[Int(part.position)] -= part.amount
          try #require(free[Int(part.position)] >= 0, "two have gpu \(part.position)")
        }
        room.take(share)
        held.append(share)
      }
      try #require(room.free == free)
    }
    for share in held { room.giveBack(share) }
    #expect(room.free == room.sizes)
  }

  @Test func partsSettleWhereLeastIsLeft() throws {
    var room = GPURoom(ResourceAmount(3))
    let half = try #require(room.share(of: Self.amount(5_000)))
    room.take(half)
    let quarter = try #require(room.share(of: Self.amount(2_500)))
    #expect(quarter.parts.map(\.position) == [0])
    let more = try #require(room.share(of: Self.amount(15_000)))
    #expect(more.parts.map(\.position) == [0, 1] && more.parts.map(\.amount) == [5_000, 10_000])
    #expect(room.share(of: ResourceAmount(3)) == nil, "three are there, and not whole")
    #expect(room.share(of: .zero) == GPUShare())
  }

  @Test func asManyAsThereMayBe() {
    let most = Int64(Limits.gpusPerWorker)
    #expect(GPURoom(ResourceAmount(most)).free.count == Int(most))
    #expect(GPURoom(ResourceAmount(most + 1)).free.count == Int(most))
    #expect(GPURoom(ResourceAmount(.max)).free.count == Int(most))
    #expect(GPURoom(Self.amount(-1)).free == [])
    #expect(GPURoom(ResourceAmount(2)).share(of: ResourceAmount(.max)) == nil)
  }

  /// A worker of two gpus, and operations that ask for one each.
  private static func rig(_ count: UInt32, gpus: Int64 = 2) -> Rig {
    var rig = Rig(cpus: 16, gpus: gpus)
    rig.welcome()
    rig.order {
      var template = Rig.template()
      template.demand.gpus = ResourceAmount(1)
      $0.templates = [template]
      $0.dispatches = (0..<count).map { Rig.dispatch($0) }
    }
    return rig
  }

  private static func gpus(of index: UInt32, _ rig: Rig) -> [Int32]? {
    rig.launches.last { $0.attempt == Rig.attempt(index) }?.gpus
  }

  /// The ways in which an attempt ends.
  enum Way: CaseIterable {
    case success, failure, cancelled, taken, unkillable, restored
  }

  // The gpu of what has ended is the next one's, and not before nothing of it is left.
  @Test(arguments: Way.allCases) func isFreeAfter(_ way: Way) {
    var rig = Self.rig(3)
    #expect(Self.gpus(of: 0, rig) == [0] && Self.gpus(of: 1, rig) == [1])
    #expect(Self.gpus(of: 2, rig) == nil)
    switch way {
    case .success: rig.end(0)
    case .failure: rig.end(0, Rig.failure())
    case .cancelled:
      rig.order { $0.cancels = [CancelOrder(attempt: Rig.attempt(0))] }
      #expect(Self.gpus(of: 2, rig) == nil, "it runs in its grace")
      rig.end(0, Rig.failure(.signal))
    case .taken:
      rig.order { $0.stale = [Rig.attempt(0)] }
      #expect(Self.gpus(of: 2, rig) == nil, "it dies, and is not dead")
      rig.end(0, Rig.failure(.signal))
    case .unkillable:
      rig.apply(.outlived(Rig.attempt(0), .success))
      #expect(Self.gpus(of: 2, rig) == nil, "its processes hang, and have the gpu")
      rig.apply(.survivorsGone(Rig.attempt(0)))
    case .restored:
      rig.apply(.disconnected)
      while !rig.isGreeting { rig.passTime() }
      rig.apply(.message(.refused(Refusal(.otherHistory, "restored"))))
      rig.end(0, Rig.failure(.signal))
      rig.end(1, Rig.failure(.signal))
      rig.messages = []
      rig.welcome()
      rig.order {
        var template = Rig.template()
        template.demand.gpus = ResourceAmount(1)
        $0.templates = [template]
        $0.dispatches = [Rig.dispatch(2)]
      }
    }
    #expect(Self.gpus(of: 2, rig) == [0])
  }

  // What waits for a whole gpu is not passed by for ever by those that break each in turn.
  @Test(.checks("S47")) func partsDoNotStarveWholes() {
    var rig = Rig(cpus: 32, gpus: 4)
    rig.welcome()
    rig.order { orders in
      for (position, amount) in [7_000, 10_000, 2_000].enumerated() {
        var template = Rig.template(UInt32(position), firstIndex: UInt32(position) * 10)
        template.demand.gpus = Self.amount(Int64(amount))
        orders.templates.append(template)
      }
      orders.dispatches = (0..<4).map { Rig.dispatch($0) }
    }
    #expect((0..<4).map { Self.gpus(of: $0, rig) } == [[0], [1], [2], [3]])
    rig.order {
      $0.dispatches =
        [Rig.dispatch(10, template: 1, priority: .high)]
        + (20..<24).map { Rig.dispatch($0, template: 2, priority: .low) }
    }
    #expect(Self.gpus(of: 20, rig) == [1], "the first is kept for the whole one")
    rig.end(0)
    #expect(Self.gpus(of: 10, rig) == [0])
  }
}
