// Cancellation is a flag, a cancelled task and a call (S87, S91, S92, S134).

import Citations
import OpClusterModel
import OpClusterOperations
import Testing

@Suite struct CancellationTests {
  private struct Running {
    let attempt: RunningAttempt
    let ends = Notes<AttemptResult>()

    init(
      _ registry: OperationRegistry, _ type: OperationType, _ argument: [UInt8],
      _ context: OperationContext = Rig.context()
    ) throws {
      let ends = ends
      let started = registry.start(
        type, argument: argument, context: context, qos: .utility,
        onEnd: { result, _ in ends.add(result) })
      guard case .running(let attempt) = started else { throw Ended() }
      self.attempt = attempt
    }
    struct Ended: Error {}

    var end: AttemptResult {
      get async throws { try await ends.wait(for: 1)[0] }
    }
  }

  // By looking at the flag, by an await that throws.
  @Test(.checks("S87"), arguments: [Obey.Order.waitForFlag, .waitForTask])
  func stopsWhenItLooks(_ order: Obey.Order) async throws {
    let running = try Running(
      Rig.registry, Obey.operationType, OperationArgument.encode(Obey(order: order)))
    running.attempt.cancel()
    running.attempt.cancel()
    let end = try await running.end
    #expect(end.cause == .failed && end.wasStopped && end.diagnostic == "it was cancelled")
    #expect(running.attempt.context.isCancelled)
    #expect(running.ends.all.count == 1)
  }

  // It goes on until it returns, and what it returns is told.
  @Test(.checks("S92", "S134")) func goesOnUntilItReturns() async throws {
    let registry = OperationRegistry()
    let gate = Gate()
    let begun = Notes<Bool>()
    let number = registry.add(closure: { context in
      begun.add(true)
      await gate.passage()
      return "cancelled: \(context.isCancelled) \(Task.isCancelled)"
    })
    let running = try Running(
      registry, OperationRegistry.closureType, OperationArgument.encode(number))
    _ = try await begun.wait(for: 1)
    running.attempt.cancel()
    #expect(running.ends.all.isEmpty)
    gate.open()
    let end = try await running.end
    #expect(end.isSuccess)
    #expect(try OutputValue.decode(String.self, from: end.output) == "cancelled: true true")
  }

  // What was cancelled before it began never runs its work.
  @Test(.checks("S91")) func cancelledBeforeItBegan() async throws {
    let registry = OperationRegistry()
    let number = registry.add(closure: { _ in
      Issue.record("it ran")
      return NoOutput()
    })
    let context = Rig.context()
    context.deliverCancellation()
    let running = try Running(
      registry, OperationRegistry.closureType, OperationArgument.encode(number), context)
    let end = try await running.end
    #expect(end.wasStopped && end.cause == .failed)
  }

  // A handler is called once, also when it comes too late, and never after the end.
  @Test func handlers() async throws {
    let context = Rig.context()
    let notes = Notes<String>()
    context.onCancel { notes.add("early") }
    #expect(notes.all.isEmpty)
    context.deliverCancellation()
    context.deliverCancellation()
    #expect(try await notes.wait(for: 1) == ["early"])
    context.onCancel { notes.add("late") }
    #expect(notes.all == ["early", "late"])

    let after = Rig.context()
    after.onCancel { Issue.record("called after the end") }
    _ = try await Rig.run(Darken(), after)
    after.onCancel { Issue.record("called after the end") }
    after.deliverCancellation()
    after.onCancel { Issue.record("called after the end") }
    #expect(notes.all == ["early", "late"])
  }

  // A handler that waits for the operation does not hold up who cancels.
  @Test func handlersRunElsewhere() async throws {
    let context = Rig.context()
    let gate = Gate()
    let done = Notes<Int>()
    context.onCancel {
      Task {
        await gate.passage()
        done.add(1)
      }
    }
    context.deliverCancellation()
    gate.open()
    #expect(try await done.wait(for: 1) == [1])
  }
}
