// How far the log of an operation's newest attempt was read.

import OpClusterModel
import OpClusterReading

struct LogPosition {
  struct Piece {
    var stream: LogStream
    var text: String
    /// Whether it replaces what was there.
    var isAgain: Bool
  }

  private let operation: OperationID
  private let stream: LogStream
  /// As people count them.
  private var attempt: UInt32 = 0
  /// nil: nothing was read.
  private var offset: Int64?
  /// The beginning of a character whose end was not written yet.
  private var rest: [UInt8] = []

  /// Only the end is shown first.
  private static let firstBytes: Int64 = 64 << 10

  init(_ operation: OperationID, _ stream: LogStream) {
    self.operation = operation
    self.stream = stream
  }

  /// The next piece of the log of an attempt; nil: there is none now. The log of another attempt
  /// begins anew.
  mutating func next(of attempt: UInt32, _ reader: Reader) async -> Piece? {
    if attempt != self.attempt {
      self.attempt = attempt
      offset = nil
      rest = []
    }
    let from = offset ?? -Self.firstBytes
    let selection = AttemptSelection(operation: operation, attempt: attempt)
    guard let chunk = try? await reader.log(selection, stream, offset: from),
      chunk.problem.isEmpty, chunk.offset <= UInt64(Int64.max)
    else { return nil }
    guard !chunk.bytes.isEmpty else { return nil }
    let isAgain = offset == nil
    offset = Int64(chunk.offset).saturatingAdd(Int64(chunk.bytes.count))
    let bytes = rest + chunk.bytes
    let end = Self.wholeCharacters(bytes)
    rest = Array(bytes[end...])
    return Piece(
      stream: stream, text: String(decoding: bytes[..<end], as: UTF8.self), isAgain: isAgain)
  }

  /// The count of bytes up to the last whole character.
  static func wholeCharacters(_ bytes: [UInt8]) -> Int {
    for back in 1...3 where back <= bytes.count {
      let byte = bytes[bytes.count - back]
      if byte & 0xC0 == 0x80 { continue }
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return length > back ? bytes.count - back : bytes.count
    }
    return bytes.count
  }
}

extension LogStream {
  /// As people call it.
  var name: String {
    switch self {
    case .standardOutput: "stdout"
    case .standardError: "stderr"
    }
  }
}
