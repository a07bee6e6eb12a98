// Additions of operations at the same time: batches that depend on each other's members, operations
// on their way, barriers, and what becomes of waits when nothing more is told.

import Citations
import Dispatch
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@testable import OpCluster

@Suite struct AdditionTests {
  let backend = ControlledCluster()

  @Test("two batches that depend on each other's members are both added", .checks("S58", "S28"))
  func mutualBatches() async throws {
    let cluster = backend.object()
    for _ in 0..<60 {
      let first = (0..<40).map { ClusterOperation(name: "a\($0)") }
      let second = (0..<40).map { ClusterOperation(name: "b\($0)") }
      try first[39].addDependency(second[0])
      try second[39].addDependency(first[0])
      let batches = [first, second]
      // Both are under way before either has an answer.
      backend.hold()
      let tasks = batches.map { batch in
        Task<Void, any Error>.detached {
          try await ClusterOperationQueue(name: "mutual", on: cluster).addOperations(batch)
        }
      }
      try await eventually { !backend.waiting.isEmpty }
      backend.release()
      for task in tasks { try await end(of: task) }
      for operation in first + second {
        try await eventually { operation.isFinished }
      }
    }
  }

  @Test("batches that wait for each other in a circle are refused, both", .checks("S32"))
  func circleOfBatches() async throws {
    let cluster = backend.object()
    for _ in 0..<50 {
      let a = ClusterOperation(name: "a")
      let b = ClusterOperation(name: "b")
      try a.addDependency(b)
      try b.addDependency(a)
      let tasks = [a, b].map { operation in
        Task<Void, any Error>.detached {
          try await ClusterOperationQueue(name: "circle", on: cluster).addOperation(operation)
        }
      }
      for task in tasks {
        do {
          try await end(of: task)
          Issue.record("a circle was accepted")
        } catch {
          #expect((error as? ClusterError)?.code == .cycle)
        }
      }
    }
  }

  @Test("an operation whose addition waits for another's can still be changed", .checks("S20"))
  func changeableWhileWaiting() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "waiting", on: cluster)
    try await queue.addOperation(ClusterOperation(name: "first"))
    backend.hold()
    let x = ClusterOperation(name: "x")
    let a = ClusterOperation(name: "a")
    try a.addDependency(x)
    let adding = Task.immediate { try await queue.addOperation(x) }
    let dependent = Task.immediate { try await queue.addOperation(a) }
    try await backend.hasAnswer(to: \.isSubmission)
    #expect(throws: Never.self) { try a.addDependency(ClusterOperation(name: "y")) }
    backend.release()
    try await end(of: adding)
    try await end(of: dependent)
    try await eventually { a.isFinished == false && x.isFinished }
  }

  @Test("a late dependency waits for what its own dependencies are on their way to", .checks("S28"))
  func lateDependency() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "late", on: cluster, isSuspended: true)
    let dependent = ClusterOperation(name: "dependent")
    try await queue.addOperation(dependent)
    let moving = ClusterOperation(name: "moving")
    let fresh = ClusterOperation(name: "fresh")
    try fresh.addDependency(moving)
    backend.hold()
    let adding = Task.immediate { try await queue.addOperation(moving) }
    try await backend.hasAnswer(to: \.isSubmission)
    let late = Task.detached { try dependent.addDependency(fresh) }
    // On a thread that waits: nothing shows that it has begun, and both orders must do.
    backend.release()
    try await end(of: adding)
    #expect(try await end(of: late))
  }

  @Test("a barrier that others have declared is refused", .checks("S77"))
  func declaredBarrier() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "barriers", on: cluster, isSuspended: true)
    let barrier = ClusterOperation(name: "barrier")
    let dependent = ClusterOperation(name: "dependent")
    try dependent.addDependency(barrier)
    try await queue.addOperation(dependent)
    do {
      try await queue.addBarrier(barrier)
      Issue.record("it entered as no barrier")
    } catch {
      #expect(error.code == .badRequest)
    }
    // It may still enter as what it was declared as.
    try await queue.addOperation(barrier)
  }

  @Test("a barrier in a circle is refused as one", .checks("S32"))
  func barrierInACircle() async throws {
    let queue = ClusterOperationQueue(name: "barriers", on: backend.object())
    let barrier = ClusterOperation(name: "barrier")
    let other = ClusterOperation(name: "other")
    try barrier.addDependency(other)
    try other.addDependency(barrier)
    do {
      try await queue.addBarrier(barrier)
      Issue.record("a circle was accepted")
    } catch {
      #expect(error.code == .cycle)
    }
  }

  @Test("a dependency of another cluster is none of this one's number", .checks("S28"))
  func foreignDependency() async throws {
    let other = ControlledCluster()
    let elsewhere = ClusterOperationQueue(name: "other", on: other.object(), isSuspended: true)
    let foreign = ClusterOperation(name: "foreign")
    try await elsewhere.addOperation(foreign)
    let dependent = ClusterOperation(name: "dependent")
    try dependent.addDependency(foreign)
    do {
      try await ClusterOperationQueue(name: "own", on: backend.object()).addOperation(dependent)
      Issue.record("it was taken for another operation")
    } catch {
      #expect(error.code == .unknownDependency)
    }
  }

  @Test("a dependency on its way to another cluster is refused at once", .checks("S28"))
  func foreignInFlight() async throws {
    let other = ControlledCluster()
    let elsewhere = ClusterOperationQueue(name: "other", on: other.object(), isSuspended: true)
    try await elsewhere.addOperation(ClusterOperation(name: "first"))
    other.hold()
    let foreign = ClusterOperation(name: "foreign")
    let adding = Task.immediate { try await elsewhere.addOperation(foreign) }
    let fresh = ClusterOperation(name: "fresh")
    let dependent = ClusterOperation(name: "dependent")
    try dependent.addDependency(fresh)
    try dependent.addDependency(foreign)
    let queue = ClusterOperationQueue(name: "own", on: backend.object())
    let refused = Task { try await queue.addOperation(dependent) }
    do {
      try await end(of: refused)
      Issue.record("it waits for another cluster")
    } catch {
      #expect((error as? ClusterError)?.code == .unknownDependency)
    }
    #expect(fresh.id == nil, "nothing is declared for what is refused")
    other.release()
    try await end(of: adding)
    // The line is free.
    try await queue.addOperation(fresh)
  }

  @Test("operations that wait for each other over two clusters are refused", .checks("S28"))
  func mutualOverClusters() async throws {
    let other = ControlledCluster()
    let queues = [backend.object(), other.object()].map {
      ClusterOperationQueue(name: "q", on: $0)
    }
    for _ in 0..<20 {
      let (a, b) = (ClusterOperation(name: "a"), ClusterOperation(name: "b"))
      try a.addDependency(b)
      try b.addDependency(a)
      let tasks = zip(queues, [a, b]).map { queue, operation in
        Task<Void, any Error>.detached { try await queue.addOperation(operation) }
      }
      for task in tasks {
        await #expect(throws: ClusterError.self) { try await end(of: task) }
      }
    }
  }

  @Test("a refused batch leaves a dependency to the queue that has it by now", .checks("S58"))
  func declaredAndAddedElsewhere() async throws {
    let cluster = backend.object()
    let queues = ["q1", "q2"].map { ClusterOperationQueue(name: $0, on: cluster) }
    for queue in queues { try await queue.addOperation(ClusterOperation(name: "first")) }
    let declared = ClusterOperation(name: "declared")
    try await cluster.declare([declared])
    let member = ClusterOperation(name: "member")
    let dependency = ClusterOperation(name: "dependency")
    try member.addDependency(dependency)
    backend.hold()
    let batch = Task.immediate { try await queues[0].addOperations([declared, member]) }
    try await backend.hasAnswer(to: \.isSubmission)
    // The dependency is known now, and the batch goes on.
    backend.deliverWaiting()
    #expect(dependency.id != nil)
    let adding = Task.immediate { try await queues[1].addOperation(dependency) }
    backend.fail { request in
      if case .enqueue(_, "q1") = request { ClusterError(.unreachable, "not now") } else { nil }
    }
    backend.release()
    try await end(of: adding)
    await #expect(throws: ClusterError.self) { try await end(of: batch) }
    let idle = Task { try await queues[1].waitUntilAllOperationsAreFinished() }
    try await end(of: idle)
    #expect(dependency.isFinished)
  }

  @Test("who waits for an operation in flight is told of a loss", .checks("S141"))
  func lossInFlight() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "lost", on: cluster, isSuspended: true)
    try await queue.addOperation(ClusterOperation(name: "first"))
    backend.hold()
    let operation = ClusterOperation(name: "in flight")
    let adding = Task.immediate { try await queue.addOperation(operation) }
    try await backend.hasAnswer(to: \.isSubmission)
    let waiting = Task.immediate { try await operation.waitUntilFinished() }
    cluster.book.lose(nil, .init(.connectionLost, "cut"))
    backend.release()
    try await end(of: adding)
    do {
      try await end(of: waiting)
      Issue.record("it has not finished")
    } catch {
      #expect((error as? ClusterError)?.code == .connectionLost)
    }
  }
}
