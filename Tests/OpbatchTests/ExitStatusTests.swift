// The table of exit codes (interface, section 1).

import OpClusterClient
import OpClusterModel
import Testing

@testable import opbatch

@Suite struct ExitStatusTests {
  static func counts(_ words: StateWord...) -> StateCounts {
    var counts = StateCounts()
    for word in words { counts[word] += 1 }
    return counts
  }

  @Test func graphs() {
    #expect(ExitStatus(GraphRow.State.succeeded).code == 0)
    #expect(ExitStatus(GraphRow.State.failed).code == 1)
    #expect(ExitStatus(GraphRow.State.cancelled).code == 2)
  }

  @Test func operations() {
    #expect(ExitStatus(Self.counts(.succeeded)).code == 0)
    for word in [StateWord.failed, .timedOut, .lost] {
      #expect(ExitStatus(Self.counts(.succeeded, .cancelled, word)).code == 1, "\(word)")
    }
    #expect(ExitStatus(Self.counts(.cancelled, .succeeded)).code == 2)
    // Skipped because something was cancelled is no failure; skipped alone is.
    #expect(ExitStatus(Self.counts(.cancelled, .skipped)).code == 2)
    #expect(ExitStatus(Self.counts(.skipped)).code == 1)
  }

  @Test func worst() {
    #expect(ExitStatus.success.combined(with: .cancelled) == .cancelled)
    #expect(ExitStatus.cancelled.combined(with: .failed) == .failed)
    #expect(ExitStatus.failed.combined(with: .success) == .failed)
    #expect(ExitStatus.success.combined(with: .success) == .success)
  }

  @Test func errorsOfTheConnection() {
    #expect(ExitStatus(ClientError.Kind.unreachable).code == 69)
    #expect(ExitStatus(ClientError.Kind.versionMismatch).code == 76)
    #expect(ExitStatus(ClientError.Kind.timedOut).code == 3)
    #expect(ExitStatus(ClientError.Kind.badAddress).code == 78)
    #expect(ExitStatus(ClientError.Kind.refused(Refusal(.cycle, ""))).code == 5)
    #expect(ExitStatus(ClientError.Kind.refused(Refusal(.unknownGraph, ""))).code == 4)
    #expect(ExitStatus(ClientError.Kind.refused(Refusal(.forbidden, ""))).code == 77)
  }

  @Test func codesAreInSnakeCase() {
    let failure = Failure(ClientError(Refusal(.unknownQueue, "no queue 'x'", hint: "create it")))
    #expect(failure.code == "unknown_queue")
    #expect(failure.message == "no queue 'x'")
    #expect(failure.hint == "create it")
  }
}
