// The frame of commands that wait: a task that reads events, one that paints, Ctrl-C, and a time
// limit; the first that is done ends them all.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// How following ended.
enum FollowEnd: Sendable {
  case finished
  /// Ctrl-C or TERM: we go, the cluster goes on.
  case interrupted
  case timedOut
}

/// Runs `body` until it returns, Ctrl-C comes, or the time is up; `painter` runs beside it and is
/// ended with it.
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
    // A task without an end of its own only helps the others.
    while let end = try await group.next() {
      if let end { return end }
    }
    return .finished
  }
}

extension Console {
  /// What was left behind, how to come back, and how to cancel it.
  func sayDetached(_ command: String, _ selectors: [String]) {
    let shown = safe(selectors.joined(separator: " "))
    wipeLine()
    say("left \(shown), which goes on")
    hint("opbatch \(command) \(shown) comes back, opbatch cancel \(shown) cancels")
  }
}

extension ExitStatus {
  /// After Ctrl-C in a command that only looks: as a shell reports it.
  static let interrupted = ExitStatus.commandSignalled(2)
}
