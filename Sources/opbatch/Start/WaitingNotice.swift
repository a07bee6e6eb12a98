// One line for a user of `run` whose command or call waits because no worker starts it: the reasons
// of `why`. Runs in a task that ends with the run.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

struct WaitingNotice {
  private let connection: ClusterConnection
  private let console: Console

  /// An operation that starts sooner needs no notice.
  private static let patience = Duration.seconds(2)

  init(_ connection: ClusterConnection, _ console: Console) {
    self.connection = connection
    self.console = console
  }

  /// Says once why the graph's operation waits, if it still waits after some seconds. A failed
  /// request is ignored: it must not end the run.
  ///
  /// - Parameter isWaiting: Whether the notice is still useful.
  func watch(_ graph: GraphID, while isWaiting: () -> Bool = { true }) async throws {
    try await Task.sleep(for: Self.patience)
    guard isWaiting() else { return }
    let reader = Reader(connection: connection, timeout: nil)
    guard let row = try? await reader.explanations(.graph(graph)).rows.first, isWaiting(),
      let line = Self.line(row)
    else { return }
    console.say(line)
  }

  /// Returns `23/run waits: no worker is connected; …`; nil for an operation that does not wait for
  /// its start.
  static func line(_ row: Explanation) -> String? {
    guard [.waiting, .held, .ready, .dispatched].contains(row.state), !row.lines.isEmpty
    else { return nil }
    var text = "\(safe(row.shown)) waits:"
    for reason in row.lines.prefix(Self.reasonsShown) {
      // A colon introduces what each worker lacks.
      text += (text.hasSuffix(":") ? " " : "; ") + safe(reason.forShell)
    }
    return text + (row.lines.count > Self.reasonsShown ? "; …" : "")
  }

  private static let reasonsShown = 3
}
