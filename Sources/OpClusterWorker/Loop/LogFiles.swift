// Answers requests for pieces of logs from the files on disk, during an attempt and afterwards.
// Loop thread; one piece is at most 64 KiB.

import OpClusterModel
import OpClusterProcesses

/// The file of an attempt's stream, and the account whose rights are used to read it: the account
/// may have chosen the path.
struct LogPlace {
  var path: String
  /// nil: the worker's.
  var account: LocalAccount?
}

enum LogFiles {
  /// Returns the requested piece of the stream's file, or of the file to which the command sent the
  /// stream. Empty for an attempt without a log: empty logs are not kept.
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

  /// Whether logs of the same graph were removed to make room.
  private static func wasSwept(_ log: String) -> Bool {
    guard let slash = log.lastIndex(of: "/") else { return false }
    return Folders.size(of: "\(log[..<slash])/\(LogSweep.mark)") != nil
  }

  /// Returns the last words of a crashed process: Swift's error line, which a stack trace may
  /// follow, else the end of the file.
  static func lastWords(of place: LogPlace) -> String {
    let part = try? tail(of: place, OutputTail.readLimit)
    let lines = String(decoding: part?.bytes ?? [], as: UTF8.self).split(separator: "\n")
    let fatal = lines.last { $0.contains("Fatal error") }
    return fatal.map(String.init) ?? end(of: place)
  }

  /// Returns the end of a stream's file as text for people.
  static func end(of place: LogPlace) -> String {
    guard let part = try? tail(of: place, Limits.diagnosticBytes) else { return "" }
    var text = String(decoding: part.bytes, as: UTF8.self)
    // A character cut at the beginning becomes a longer replacement character.
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
