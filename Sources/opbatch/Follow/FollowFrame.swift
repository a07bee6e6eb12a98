// The frame of commands that wait: a task that reads events, a task that paints, Ctrl-C, and a time
// limit. The first to end ends the others.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// The way in which following ended.
enum FollowEnd: Sendable {
  case finished
  /// Ctrl-C or TERM: this command ends, the cluster continues.
  case interrupted
  case timedOut
}

/// Runs `body` until it returns, Ctrl-C comes, or the time is up. `painter` runs beside it and ends
/// with it.
func follow(
  _ console: Console, timeout: Duration?,
  painter: (@Sendable () async throws -> Void)? = nil,
  _ body: @escaping @Sendable () async throws -> Void
) async throws -> FollowEnd {
  try await withThrowingTaskGroup(of: FollowEnd?.self) { group in
    group.addTask {
      try await body()
      return .finished
    }
    group.addTask {
      for await _ in console.interrupts { return .interrupted }
      return nil
    }
    if let timeout {
      group.addTask {
        try await Task.sleep(for: timeout)
        return .timedOut
      }
    }
    if let painter {
      group.addTask {
        try await painter()
        return nil
      }
    }
    defer { group.cancelAll() }
    // A task that returns nil does not end the others.
    while let end = try await group.next() {
      if let end { return end }
    }
    return .finished
  }
}

extension Console {
  /// Says what was left running, and how to return to it or cancel it. The hint has the numbers
  /// rather than the words of the user: `last` may be another graph by then.
  func sayDetached(_ command: String, _ selectors: [String]) {
    let shown = safe(selectors.joined(separator: " "))
    wipeLine()
    say("left \(shown), which goes on")
    hint("opbatch \(command) \(shown) comes back, opbatch cancel \(shown) cancels")
  }
}

extension ExitStatus {
  /// The status after Ctrl-C in a command that only shows: as a shell reports it.
  static let interrupted = ExitStatus.commandSignalled(2)
}
