// One line for who runs a single command or call and sees nothing, since no worker starts it: what
// `why` would say. Used by `run`, in a task that ends with the run.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

struct WaitingNotice {
  private let connection: ClusterConnection
  private let console: Console

  /// What starts sooner needs no word.
  private static let patience = Duration.seconds(2)

  init(_ connection: ClusterConnection, _ console: Console) {
    self.connection = connection
    self.console = console
  }

  /// Says once why the graph's operation waits, if it does after some seconds and can be found
  /// out: a notice that fails ends no run.
  ///
  /// - Parameter isWaiting: whether that is still worth a question.
  func watch(_ graph: GraphID, while isWaiting: () -> Bool = { true }) async throws {
    try await Task.sleep(for: Self.patience)
    guard isWaiting() else { return }
    let reader = Reader(connection: connection, timeout: nil)
    guard let row = try? await reader.explanations(.graph(graph)).rows.first, isWaiting(),
      let line = Self.line(row)
    else { return }
    console.say(line)
  }

  /// `23/run waits: no worker is connected; …`; nil for what does not wait for its start.
  static func line(_ row: Explanation) -> String? {
    guard [.waiting, .held, .ready, .dispatched].contains(row.state), !row.lines.isEmpty
    else { return nil }
    var text = "\(safe(row.shown)) waits:"
    for reason in row.lines.prefix(Self.reasonsShown) {
      // A colon leads to what each worker lacks.
      text += (text.hasSuffix(":") ? " " : "; ") + safe(reason)
    }
    return text + (row.lines.count > Self.reasonsShown ? "; …" : "")
  }

  private static let reasonsShown = 3
}
