// Where the streams of an attempt are, and what stands at their end. Called on the thread of the
// runner.

import OpClusterModel
package import OpClusterProcesses

/// The file of an attempt's stream, and the account whose rights are used to read it: the account
/// may have chosen the path.
package struct LogPlace {
  package var path: String
  /// nil: the worker's.
  package var account: LocalAccount?
}

enum LogFiles {
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
