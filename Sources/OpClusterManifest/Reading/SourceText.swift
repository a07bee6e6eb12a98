// The manifest's text with an index of its lines: converts between places and bytes. Used for
// findings inside texts that span lines, and by the YAML reader for repeated keys.
// Offsets are bytes from 0; places are lines and columns from 1. Made once per compilation,
// O(text).

/// A column is a Unicode scalar, as in libyaml: bytes that continue one do not count.
struct SourceText {
  private(set) var bytes: [UInt8]
  /// Offsets of the first byte of each line; the first is 0.
  private let lineStarts: [Int]

  /// A line ends at LF, CR LF, or CR alone, as YAML has it.
  init(_ text: String) {
    bytes = Array(text.utf8)
    var starts = [0]
    for at in bytes.indices {
      if bytes[at] == 0x0A { starts.append(at + 1) }
      if bytes[at] == 0x0D, at + 1 == bytes.count || bytes[at + 1] != 0x0A { starts.append(at + 1) }
    }
    lineStarts = starts
  }

  /// Returns the offset of a place's first byte; nil if the text has no such place.
  /// O(line).
  func offset(of place: Place) -> Int? {
    guard place.line >= 1, place.line <= lineStarts.count else { return nil }
    var at = lineStarts[place.line - 1]
    // libyaml does not count a byte order mark.
    if place.line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
    var column = 1
    while column < place.column, at < bytes.count {
      at += 1
      while at < bytes.count, bytes[at] & 0xC0 == 0x80 { at += 1 }
      column += 1
    }
    return column == place.column ? at : nil
  }

  /// Searches for a text from an offset on. Returns its place; `from` moves behind it.
  /// O(text) in the worst case. The caller searches in the order of the text, so that a repeated
  /// placeholder is found at its own place.
  func find(_ text: String, from: inout Int) -> Place? {
    let wanted = Array(text.utf8)
    guard let first = wanted.first, bytes.count >= wanted.count else { return nil }
    var at = from
    while at <= bytes.count - wanted.count {
      if bytes[at] == first, bytes[at..<(at + wanted.count)].elementsEqual(wanted) {
        from = at + wanted.count
        return place(ofOffset: at, length: text.unicodeScalars.count)
      }
      at += 1
    }
    return nil
  }

  /// O(log lines + line).
  private func place(ofOffset offset: Int, length: Int) -> Place {
    var low = 0
    var high = lineStarts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    let column = bytes[lineStarts[low]..<offset].count { $0 & 0xC0 != 0x80 }
    return Place(line: low + 1, column: column + 1, length: length)
  }
}
