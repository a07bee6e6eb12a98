// Tells others of graphs while a command follows them. What it has to say comes at the end: until
// then the screen belongs to the progress.

import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem
import Synchronization

/// One command's notifications.
final class FollowedNotifications: Sendable {
  private let lines: LinesToSay
  private let task: Task<Void, any Error>
  private let console: Console

  /// Begins at once.
  init(
    _ notifications: [GraphNotification], onTerminal: Set<GraphNotification.Moment> = [],
    _ follower: GraphFollower, _ reader: Reader, _ console: Console
  ) {
    let lines = LinesToSay()
    self.lines = lines
    self.console = console
    let notifier = Notifier(
      notifications: notifications, onTerminal: onTerminal, reader: reader, console: console
    ) { line in lines.add(line) }
    task = Task { try await notifier.run(follower.moments) }
  }

  /// Waits until everybody has been told, or cannot be; then says what was told. Ctrl-C leaves.
  func finish() async throws {
    let (console, task) = (console, task)
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        await withTaskCancellationHandler {
          // What could not be told is said, and changes no status: the graph has ended as it has.
          try? await task.value
        } onCancel: {
          task.cancel()
        }
      }
      group.addTask {
        try await Task.sleep(for: Self.silence)
        console.say("others are still told of it; Ctrl-C leaves")
        for await _ in console.interrupts { return }
        // Without handlers a signal has ended the process.
        try await Task.sleep(for: .seconds(3_600))
      }
      try await group.next()
    }
    lines.sayAll(console)
  }

  /// So long nobody is told that something is waited for.
  private static let silence = Duration.seconds(1)

  /// Ends without waiting.
  func leave() {
    task.cancel()
    lines.sayAll(console)
  }
}

/// What will be said.
private final class LinesToSay: Sendable {
  private let lines = Mutex<[String]>([])
  func add(_ line: String) { lines.withLock { $0.append(line) } }
  /// Each once.
  func sayAll(_ console: Console) {
    let due = lines.withLock { lines in
      defer { lines = [] }
      return lines
    }
    for line in due { console.say(line) }
  }
}

extension Console {
  /// Notifies the user by the terminal, if there is one.
  func ring(_ text: String) {
    guard errorIsTerminal else { return }
    let way = TerminalNotification.way { OwnProcess.variable($0) }
    say(bytes: TerminalNotification.bytes(text, way))
  }
}
