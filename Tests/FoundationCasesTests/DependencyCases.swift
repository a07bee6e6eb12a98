// The cases of ConformanceCases.md about life and dependencies, on Foundation's own queue.

import Foundation

extension FoundationCase {
  static let lives: [FoundationCase] = [
    FoundationCase(1, "a fresh operation") { found in
      let fresh = Operation()
      found.expect("it is ready", fresh.isReady)
      found.expect(
        "no other flag is set",
        !fresh.isExecuting && !fresh.isFinished && !fresh.isCancelled && !fresh.isAsynchronous)
      found.expect("it depends on nothing", fresh.dependencies.isEmpty)
      found.expect("its priority is normal", fresh.queuePriority == .normal)
    },
    FoundationCase(10, "a join point") { found in
      let trace = Trace()
      let (a, b, c) = (Gate("a", trace), Gate("b", trace), Gate("c", trace))
      let (join, d) = (Operation(), trace.mark("d"))
      for gate in [a, b, c] { join.addDependency(gate.operation) }
      d.addDependency(join)
      let queue = queue()
      let all = [a.operation, b.operation, c.operation, join, d]
      queue.addOperations(all, waitUntilFinished: false)
      found.soon("the gates begin") { trace.lines.count == 3 }
      for gate in [c, a] { gate.open() }
      found.stays("d waits for the last gate") { !trace.lines.contains("d") }
      b.open()
      found.soon("d runs") { trace.lines.last == "d" }
    },
    FoundationCase(52, "cancelling what has finished, and twice") { found in
      let done = Operation()
      let running = queue()
      running.addOperations([done], waitUntilFinished: true)
      done.cancel()
      found.expect("what has finished is not cancelled", done.isFinished && !done.isCancelled)
      let waiting = Operation()
      let suspended = queue(isSuspended: true)
      suspended.addOperation(waiting)
      waiting.cancel()
      waiting.cancel()
      found.expect("twice is harmless", waiting.isCancelled && !waiting.isFinished)
      suspended.isSuspended = false
      suspended.waitUntilAllOperationsAreFinished()
    },
  ]

  static let dependencies: [FoundationCase] = [
    FoundationCase(13, "a diamond") { found in
      let trace = Trace()
      let (a, b, c, d) = (trace.mark("a"), trace.mark("b"), trace.mark("c"), trace.mark("d"))
      for middle in [b, c] {
        middle.addDependency(a)
        d.addDependency(middle)
      }
      queue().addOperations([d, c, b, a], waitUntilFinished: true)
      found.expect("a first, d last", trace.lines.first == "a" && trace.lines.last == "d")
      found.expect("each once", trace.lines.sorted() == ["a", "b", "c", "d"])
    },
    FoundationCase(14, "a dependency that has finished") { found in
      let queue = queue()
      let (a, b) = (Operation(), Operation())
      queue.addOperations([a], waitUntilFinished: true)
      b.addDependency(a)
      found.expect("b is ready at once", b.isReady)
      queue.addOperations([b], waitUntilFinished: true)
      found.expect("a stays listed", b.dependencies == [a])
    },
    FoundationCase(17, "the same dependency twice") { found in
      let trace = Trace()
      let (a, b) = (trace.mark("a"), trace.mark("b"))
      b.addDependency(a)
      b.addDependency(a)
      found.expect("it is listed once", b.dependencies.count == 1)
      queue().addOperations([b, a], waitUntilFinished: true)
      found.expect("b after a", trace.lines == ["a", "b"])
    },
    FoundationCase(20, "removing the last unfinished dependency") { found in
      let (x, b) = (Operation(), Operation())
      b.addDependency(x)
      let queue = queue()
      queue.addOperation(b)
      found.stays("b waits") { !b.isFinished }
      b.removeDependency(x)
      found.expect("b is ready", b.isReady)
      found.soon("b runs", within: 2) { b.isFinished }
      b.cancel()
    },
    FoundationCase(21, "a dependency added before the start") { found in
      let trace = Trace()
      let (a, b) = (trace.mark("a"), trace.mark("b"))
      let queue = queue(isSuspended: true)
      queue.addOperation(b)
      found.expect("b is ready", b.isReady)
      b.addDependency(a)
      found.expect("b is not ready any more", !b.isReady)
      queue.isSuspended = false
      found.stays("b waits") { trace.lines.isEmpty }
      queue.addOperations([a], waitUntilFinished: false)
      found.soon("a, then b") { trace.lines == ["a", "b"] }
    },
    FoundationCase(22, "a dependency added while it executes") { found in
      let trace = Trace()
      let gate = Gate("g", trace)
      queue().addOperation(gate.operation)
      found.soon("the gate begins") { trace.lines == ["g+"] }
      gate.operation.addDependency(Operation())
      gate.open()
      found.soon("it finishes") { gate.operation.isFinished }
    },
    FoundationCase(23, "a dependency added to a cancelled operation") { found in
      let b = Operation()
      let queue = queue(isSuspended: true)
      queue.addOperation(b)
      b.cancel()
      b.addDependency(Operation())
      queue.isSuspended = false
      found.soon("b finishes, cancelled") { b.isFinished && b.isCancelled }
    },
    FoundationCase(24, "cancelled is not finished") { found in
      let trace = Trace()
      let (gate, b) = (Gate("g", trace), trace.mark("b"))
      b.addDependency(gate.operation)
      queue().addOperations([gate.operation, b], waitUntilFinished: false)
      found.soon("the gate begins") { trace.lines == ["g+"] }
      gate.operation.cancel()
      found.stays("b waits") { gate.operation.isCancelled && !b.isReady && !b.isFinished }
      gate.open()
      found.soon("b runs") { trace.lines == ["g+", "g-", "b"] }
    },
    FoundationCase(25, "a dependency in a suspended queue") { found in
      let trace = Trace()
      let (a, b) = (trace.mark("a"), trace.mark("b"))
      b.addDependency(a)
      let suspended = queue(isSuspended: true)
      suspended.addOperation(a)
      queue().addOperation(b)
      found.stays("b waits") { trace.lines.isEmpty }
      suspended.isSuspended = false
      found.soon("a, then b") { trace.lines == ["a", "b"] }
    },
  ]
}
