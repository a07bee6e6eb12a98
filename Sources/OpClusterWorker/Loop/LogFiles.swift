// Answers wishes for pieces of logs from the files on disk, while an attempt runs and afterwards.
// Loop thread; one piece is at most 64 KiB.

import OpClusterModel
import OpClusterProcesses

/// Where a stream of an attempt is, and with whose rights it is read: the path may be one that the
/// account chose.
struct LogPlace {
  var path: String
  /// nil: the worker's.
  var account: LocalAccount?
}

enum LogFiles {
  /// The piece that was asked for, of the stream's file. A stream that the command sent elsewhere
  /// is read from there. Of an attempt without a log the answer is empty: empty logs are not kept.
  static func answer(_ request: LogRequest, _ place: LogPlace, isRunning: Bool) -> LogChunk {
    let own = place.path
    let target = Folders.target(of: own)
    let file = OutputFile(path: target ?? own)
    let limit = min(Int(request.maximumBytes), Limits.logChunkBytes)
    var chunk = LogChunk(
      number: request.number, offset: 0, bytes: [], size: 0, isComplete: !isRunning)
    do throws(SpawnError) {
      let part = try withRights(of: place.account) { () throws(SpawnError) in
        request.offset < 0
          ? try OutputTail.last(min(limit, Int(clamping: request.offset.magnitude)), of: file)
          : try OutputTail.read(file, from: Int(clamping: request.offset), upTo: limit)
      }
      chunk.offset = UInt64(part.offset)
      chunk.bytes = part.bytes
      chunk.size = UInt64(part.fileSize)
    } catch {
      if target != nil || Folders.size(of: own) != nil {
        chunk.problem = "the log cannot be read: \(error)"
      } else if !isRunning, wasSwept(own) {
        chunk.problem =
          "the log was empty, or removed as one of the oldest on its worker: "
          + "'opworker --log-space' says how much they may take"
      }
    }
    return chunk
  }

  /// Whether logs of the same graph were removed for want of room.
  private static func wasSwept(_ log: String) -> Bool {
    guard let slash = log.lastIndex(of: "/") else { return false }
    return Folders.size(of: "\(log[..<slash])/\(LogSweep.mark)") != nil
  }

  /// What a crashed process said of it: Swift's own line, which a trace of calls may follow, else
  /// the end of the file.
  static func lastWords(of place: LogPlace) -> String {
    let part = try? tail(of: place, OutputTail.readLimit)
    let lines = String(decoding: part?.bytes ?? [], as: UTF8.self).split(separator: "\n")
    let fatal = lines.last { $0.contains("Fatal error") }
    return fatal.map(String.init) ?? end(of: place)
  }

  /// The end of a stream's file, as text for people.
  static func end(of place: LogPlace) -> String {
    guard let part = try? tail(of: place, Limits.diagnosticBytes) else { return "" }
    var text = String(decoding: part.bytes, as: UTF8.self)
    // A character cut in half at the beginning became a longer replacement.
    while text.utf8.count > Limits.diagnosticBytes { text.removeFirst() }
    return text
  }

  private static func tail(
    of place: LogPlace, _ count: Int
  ) throws(SpawnError) -> OutputPart {
    try withRights(of: place.account) { () throws(SpawnError) in
      try OutputTail.last(count, of: OutputFile(path: place.path))
    }
  }
}
