// Answers wishes for pieces of logs from the files on disk, while an attempt runs and afterwards.
// Loop thread; one piece is at most 64 KiB.

import OpClusterModel
import OpClusterProcesses

enum LogFiles {
  /// The piece that was asked for, of the stream's file. A stream that the command sent elsewhere
  /// is read from there. Of an attempt without a log the answer is empty: empty logs are not kept.
  static func answer(_ request: LogRequest, _ own: String, isRunning: Bool) -> LogChunk {
    let target = Folders.target(of: own)
    let path = target ?? own
    let file = OutputFile(path: path)
    let limit = min(Int(request.maximumBytes), Limits.logChunkBytes)
    var chunk = LogChunk(
      number: request.number, offset: 0, bytes: [], size: 0, isComplete: !isRunning)
    do throws(SpawnError) {
      let part =
        if request.offset < 0 {
          try OutputTail.last(min(limit, Int(clamping: request.offset.magnitude)), of: file)
        } else {
          try OutputTail.read(file, from: Int(clamping: request.offset), upTo: limit)
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
  static func lastWords(of path: String) -> String {
    let part = try? OutputTail.last(of: OutputFile(path: path))
    let lines = String(decoding: part?.bytes ?? [], as: UTF8.self).split(separator: "\n")
    let fatal = lines.last { $0.contains("Fatal error") }
    return fatal.map(String.init) ?? end(of: path)
  }

  /// The end of a stream's file, as text for people.
  static func end(of path: String) -> String {
    guard let part = try? OutputTail.last(Limits.diagnosticBytes, of: OutputFile(path: path)) else {
      return ""
    }
    var text = String(decoding: part.bytes, as: UTF8.self)
    // A character cut in half at the beginning became a longer replacement.
    while text.utf8.count > Limits.diagnosticBytes { text.removeFirst() }
    return text
  }
}
