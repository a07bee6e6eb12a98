// What `why` says of work that waits for workers which are there and take nothing: that nobody is
// connected, or could ever run it, would be untrue (S61).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

extension World {
  fileprivate mutating func submit(cpus: Int64 = 1) {
    var submission = GraphSubmission(name: "g")
    var template = OperationTemplate(name: "t", work: .command)
    template.demand = Resources(cpus: ResourceAmount(cpus))
    submission.templates.append(template)
    ask(.submit(submission))
  }

  fileprivate mutating func why() -> [String] {
    guard case .explanations(let rows, _)? = ask(.explain(.graph(GraphID(1)))) else { return [] }
    return rows.first?.lines.map(\.text) ?? []
  }
}

@Suite struct AbsentWorkersTests {
  @Test func nobodyIsThere() {
    var world = World()
    world.submit()
    #expect(world.why() == ["no worker is connected; start one with: opworker serve"])
  }

  @Test func everybodyIsLeaving() {
    var world = World()
    world.join("a")
    world.ask(.drainWorker("a"))
    world.submit()
    #expect(world.why() == ["every worker is leaving; start one with: opworker serve"])
  }

  @Test(arguments: [1, 4])
  func silentOnes(cpus: Int64) {
    var world = World()
    world.join("a", cpus: 2)
    while !world.scheduler.conversations[1].isSuspect { world.tick(after: .seconds(1)) }
    world.submit(cpus: cpus)
    if cpus > 2 {
      #expect(world.why().last == "it asks for 4 cpus, and the largest worker has 2")
      return
    }
    #expect(world.why() == ["worker a could run it, and has not been heard of for 6 s"])
    world.input(.gone(world.workers[0].peer))
    #expect(world.why() == ["worker a could run it, and its connection is gone for 6 s"])
  }

  @Test func thoseOfAnEarlierLife() {
    var world = World()
    world.join("a", cpus: 2)
    world.submit(cpus: 4)
    world.scheduler = world.replayed()
    world.workers[0].peer.number += 1000
    world.beginLife()
    #expect(
      world.why() == ["the coordinator was started anew, and not all workers are back yet"])
    world.greet(0)
    #expect(world.why().first?.hasPrefix("no connected worker can run it") == true)
  }

  // Given nothing at all for a while, it is neither gone nor too small.
  @Test func restingOnes() throws {
    var world = World()
    world.join("a")
    world.scheduler.conversations[1].isResting = true
    world.submit()
    #expect(world.why() == ["worker a could run it, and takes nothing"])
    world.scheduler.conversations[1].trouble = StartTrouble(whole: Abstention(reason: "no /data"))
    let line = try #require(world.why().first)
    #expect(line.hasPrefix("worker a could run it, but it could not start what it was given"))
    #expect(line.hasSuffix("no /data"))
  }
}
