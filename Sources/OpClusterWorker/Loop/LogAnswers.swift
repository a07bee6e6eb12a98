// Answers requests for pieces of logs from the files on disk, during an attempt and afterwards.
// Loop thread; one piece is at most 64 KiB.

import OpClusterAttempts
import OpClusterModel
import OpClusterProcesses

enum LogAnswers {
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
}
