// How an attempt runs and what becomes of what it returns and throws.

import Citations
import FoundationEssentials
import Logging
import OpClusterModel
import OpClusterOperations
import Testing

@Suite struct RunningTests {
  // The properties go there, the value comes back; the times are told.
  @Test(.checks("S125", "S126")) func valueComesBack() async throws {
    let result = try await Rig.run(Darken(amount: 3, picture: Picture(name: "cat")))
    #expect(result.isSuccess && result.diagnostic.isEmpty)
    #expect(
      try OutputValue.decode(Picture.self, from: result.output) == Picture(name: "cat-3"))
    #expect(result.startedAt.milliseconds > 1_600_000_000_000)
    #expect(result.endedAt >= result.startedAt)
  }

  // Whatever is thrown is an end, and its kind is told apart.
  @Test(
    .checks("S16", "S129", "S138"),
    arguments: [
      (Obey.Order.fail, FailureCause.failed, "trouble 3"), (.refuse, .badArgument, "no"),
      (.missInput, .missingInput, "'nobody' left no String; it has no dependencies"),
      (.throwCancellation, .failed, "CancellationError()"),
    ])
  func thrownErrors(_ order: Obey.Order, _ cause: FailureCause, _ text: String) async throws {
    let result = try await Rig.run(Obey(order: order))
    #expect(result.cause == cause)
    #expect(result.diagnostic == text)
    #expect(!result.wasStopped && result.output.isEmpty)
    #expect(result.endedAt >= result.startedAt && result.startedAt != .unknown)
  }

  @Test func whatCannotBeEncodedIsABadOutput() async throws {
    let result = try await Rig.run(Obey(order: .notANumber))
    #expect(result.cause == .badOutput)
    #expect(result.diagnostic.hasPrefix("the output cannot be encoded: "))
  }

  @Test func longErrorsAreClippedToWholeCharacters() async throws {
    var registry = OperationRegistry()
    registry.add(Complain.self)
    let result = try await Rig.run(Complain.operationType, [], in: registry)
    #expect(result.cause == .failed)
    #expect(result.diagnostic.utf8.count == Limits.diagnosticBytes - 1)
    #expect(result.diagnostic.allSatisfy { $0 == "é" || $0 == "x" })
  }

  // Never a crash, always a place.
  @Test(
    .checks("S129"),
    arguments: [
      (#"{"order": "fly"}"#, "order: "), ("{}", "'order' is missing"), ("", "'order' is missing"),
      ("[]", "the argument is not that of Obey: "), (#"{"order": 3}"#, "order: "),
      ("{", "the argument is not that of Obey: "), ("\u{0}", "the argument is not that of Obey: "),
    ])
  func badArguments(_ argument: String, _ text: String) async throws {
    let result = try await Rig.run(Obey.operationType, Array(argument.utf8))
    #expect(result.cause == .badArgument)
    #expect(result.diagnostic.contains(text), "\(result.diagnostic)")
  }

  @Test func argumentsHaveALimit() throws {
    // {"amount":1,"picture":{"name":"…","width":640}}
    let around = try OperationArgument.encode(Darken(picture: Picture(name: ""))).count
    let most = Limits.payloadBytes - around
    let fitting = Darken(picture: Picture(name: String(repeating: "a", count: most)))
    #expect(try OperationArgument.encode(fitting).count == Limits.payloadBytes)
    let beyond = Darken(picture: Picture(name: String(repeating: "a", count: most + 1)))
    #expect(throws: BadArgument.self) { try OperationArgument.encode(beyond) }
  }

  // Progress is told as it is reported, inside of its bounds.
  @Test func progress() async throws {
    let notes = Notes<String>()
    let context = Rig.context(onProgress: { notes.add("\($0) \($1)") })
    #expect(try await Rig.run(Obey(order: .progress), context).isSuccess)
    #expect(notes.all == ["0.25 a quarter", "1.0 "])
  }

  // A folder is made once and is gone with the attempt.
  @Test func scratchFolder() async throws {
    let path = "\(FileManager.default.temporaryDirectory.path)/operations-\(UUID())/own"
    let result = try await Rig.run(
      Obey(order: .folder), Rig.context(scratch: .folder(path)))
    #expect(try OutputValue.decode([String].self, from: result.output) == [path, path])
    #expect(!FileManager.default.fileExists(atPath: path))
    let above = String(path.dropLast("/own".count))
    #expect(FileManager.default.fileExists(atPath: above))
    try FileManager.default.removeItem(atPath: above)
    #expect(try await Rig.run(Obey(order: .folder)).cause == .failed)
  }

  // The counterpart of OperationQueue.current.
  @Test(.checks("S146")) func contextOfTheTask() async throws {
    #expect(OperationContext.current == nil)
    let registry = OperationRegistry()
    let number = registry.add(closure: { context in
      [OperationContext.current === context, await Task { context.name == currentName() }.value]
    })
    let result = try await Rig.run(
      OperationRegistry.closureType, OperationArgument.encode(number), in: registry)
    #expect(try OutputValue.decode([Bool].self, from: result.output) == [true, true])
  }

  @Test func contextSaysWhatItIs() {
    let context = Rig.context()
    #expect(context.operation == Rig.attempt.operation && context.run == 2)
    #expect(context.index == 3 && context.queueName == "build" && context.graphName == "graph")
    #expect(context.logger[metadataKey: "operation"] == "work/3")
    #expect(context.logger[metadataKey: "graph"] == "7")
    #expect(context.logger[metadataKey: "run"] == "2")
    guard case .endpoint("tcp://127.0.0.1:1") = context.home else {
      Issue.record("\(context.home)")
      return
    }
  }
}

private func currentName() -> String? { OperationContext.current?.name }

/// Fails with more than anybody wants to read.
struct Complain: RegisteredOperation {
  static let typeName = "test.complain"
  struct Complaint: Error, CustomStringConvertible {
    var description: String { "x" + String(repeating: "é", count: Limits.diagnosticBytes) }
  }
  func main(_ context: OperationContext) async throws -> NoOutput { throw Complaint() }
}
