// `logs -f`: events tell which attempts begin and end. Output is polled at growing intervals, since
// no event tells of it.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import Synchronization

final class LogFollower: Sendable {
  private struct Life {
    /// The newest attempt; 0 before the first.
    var attempt: UInt32
    var hasEnded: Bool
  }
  /// Written by the task that listens, read by the one that prints. `rows` never changes.
  private struct State {
    var lives: [OperationID: Life] = [:]
    var rows: [OperationRow] = []
  }
  private let state: Mutex<State>
  private let reader: Reader
  private let subscription: EventSubscription

  /// Maximum number of operations whose logs one command follows.
  static let maximumOperations = 10_000
  private static let shortest = Duration.milliseconds(100)
  private static let longest = Duration.seconds(1)

  /// Reads the rows; the subscription begins before them.
  init(_ selection: Selection, _ reader: Reader) async throws {
    let since = try await reader.lastEvent()
    var state = State()
    try await reader.operations(selection) { rows, _ in
      state.rows += rows
      return state.rows.count < Self.maximumOperations
    }
    for row in state.rows {
      state.lives[row.id] = Life(attempt: row.attempt, hasEnded: row.isFinished)
    }
    self.state = Mutex(state)
    self.reader = reader
    subscription = EventSubscription(
      number: 1, selection: selection.lasting(state.rows.map(\.id.graph)), since: since)
  }

  /// The selection with its graphs by number.
  func pinned(_ selection: Selection) -> Selection {
    selection.pinned(to: Set(state.withLock { $0.rows.map(\.id.graph) }).sorted())
  }

  var count: Int { state.withLock { $0.rows.count } }

  /// Applies events until its task is cancelled. Never ends by itself; `read` ends first and takes
  /// it along.
  func listen() async throws {
    for try await batch in reader.connection.events(subscription) {
      state.withLock { state in
        for event in batch.events {
          guard case .operation(let id, _) = event.subject else { continue }
          switch event.kind {
          case .attemptStarted(let attempt, _):
            guard let known = state.lives[id]?.attempt, known < attempt else { continue }
            state.lives[id]?.attempt = attempt
          case .isFinished: state.lives[id]?.hasEnded = true
          default: break
          }
        }
      }
    }
  }

  /// Prints the logs until all operations have ended and their logs are complete.
  ///
  /// - Parameter lines: The number of existing last lines to print first; nil prints all.
  func read(
    _ streams: [LogStream], lines: UInt32?, isPrefixed: Bool, _ console: Console
  ) async throws {
    let printer = LogPrinter(
      console, isPrefixed: isPrefixed && count > 1, isSplit: streams.count > 1)
    let begun =
      lines == nil ? [] : Set(state.withLock { $0.rows.filter { $0.attempt > 0 } }.map(\.id))
    var waiting = state.withLock { $0.rows }
    var tails: [LogTail] = []
    // Doubled while nothing comes: each round costs a request for every stream of every open log.
    var pause = Self.shortest
    while true {
      let lives = state.withLock { $0.lives }
      waiting.removeAll { row in
        guard let life = lives[row.id] else { return true }
        // Until then there is no log that could be read.
        if life.attempt > 0 {
          // Reads a retried operation from its present attempt.
          tails.append(LogTail(row, streams, attempt: max(1, row.attempt)))
          return true
        }
        return life.hasEnded
      }
      var isSilent = true
      var open: [LogTail] = []
      for tail in tails {
        if let lines, tail.isUntouched, begun.contains(tail.operation) {
          try await tail.skip(toLast: lines, reader)
        }
        let life = lives[tail.operation]
        let before = tail.position
        let isOpen = try await read(tail, life?.attempt ?? 0, life?.hasEnded ?? true, printer)
        if tail.position != before { isSilent = false }
        if isOpen { open.append(tail) }
      }
      tails = open
      try printer.flush()
      if tails.isEmpty, waiting.isEmpty { return }
      pause = isSilent ? min(pause * 2, Self.longest) : Self.shortest
      try await Task.sleep(for: pause)
    }
  }

  /// Reads more of one log; false if it is complete. `lives` were read before the logs, so an ended
  /// operation is read to its end.
  private func read(
    _ tail: LogTail, _ attempt: UInt32, _ hasEnded: Bool, _ printer: LogPrinter
  ) async throws -> Bool {
    let state = try await tail.drain(reader, printer)
    // Each attempt is read to its end before the next is begun, so that none is skipped.
    if attempt > tail.attempt {
      printer.say("\(tail.path): attempt \(tail.attempt + 1)")
      tail.advance(to: tail.attempt + 1)
      return true
    }
    guard hasEnded else { return true }
    if case .missing(let why) = state, tail.isUntouched {
      printer.say("\(tail.path): \(why)")
    }
    return false
  }
}
