// How far the log of one attempt has been read.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// One task at a time.
final class LogTail {
  let path: String
  let operation: OperationID
  private(set) var attempt: UInt32
  private let streams: [LogStream]
  private var offsets: [Int64]

  /// What there was to read.
  enum State: Equatable {
    /// Everything, and nothing more will be written.
    case complete
    /// Everything that has been written so far.
    case soFar
    /// Nothing, for this reason.
    case missing(String)
  }

  init(_ row: OperationRow, _ streams: [LogStream], attempt: UInt32) {
    path = OperationPath(row).description
    operation = row.id
    self.attempt = attempt
    self.streams = streams
    offsets = streams.map { _ in 0 }
  }

  /// Grows with what is read.
  var position: Int64 { Int64(attempt) << 48 + offsets.reduce(0, +) }

  /// Whether anything of this attempt was read.
  var isUntouched: Bool { offsets.allSatisfy { $0 == 0 } }

  /// Goes on to the next attempt, from its beginning.
  func advance(to attempt: UInt32) {
    self.attempt = attempt
    for at in offsets.indices { offsets[at] = 0 }
  }

  /// Prints what has been written since the last time, of all streams.
  func drain(_ reader: Reader, _ printer: LogPrinter) async throws -> State {
    var states: [State] = []
    for at in streams.indices { states.append(try await drain(at, reader, printer)) }
    if states.contains(.soFar) { return .soFar }
    return states.contains(.complete) ? .complete : states.first ?? .complete
  }

  private func drain(_ at: Int, _ reader: Reader, _ printer: LogPrinter) async throws -> State {
    let selection = AttemptSelection(operation: operation, attempt: attempt)
    while true {
      let chunk: LogChunk?
      do {
        chunk = try await reader.log(selection, streams[at], offset: offsets[at])
      } catch {
        guard case .refused(let refusal) = error.kind,
          [.noSuchLog, .workerUnavailable].contains(refusal.code)
        else { throw error }
        return .missing(refusal.message)
      }
      guard let chunk else { throw Failure.unexpectedReply("log") }
      guard chunk.problem.isEmpty else { return .missing(safe(chunk.problem)) }
      if !chunk.bytes.isEmpty { try printer.show(chunk.bytes, of: path, streams[at]) }
      offsets[at] = Int64(clamping: chunk.offset) + Int64(chunk.bytes.count)
      if offsets[at] >= Int64(clamping: chunk.size) || chunk.bytes.isEmpty {
        return chunk.isComplete ? .complete : .soFar
      }
    }
  }
}
