// Shows how far files have been read or left: a bar on a terminal, a line now and then elsewhere.

import OpClusterPresentation
import Synchronization

/// Told of bytes from any thread; paints from its own task.
final class UploadPainter: Sendable {
  private let what: String
  /// How many there are; nil: that is not known.
  private let bytes: Int64?
  private let console: Console
  private let done = Atomic<Int64>(0)
  private let isWaiting = Atomic<Bool>(false)

  init(_ what: String, bytes: Int64?, _ console: Console) {
    self.what = what
    self.bytes = bytes
    self.console = console
  }

  func add(_ more: Int64) {
    done.add(more, ordering: .relaxed)
    isWaiting.store(false, ordering: .relaxed)
  }

  /// Nothing is done until a worker comes.
  func wait() {
    let isKnown = isWaiting.exchange(true, ordering: .relaxed)
    if !isKnown, !isDrawn { console.say("\(what): \(Self.waiting)") }
  }

  private static let waiting = "waiting for a worker with a store"

  /// Paints while `body` works. What takes less than a moment is not shown.
  func following(_ body: () async throws -> Void) async throws {
    let painting = Task { await paint() }
    do {
      try await body()
    } catch {
      painting.cancel()
      await painting.value
      throw error
    }
    painting.cancel()
    await painting.value
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
      let now = max(done.load(ordering: .relaxed), 0)
      if isDrawn {
        let width = console.outputStyle.width ?? 80
        try? console.repaint(redraw.repaint([line(now, width: width)], width: width))
      } else if now - said >= max((bytes ?? 0) / 10, 1) {
        said = now
        console.say("\(what): \(text(now))")
      }
    }
    if isDrawn {
      try? console.repaint(redraw.clear(width: console.outputStyle.width ?? 80))
    }
  }

  private func text(_ now: Int64) -> String {
    guard let bytes else { return shownSize(now) }
    return "\(shownSize(min(now, bytes))) of \(shownSize(bytes)), \(percent(now, bytes)) %"
  }

  private func percent(_ now: Int64, _ bytes: Int64) -> Int {
    bytes < 100 ? 100 : min(Int(now / (bytes / 100)), 100)
  }

  private func line(_ now: Int64, width: Int) -> String {
    if isWaiting.load(ordering: .relaxed) { return Self.waiting }
    let text = text(now)
    guard let bytes else { return "\(what): \(text)" }
    let room = max(0, min(40, width - displayWidth(text) - 4))
    let full = room * percent(now, bytes) / 100
    return "[\(String(repeating: "#", count: full))"
      + "\(String(repeating: "-", count: room - full))] \(text)"
  }
}
