// How an attempt runs and what becomes of what it returns and throws.

import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@Suite struct RunningTests {
  // S125, S126: the properties go there, the value comes back; the times are told.
  @Test func valueComesBack() async throws {
    let result = try await Rig.run(Darken(amount: 3, picture: Picture(name: "cat")))
    #expect(result.isSuccess && result.diagnostic.isEmpty)
    #expect(
      try OutputValue.decode(Picture.self, from: result.output) == Picture(name: "cat-3"))
    #expect(result.startedAt.milliseconds > 1_600_000_000_000)
    #expect(result.endedAt >= result.startedAt)
  }

  // S16, S129, S138: whatever is thrown is an end, and its kind is told apart.
  @Test(arguments: [
    (Obey.Order.fail, FailureCause.failed, "trouble 3"), (.refuse, .badArgument, "no"),
    (
      .missInput, .missingInput, "'nobody' left no String; it has no dependencies"
    ), (.throwCancellation, .failed, "CancellationError()"),
    (
      .tooLarge, .badOutput,
      "its output has 65559 bytes, more than 65536; leave a reference to larger data"
    ),
  ])
  func thrownErrors(_ order: Obey.Order, _ cause: FailureCause, _ text: String) async throws {
    let result = try await Rig.run(Obey(order: order))
    #expect(result.cause == cause)
    #expect(result.diagnostic == text)
    #expect(!result.wasStopped && result.output.isEmpty)
    #expect(result.endedAt >= result.startedAt && result.startedAt != .unknown)
  }
}
