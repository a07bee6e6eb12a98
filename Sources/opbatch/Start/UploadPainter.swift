// Shows how far files have been left: a bar on a terminal, a line now and then elsewhere.

import OpClusterPresentation
import Synchronization

/// Told of bytes from any thread; paints from its own task.
final class UploadPainter: Sendable {
  private let bytes: Int64
  private let files: Int
  private let console: Console
  private let done = Atomic<Int64>(0)

  init(bytes: Int64, files: Int, _ console: Console) {
    self.bytes = bytes
    self.files = files
    self.console = console
  }

  func sent(_ more: Int64) { done.add(more, ordering: .relaxed) }

  /// Paints while `body` works. What takes less than a moment is not shown.
  func following(_ body: () async throws -> Void) async throws {
    let painting = Task { await paint() }
    let start = ContinuousClock.now
    do {
      try await body()
    } catch {
      painting.cancel()
      await painting.value
      throw error
    }
    painting.cancel()
    await painting.value
    let seconds = (ContinuousClock.now - start).components.seconds
    console.say(
      "\(shownCount(files, "file")), \(shownSize(bytes)), "
        + (seconds < 1 ? "are with the workers" : "are with the workers after \(seconds) s"))
  }

  private var isDrawn: Bool {
    console.format == .table && console.outputIsTerminal && !console.isQuiet
  }

  private func paint() async {
    var redraw = Redraw()
    var said: Int64 = 0
    var next = ContinuousClock.now + (isDrawn ? .milliseconds(200) : .seconds(5))
    while true {
      do { try await Task.sleep(until: next) } catch { break }
      next = ContinuousClock.now + (isDrawn ? .milliseconds(100) : .seconds(5))
      let now = min(max(done.load(ordering: .relaxed), 0), bytes)
      let percent = bytes < 100 ? 100 : min(Int(now / (bytes / 100)), 100)
      let text = "\(shownSize(now)) of \(shownSize(bytes)), \(percent) %"
      if isDrawn {
        let width = console.outputStyle.width ?? 80
        let room = max(0, min(40, width - displayWidth(text) - 4))
        let full = room * percent / 100
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: room - full)
        try? console.repaint(redraw.repaint(["[\(bar)] \(text)"], width: width))
      } else if now - said >= bytes / 10 {
        said = now
        console.say("leaving files with the workers: \(text)")
      }
    }
    if isDrawn {
      try? console.repaint(redraw.clear(width: console.outputStyle.width ?? 80))
    }
  }
}
