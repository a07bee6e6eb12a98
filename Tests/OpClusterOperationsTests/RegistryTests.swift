// What a registry offers and how it tells types apart.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterOperations

@Suite struct RegistryTests {
  // What is offered, in order; a type that is added again takes the place of the first.
  @Test(.checks("S128")) func offers() {
    var registry = Rig.registry
    registry.add(Darken.self)
    #expect(
      registry.types.map { "\($0.name) \($0.version)" } == [
        "noop 1", "sleep 1", "test.darken 1", "test.publish 2", "test.obey 1",
      ])
    #expect(registry.types.map { $0.fingerprint == 0 } == [true, true, false, false, false])
    #expect(registry.isolation(of: Darken.operationType) == .shared)
    #expect(registry.isolation(of: Publish.operationType) == .child)
    #expect(registry.isolation(of: OperationType(name: "test.publish", version: 2)) == .child)
    #expect(registry.isolation(of: OperationRegistry.closureType) == .shared)
    #expect(registry.isolation(of: OperationType(name: "test.publish")) == nil)
  }

  // At the limit and one past it; `noop` and `closure` are taken.
  @Test func names() {
    let longest = String(repeating: "a", count: Limits.nameBytes)
    for name in ["a", "image.tilt-shift", "A_9", "sleep", longest] {
      #expect(OperationRegistry.isFitting(name), "\(name)")
    }
    for name in ["", "a b", "é", "a/b", "noop", "closure", longest + "a", "a\u{0}"] {
      #expect(!OperationRegistry.isFitting(name), "\(name)")
    }
  }

  // Tried elsewhere, and people are told why.
  @Test(.checks("S128")) func unknownTypes() async throws {
    var other = Darken.operationType
    other.fingerprint ^= 1
    for (type, text) in [
      (OperationType(name: "nobody"), "there is no operation type 'nobody' here"),
      (OperationType(name: "test.publish", version: 7), "is here in version 2, not 7"),
      (other, "has another argument or output here"),
    ] {
      let result = try await Rig.run(type, [])
      #expect(result.cause == .unknownType)
      #expect(result.diagnostic.contains(text), "\(result.diagnostic)")
    }
    let one = Array(#"{"amount": 1}"#.utf8)
    // Who does not know the fingerprint agrees with any.
    #expect(try await Rig.run(OperationType(name: "test.darken"), one).isSuccess)
  }

  // No task, no context, no JSON.
  @Test func noopEndsAtOnce() {
    let started = OperationRegistry().start(
      OperationType(name: "noop"), argument: Array("{{{".utf8), context: neverMade(),
      qos: .default
    ) { result, _ in Issue.record("an end: \(result)") }
    guard case .ended(.success) = started else {
      Issue.record("it runs")
      return
    }
  }

  private func neverMade() -> OperationContext {
    Issue.record("a context was made")
    return Rig.context()
  }

  @Test(arguments: [
    "0.001", #"{"seconds": 0.001}"#, #"{"milliseconds": 1}"#, "0", #" { "seconds":0 } "#,
  ])
  func sleep(_ argument: String) async throws {
    let result = try await Rig.run(OperationType(name: "sleep"), Array(argument.utf8))
    #expect(result.isSuccess && result.output.isEmpty)
    if argument.contains("1") {
      #expect(result.endedAt.milliseconds - result.startedAt.milliseconds >= 0)
    }
  }

  @Test(arguments: ["", "{}", "-1", #"{"seconds": -1}"#, "31536001", "\"1\"", "[1]", "null"])
  func badSleep(_ argument: String) async throws {
    let result = try await Rig.run(OperationType(name: "sleep"), Array(argument.utf8))
    #expect(result.cause == .badArgument)
    #expect(result.diagnostic.hasPrefix("sleep wants a number of seconds from 0 to 31536000"))
  }

  @Test func sleepAsAnOperation() async throws {
    #expect(SleepOperation.operationType == OperationType(name: "sleep"))
    #expect(try await Rig.run(SleepOperation(seconds: 0.001)).isSuccess)
  }

  // A closure stays in its process, under its number.
  @Test(.checks("S124")) func closures() async throws {
    let registry = OperationRegistry()
    let notes = Notes<Int>()
    let number = registry.add(closure: { _ in
      notes.add(1)
      return NoOutput()
    })
    let other = registry.add(encodingClosure: { _ in try OutputValue.encode("two") })
    let copy = registry
    func run(_ number: some Encodable) async throws -> AttemptResult {
      try await Rig.run(
        OperationRegistry.closureType, OperationArgument.encode(number), in: copy)
    }
    #expect(try await run(number).isSuccess)
    #expect(try await run(number).isSuccess)
    #expect(notes.all == [1, 1])
    let two = try await run(other).output
    #expect(try OutputValue.decode(String.self, from: two) == "two")
    registry.remove(closures: [number, 99])
    #expect(try await run(number).cause == .badArgument)
    #expect(try await run("word").cause == .badArgument)
    #expect(try await run(other).isSuccess)
    #expect(!registry.types.contains(OperationRegistry.closureType))
  }

  // In the caller's task: the same ends, and nothing to remember of a plain success.
  @Test func runInTheTaskOfTheCaller() async throws {
    let registry = Rig.registry
    let noop = await registry.run(
      OperationType(name: "noop"), argument: [], context: Rig.context())
    #expect(noop == .success)
    let sleep = await registry.run(
      OperationType(name: "sleep"), argument: Array("0".utf8), context: Rig.context())
    #expect(sleep == .success)
    let nobody = await registry.run(
      OperationType(name: "nobody"), argument: [], context: Rig.context())
    #expect(nobody.cause == .unknownType)
    let value = await registry.run(
      Darken.operationType, argument: Array(#"{"amount": 1}"#.utf8), context: Rig.context())
    #expect(value.isSuccess && !value.output.isEmpty && value.endedAt != .unknown)
  }
}
