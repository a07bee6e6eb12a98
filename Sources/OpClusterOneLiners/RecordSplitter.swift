// Cuts bytes that arrive in pieces into records. Pure.

/// Why input cannot be used.
package struct InputProblem: Error, Hashable, Sendable {
  /// One sentence without a full stop.
  package var message: String
  /// What to do; may be empty.
  package var hint: String

  package init(_ message: String, hint: String = "") {
    self.message = message
    self.hint = hint
  }
}

/// Records end with one byte: a line end, NUL, or what `-d` says.
package struct RecordSplitter: Sendable {
  private let delimiter: UInt8
  /// The most bytes of one record.
  private let limit: Int
  private var pending: [UInt8] = []
  /// Where in `pending` the next record begins.
  private var start = 0
  /// Up to where in `pending` no delimiter was found.
  private var searched = 0
  private var hasEnded = false
  private var count = 0

  package init(delimiter: UInt8 = UInt8(ascii: "\n"), limit: Int) {
    self.delimiter = delimiter
    self.limit = limit
  }

  /// Takes further bytes; none is the end of the input.
  package mutating func take(_ bytes: some Sequence<UInt8>, isEnd: Bool = false) {
    if start > 0 {
      pending.removeSubrange(..<start)
      searched -= start
      start = 0
    }
    pending.append(contentsOf: bytes)
    hasEnded = hasEnded || isEnd
  }

  /// The next record; nil: further bytes are needed, or there are none.
  ///
  /// - Throws: The record is longer than the limit, or no text in UTF-8.
  package mutating func next() throws(InputProblem) -> String? {
    var end = pending[searched...].firstIndex(of: delimiter)
    if end == nil {
      searched = pending.count
      guard pending.count - start <= limit else { throw tooLong }
      // A last record without a delimiter is one; nothing behind the last delimiter is none.
      guard hasEnded, start < pending.count else { return nil }
      end = pending.count
    }
    guard let end else { return nil }
    guard end - start <= limit else { throw tooLong }
    count += 1
    let bytes = pending[start..<end]
    start = min(end + 1, pending.count)
    searched = start
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw InputProblem(
        "argument \(count) of the input is not text in UTF-8",
        hint: "a command travels as text: give the file's name in another way, such as its number")
    }
    return text
  }

  private var tooLong: InputProblem {
    InputProblem(
      "argument \(count + 1) of the input has more than \(limit) bytes",
      hint: "write it into a file, and give the command the file's name; -0 and -d say what ends "
        + "an argument")
  }
}
