// The read position in the log of one attempt.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// For one task at a time.
final class LogTail {
  let path: String
  let operation: OperationID
  private(set) var attempt: UInt32
  private let streams: [LogStream]
  private var offsets: [Int64]

  /// The result of reading.
  enum State: Equatable {
    /// Everything was read, and nothing more will be written.
    case complete
    /// Everything that has been written so far was read.
    case soFar
    /// Nothing could be read, for this reason.
    case missing(String)
  }

  init(_ row: OperationRow, _ streams: [LogStream], attempt: UInt32) {
    path = OperationPath(row).description
    operation = row.id
    self.attempt = attempt
    self.streams = streams
    offsets = streams.map { _ in 0 }
  }

  /// A number that grows with everything read.
  var position: Int64 { Int64(attempt) << 48 + offsets.reduce(0, +) }

  /// Whether nothing of this attempt has been read.
  var isUntouched: Bool { offsets.allSatisfy { $0 == 0 } }

  /// Goes on to the next attempt, from its beginning.
  func advance(to attempt: UInt32) {
    self.attempt = attempt
    for at in offsets.indices { offsets[at] = 0 }
  }

  /// Skips everything before the last lines written so far. Reads no more than these lines and one
  /// piece.
  func skip(toLast lines: UInt32, _ reader: Reader) async throws {
    for at in streams.indices where offsets[at] == 0 {
      offsets[at] = try await begin(ofLast: lines, streams[at], reader)
    }
  }

  /// Returns the offset of the last lines; 0 if it cannot be found.
  private func begin(
    ofLast lines: UInt32, _ stream: LogStream, _ reader: Reader
  ) async throws -> Int64 {
    let selection = AttemptSelection(operation: operation, attempt: attempt)
    let piece = Int64(Limits.logChunkBytes)
    // A negative offset counts from the end.
    var from = -piece
    var counter = LastLines(wanted: lines)
    while true {
      let chunk: LogChunk?
      do {
        chunk = try await reader.log(selection, stream, offset: from)
      } catch {
        // Reading reports the refusal later.
        guard case .refused = error.kind else { throw error }
        return 0
      }
      guard let chunk, chunk.problem.isEmpty, !chunk.bytes.isEmpty else { return 0 }
      let start = Int64(clamping: chunk.offset)
      // Do not trust the worker's offsets.
      guard start <= Int64.max / 2, from < 0 || start < counter.begin else { return 0 }
      // Cut the piece off where the previous one began.
      let bytes =
        from < 0 ? chunk.bytes[...] : chunk.bytes.prefix(Int(clamping: counter.begin - start))
      counter.take(bytes, from: start)
      if counter.isDone || start == 0 { return counter.isDone ? counter.begin : 0 }
      from = max(0, start - piece)
    }
  }

  /// Prints everything written since the last call, of all streams.
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

/// Searches backwards for the beginning of the last lines of a text that comes in pieces.
struct LastLines {
  /// The offset of the lines, or of the last piece.
  var begin: Int64 = 0
  private(set) var isDone = false
  private var left: UInt32
  private var isFirst = true

  init(wanted: UInt32) { left = wanted }

  /// - Parameter start: The offset of the piece; it ends where the previous one began.
  mutating func take(_ bytes: ArraySlice<UInt8>, from start: Int64) {
    var end = bytes.endIndex
    if isFirst, left == 0 {
      isDone = true
      begin = start + Int64(bytes.count)
      return
    }
    // A line end at the end of the text begins no further line.
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
