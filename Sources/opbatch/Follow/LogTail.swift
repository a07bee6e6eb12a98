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

  /// Leaves out what is before the last lines that have been written so far. Reads no more than
  /// these lines take, and one piece.
  func skip(toLast lines: UInt32, _ reader: Reader) async throws {
    for at in streams.indices where offsets[at] == 0 {
      offsets[at] = try await begin(ofLast: lines, streams[at], reader)
    }
  }

  /// Where the last lines begin; the beginning where that cannot be told.
  private func begin(
    ofLast lines: UInt32, _ stream: LogStream, _ reader: Reader
  ) async throws -> Int64 {
    let selection = AttemptSelection(operation: operation, attempt: attempt)
    let piece = Int64(Limits.logChunkBytes)
    // Below zero: so many bytes before the end.
    var from = -piece
    var counter = LastLines(wanted: lines)
    while true {
      let chunk: LogChunk?
      do {
        chunk = try await reader.log(selection, stream, offset: from)
      } catch {
        // Said when it is read.
        guard case .refused = error.kind else { throw error }
        return 0
      }
      guard let chunk, chunk.problem.isEmpty, !chunk.bytes.isEmpty else { return 0 }
      let start = Int64(clamping: chunk.offset)
      // A worker may say anything.
      guard start <= Int64.max / 2, from < 0 || start < counter.begin else { return 0 }
      // What was read before begins where this piece is to end.
      let bytes =
        from < 0 ? chunk.bytes[...] : chunk.bytes.prefix(Int(clamping: counter.begin - start))
      counter.take(bytes, from: start)
      if counter.isDone || start == 0 { return counter.isDone ? counter.begin : 0 }
      from = max(0, start - piece)
    }
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

/// Looks backwards for the beginning of the last lines of a text that comes in pieces.
struct LastLines {
  /// Where the lines begin, or the piece that was taken last.
  var begin: Int64 = 0
  private(set) var isDone = false
  private var left: UInt32
  private var isFirst = true

  init(wanted: UInt32) { left = wanted }

  /// - Parameter start: where the piece begins; it ends where the one before began.
  mutating func take(_ bytes: ArraySlice<UInt8>, from start: Int64) {
    var end = bytes.endIndex
    if isFirst, left == 0 {
      isDone = true
      begin = start + Int64(bytes.count)
      return
    }
    // The end of the last line begins none.
    if isFirst, bytes.last == 0x0a { end -= 1 }
    isFirst = false
    while let line = bytes[bytes.startIndex..<end].lastIndex(of: 0x0a) {
      left -= 1
      if left == 0 {
        isDone = true
        begin = start + Int64(line - bytes.startIndex) + 1
        return
      }
      end = line
    }
    begin = start
  }
}
