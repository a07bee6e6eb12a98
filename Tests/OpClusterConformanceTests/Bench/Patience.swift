// How cases wait and check: by events where there are any, else by asking again; a deadline is for
// failures only, and no order ever depends on a time.

import OpCluster
import RealCluster
import Testing

/// How long a case waits for what must come; the list says 2 s, a loaded machine may need more.
let patience = Duration.seconds(240)

/// Asks again and again until it is so.
func soon(_ what: String, _ condition: () async throws -> Bool) async throws {
  try await eventually(what, within: patience, holds: condition)
}

/// Still so after 300 ms, and all the time until then.
func stays(
  _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + .milliseconds(300)
  repeat {
    guard try await condition() else {
      Issue.record("it did not stay so: \(what)", sourceLocation: sourceLocation)
      return
    }
    try await Task.sleep(for: .milliseconds(5))
  } while ContinuousClock.now < end
}

/// Expects an error of this code; what was refused is returned for a closer look.
@discardableResult
func refused(
  _ code: ClusterError.Code, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async -> ClusterError? {
  do {
    try await body()
    Issue.record("it was accepted, not refused with \(code)", sourceLocation: sourceLocation)
  } catch let error as ClusterError {
    #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record("it threw \(error), not \(code)", sourceLocation: sourceLocation)
  }
  return nil
}
