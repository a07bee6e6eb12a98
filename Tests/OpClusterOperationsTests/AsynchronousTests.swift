// Operations that end through a token (S130 to S134).

import Citations
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

/// Gives its token to the test.
struct Handover: AsynchronousOperation {
  static let typeName = "test.handover"
  /// Tokens of those that have started, by the test's name for them.
  static let tokens = Mutex<[String: CompletionToken<String>]>([:])
  var key: String
  var failsToStart = false
  var finishesInStart = false
  var letsGo = false

  func start(_ context: OperationContext, _ completion: CompletionToken<String>) throws {
    if finishesInStart { completion.finish("at once") }
    if failsToStart { throw Trouble(depth: 1) }
    if letsGo { return }
    Self.tokens.withLock { $0[key] = completion }
  }

  static func take(_ key: String) -> CompletionToken<String>? {
    tokens.withLock { $0.removeValue(forKey: key) }
  }
}

@Suite struct AsynchronousTests {
  private func start(_ operation: Handover) throws -> Notes<AttemptResult> {
    var registry = OperationRegistry()
    registry.add(Handover.self)
    let ends = Notes<AttemptResult>()
    _ = registry.start(
      Handover.operationType, argument: try OperationArgument.encode(operation),
      context: Rig.context(), qos: .background, onEnd: { result, _ in ends.add(result) })
    return ends
  }

  private func token(_ key: String) async throws -> CompletionToken<String> {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end {
      if let token = Handover.take(key) { return token }
      try await Task.sleep(for: .milliseconds(1))
    }
    throw Trouble(depth: 99)
  }

  // It is executing until the token says otherwise, and the first word counts.
  @Test(.checks("S131", "S133")) func firstWordCounts() async throws {
    let ends = try start(Handover(key: "first"))
    let token = try await token("first")
    #expect(ends.all.isEmpty)
    #expect(token.finish("done"))
    #expect(!token.finish("again"))
    #expect(!token.fail(Trouble(depth: 2)))
    let end = try await ends.wait(for: 1)[0]
    #expect(try OutputValue.decode(String.self, from: end.output) == "done")
    #expect(ends.all.count == 1)
  }

  @Test func failure() async throws {
    let ends = try start(Handover(key: "failure"))
    let token = try await token("failure")
    #expect(token.fail(Trouble(depth: 2)))
    #expect(!token.finish("late"))
    let end = try await ends.wait(for: 1)[0]
    #expect(end.cause == .failed && end.diagnostic == "trouble 2")
  }

  // Of many threads one is first.
  @Test func oneOfManyIsFirst() async throws {
    for round in 0..<50 {
      let ends = try start(Handover(key: "many \(round)"))
      let token = try await token("many \(round)")
      let firsts = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<8 { group.addTask { token.finish("\(number)") } }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(firsts == 1)
      #expect(try await ends.wait(for: 1)[0].isSuccess)
    }
  }

  // A lost callback is a failure, not an operation that hangs for ever.
  @Test(.checks("S16")) func letGo() async throws {
    let end = try await start(Handover(key: "gone", letsGo: true)).wait(for: 1)[0]
    #expect(end.cause == .failed)
    #expect(end.diagnostic == CompletionForgotten().description)
    let later = try start(Handover(key: "later"))
    var token: CompletionToken<String>? = try await token("later")
    #expect(later.all.isEmpty && token != nil)
    token = nil
    #expect(try await later.wait(for: 1)[0].cause == .failed)
  }

  @Test func startThatThrows() async throws {
    let end = try await start(Handover(key: "throws", failsToStart: true)).wait(for: 1)[0]
    #expect(end.cause == .failed && end.diagnostic == "trouble 1")
    // The token was faster.
    let both = Handover(key: "both", failsToStart: true, finishesInStart: true)
    #expect(try await start(both).wait(for: 1)[0].isSuccess)
  }

  // To cancel it ends nothing; its author is told, and ends it when the work has stopped.
  @Test(.checks("S134")) func cancellationEndsNothing() async throws {
    let registry = {
      var registry = OperationRegistry()
      registry.add(Handover.self)
      return registry
    }()
    let (ends, told) = (Notes<AttemptResult>(), Notes<Bool>())
    let context = Rig.context()
    let started = registry.start(
      Handover.operationType, argument: try OperationArgument.encode(Handover(key: "cancel")),
      context: context, qos: .default, onEnd: { result, _ in ends.add(result) })
    guard case .running(let attempt) = started else { throw Trouble(depth: 5) }
    let token = try await token("cancel")
    context.onCancel { told.add(true) }
    attempt.cancel()
    _ = try await told.wait(for: 1)
    #expect(ends.all.isEmpty)
    #expect(token.fail(CancellationError()))
    let end = try await ends.wait(for: 1)[0]
    #expect(end.wasStopped)
  }
}
