// Conformance cases C29 to C34: what is ready, and which of what is ready goes first.

import Citations
import OpCluster
import OpClusterModel
import RealCluster
import Testing

extension Conformance {
  @Suite struct Order {
    /// What is not ready is passed over, also where one runs at a time.
    @Test(
      "C29 limit 1 is not first in, first out for what is not ready", .checks("S46"),
      arguments: Setting.all)
    func c29(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("one", limit: 1)
        let (one, two, three) = (stage.mark("1"), stage.mark("2"), stage.mark("3"))
        try two.addDependency(stage.mark("never"))
        for mark in [one, two, three] { try await queue.addOperation(mark) }
        try await stage.ended(one, three)
        try await soon("one is left") { queue.operationCount == 1 }
        try await stays("2 waits") {
          !two.isReady && !two.isFinished && queue.operationCount == 1
        }
        #expect(stage.sink.trace == ["1", "3"])
      }
    }

    /// The level, then the place in line.
    @Test("C30 all five levels plus ties", .checks("S47"), arguments: Setting.all)
    func c30(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("levels", limit: 1, isSuspended: true)
        let levels: [ClusterOperation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
        for level in levels {
          for place in ["first", "second"] {
            let mark = stage.mark("\(level) \(place)")
            mark.queuePriority = level
            try await queue.addOperation(mark)
          }
        }
        #expect(stage.sink.trace.isEmpty)
        try await queue.resume()
        try await stage.emptied(queue)
        #expect(
          stage.sink.trace
            == levels.reversed().flatMap { ["\($0) first", "\($0) second"] })
      }
    }

    /// Any number is pulled toward normal to the first level met. The wire knows the five
    /// levels alone, so that nothing else can be reported.
    @Test("C31 wire priorities", .checks("S48")) func c31() async throws {
      try await onStage(.cluster) { stage in
        let queue = stage.newQueue("numbers", isSuspended: true)
        let marks = [10_000, 5, 3, -3, -6, -9].map { number in
          let mark = stage.mark("\(number)")
          mark.queuePriority = ClusterOperation.QueuePriority(normalising: number)
          return mark
        }
        try await queue.addOperations(marks)
        let other = try await stage.anotherClient()
        var reported: [Int8] = []
        for mark in marks {
          let seen = try await other.operation(try #require(mark.id))
          reported.append(try #require(try await seen.details()).priority.rawValue)
          #expect(seen.queuePriority == mark.queuePriority)
        }
        #expect(reported == [8, 4, 0, 0, -4, -8])
        await other.close()
      }
    }

    /// Priority never makes others wait for one that is not ready.
    @Test("C32 high but unready does not stall low", .checks("S46", "S53"), arguments: Setting.all)
    func c32(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("one", limit: 1)
        let (gate, high, low) = (stage.gate("g"), stage.mark("high"), stage.mark("low"))
        try high.addDependency(stage.mark("never"))
        high.queuePriority = .veryHigh
        low.queuePriority = .veryLow
        try await queue.addOperations([gate, high, low])
        try await stage.sink.waitFor("g+")
        stage.sink.open("g")
        try await stage.ended(low)
        try await stays("high waits") { !high.isReady && !high.isExecuting }
        #expect(stage.sink.trace == ["g+", "g-", "low"])
      }
    }

    /// A dependent of a high level does not lift what it depends on.
    @Test("C33 no inheritance", .checks("S54"), arguments: Setting.all)
    func c33(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("one", limit: 1, isSuspended: true)
        let (low, normal, high) = (stage.mark("low"), stage.mark("normal"), stage.mark("high"))
        low.queuePriority = .low
        high.queuePriority = .veryHigh
        try high.addDependency(low)
        try await queue.addOperations([low, normal, high])
        try await queue.resume()
        try await stage.ended(low, normal, high)
        #expect(stage.sink.trace == ["normal", "low", "high"])
      }
    }

    /// Quality of service is the scheduling class of the job, and no order in a queue:
    /// not with limit 1, and not with limit 2 where one slot keeps the order visible.
    @Test(
      "C34 quality of service does not order a queue", .checks("S55", "S56"), arguments: Setting.all
    )
    func c34(_ setting: Setting) async throws {
      try await onOneSlot(setting) { stage in
        for limit in [1, 2] {
          let queue = stage.newQueue("limit\(limit)", limit: limit, isSuspended: true)
          let services: [QualityOfService?] = [.background, nil, .userInteractive]
          let urgencies = services.enumerated().map { at, service in
            let urgency = stage.urgency("\(limit).\(at)")
            urgency.settings.qualityOfService = service
            return urgency
          }
          try await queue.addOperations(urgencies)
          try await queue.resume()
          try await stage.emptied(queue)
          #expect(stage.sink.trace.suffix(3) == ["\(limit).0", "\(limit).1", "\(limit).2"])
          #expect(urgencies.allSatisfy { $0.queuePriority == .normal })
          var classes: [UInt8] = []
          for urgency in urgencies {
            classes.append(try await urgency.output(as: UInt8.self))
            #expect(try await urgency.details()?.priority == .normal)
          }
          #expect(classes[0] < classes[1] && classes[1] < classes[2], "\(classes)")
        }
      }
    }
  }
}
