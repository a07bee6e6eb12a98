// The cases of ConformanceCases.md about order, limits, suspension and barriers, on Foundation's
// own queue.

import Foundation

extension FoundationCase {
  static let orders: [FoundationCase] = [
    FoundationCase(29, "limit 1 passes by what is not ready") { found in
      let trace = Trace()
      let never = Operation()
      let second = trace.mark("2")
      second.addDependency(never)
      let queue = queue(limit: 1)
      for operation in [trace.mark("1"), second, trace.mark("3")] { queue.addOperation(operation) }
      found.soon("1 and 3 run") { trace.lines == ["1", "3"] }
      found.soon("3 leaves the queue") { queue.operationCount == 1 }
      found.stays("2 waits, alone") { trace.lines.count == 2 && queue.operationCount == 1 }
      second.cancel()
    },
    FoundationCase(30, "five levels and ties") { found in
      let trace = Trace()
      let queue = queue(limit: 1, isSuspended: true)
      let levels: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
      for (at, level) in levels.enumerated() {
        for place in ["a", "b"] {
          let operation = trace.mark("\(at)\(place)")
          operation.queuePriority = level
          queue.addOperation(operation)
        }
      }
      queue.isSuspended = false
      queue.waitUntilAllOperationsAreFinished()
      found.expect(
        "by level, then by addition",
        trace.lines == ["4a", "4b", "3a", "3b", "2a", "2b", "1a", "1b", "0a", "0b"])
    },
    FoundationCase(32, "high but not ready does not stall low") { found in
      let trace = Trace()
      let (gate, high, low) = (Gate("g", trace), trace.mark("H"), trace.mark("L"))
      high.queuePriority = .veryHigh
      high.addDependency(Operation())
      low.queuePriority = .veryLow
      let queue = queue(limit: 1)
      queue.addOperations([gate.operation, high, low], waitUntilFinished: false)
      gate.open()
      found.soon("L runs") { trace.lines.contains("L") }
      found.stays("H waits") { !trace.lines.contains("H") }
      high.cancel()
    },
    FoundationCase(33, "priority is not inherited") { found in
      let trace = Trace()
      let (low, normal, high) = (trace.mark("L"), trace.mark("N"), trace.mark("H"))
      low.queuePriority = .low
      high.queuePriority = .veryHigh
      high.addDependency(low)
      let queue = queue(limit: 1, isSuspended: true)
      queue.addOperations([low, normal, high], waitUntilFinished: false)
      queue.isSuspended = false
      found.soon("N, L, H") { trace.lines == ["N", "L", "H"] }
    },
    FoundationCase(34, "quality of service does not order a queue") { found in
      for limit in [1, 2] {
        let trace = Trace()
        // Of two slots one is held, so that one operation runs at a time in both runs.
        let gate = Gate("g", trace)
        let queue = queue(limit: limit)
        if limit == 2 {
          queue.addOperation(gate.operation)
          found.soon("the gate begins") { trace.lines == ["g+"] }
        }
        queue.isSuspended = true
        let classes: [(String, QualityOfService?)] = [
          ("background", .background), ("none", nil), ("interactive", .userInteractive),
        ]
        for (name, quality) in classes {
          let operation = trace.mark(name)
          if let quality { operation.qualityOfService = quality }
          queue.addOperation(operation)
        }
        queue.isSuspended = false
        found.soon("all run") { trace.lines.contains("background") && trace.lines.count >= 3 }
        let order = trace.lines.filter { !$0.hasPrefix("g") }
        found.expect("order of addition, limit \(limit)", order == classes.map(\.0))
        gate.open()
        queue.waitUntilAllOperationsAreFinished()
      }
    },
  ]

  static let limits: [FoundationCase] = [
    FoundationCase(38, "raising and lowering the limit while they run") { found in
      let trace = Trace()
      let gates = (0..<8).map { Gate("\($0)", trace) }
      let queue = queue(limit: 1)
      queue.addOperations(gates.map(\.operation), waitUntilFinished: false)
      func begun() -> Int { trace.lines.filter { $0.hasSuffix("+") }.count }
      found.soon("one runs") { begun() == 1 }
      queue.maxConcurrentOperationCount = 4
      found.soon("four run") { begun() == 4 }
      queue.maxConcurrentOperationCount = 1
      for at in 0..<3 {
        gates[at].open()
        found.stays("nothing begins while others run") { begun() == 4 }
      }
      gates[3].open()
      found.soon("then one") { begun() == 5 }
      for gate in gates[4...] { gate.open() }
      found.soon("all end") { queue.operationCount == 0 }
    },
    FoundationCase(39, "limit 0") { found in
      let trace = Trace()
      let queue = queue(limit: 0)
      queue.addOperations([trace.mark("a"), trace.mark("b")], waitUntilFinished: false)
      found.stays("nothing starts") { trace.lines.isEmpty }
      queue.maxConcurrentOperationCount = 2
      found.soon("both run") { trace.lines.count == 2 }
    },
    FoundationCase(43, "cancelled in a suspended queue") { found in
      let trace = Trace()
      let (b, c) = (trace.mark("b"), trace.mark("c"))
      c.addDependency(b)
      let suspended = queue(isSuspended: true)
      suspended.addOperation(b)
      queue().addOperation(c)
      b.cancel()
      found.stays("b is ready and stays") {
        b.isCancelled && b.isReady && !b.isFinished && suspended.operationCount == 1
      }
      found.expect("c waits", !c.isFinished)
      suspended.isSuspended = false
      found.soon("both finish") { b.isFinished && trace.lines == ["c"] }
    },
    FoundationCase(44, "everything may be changed while suspended") { found in
      let trace = Trace()
      let queue = queue(isSuspended: true)
      let (a, b, c, d) = (trace.mark("a"), trace.mark("b"), trace.mark("c"), trace.mark("d"))
      for operation in [a, b, c] { queue.addOperation(operation) }
      queue.addOperation(d)
      c.queuePriority = .veryHigh
      queue.maxConcurrentOperationCount = 1
      b.cancel()
      a.addDependency(c)
      queue.isSuspended = false
      found.soon("c, a, d") { trace.lines == ["c", "a", "d"] && b.isFinished }
    },
    FoundationCase(41, "a cancelled operation needs no slot") { found in
      let trace = Trace()
      let (gate, b, c) = (Gate("g", trace), trace.mark("b"), trace.mark("c"))
      c.addDependency(b)
      let full = queue(limit: 1)
      full.addOperations([gate.operation, b], waitUntilFinished: false)
      queue().addOperation(c)
      found.soon("the gate begins") { trace.lines == ["g+"] }
      b.cancel()
      found.soon("b finishes and c runs while the gate is closed", within: 2) {
        b.isFinished && trace.lines.contains("c")
      }
      gate.open()
      found.soon("all end") { c.isFinished && gate.operation.isFinished }
    },
  ]

  static let barriers: [FoundationCase] = [
    FoundationCase(45, "the order around a barrier") { found in
      let trace = Trace()
      let gates = ["1", "2", "3"].map { Gate($0, trace) }
      let inside = DispatchSemaphore(value: 0)
      let (high, normal) = (trace.mark("H"), trace.mark("N"))
      high.queuePriority = .veryHigh
      let queue = queue()
      queue.addOperations(gates.map(\.operation), waitUntilFinished: false)
      found.soon("the gates begin") { trace.lines.count == 3 }
      queue.addBarrierBlock {
        trace.add("B+")
        inside.wait()
        trace.add("B-")
      }
      queue.addOperations([high, normal], waitUntilFinished: false)
      found.expect("the barrier does not count", queue.operationCount == 5)
      found.expect("it is in nobody's dependencies", high.dependencies.isEmpty)
      found.expect("what follows is not ready", !high.isReady && !normal.isReady)
      for gate in gates[..<2] { gate.open() }
      found.stays("it waits for all before it") { !trace.lines.contains("B+") }
      gates[2].open()
      found.soon("it begins") { trace.lines.last == "B+" }
      found.stays("alone") { trace.lines.last == "B+" }
      inside.signal()
      found.soon("what follows runs") { high.isFinished && normal.isFinished }
      found.expect("after its end", Array(trace.lines[6...7]) == ["B+", "B-"])
    },
    FoundationCase(47, "two barriers") { found in
      let trace = Trace()
      let queue = queue()
      queue.addOperation(trace.mark("1"))
      queue.addBarrierBlock { trace.add("B1") }
      queue.addOperation(trace.mark("2"))
      queue.addBarrierBlock { trace.add("B2") }
      queue.addOperation(trace.mark("3"))
      found.soon("all run") { trace.lines.count == 5 }
      found.expect("in order", trace.lines == ["1", "B1", "2", "B2", "3"])
    },
    FoundationCase(49, "a barrier in an empty suspended queue") { found in
      let trace = Trace()
      let queue = queue(isSuspended: true)
      queue.addBarrierBlock { trace.add("B") }
      found.stays("it does not start") { trace.lines.isEmpty }
      queue.isSuspended = false
      found.soon("it runs") { trace.lines == ["B"] }
    },
  ]
}
