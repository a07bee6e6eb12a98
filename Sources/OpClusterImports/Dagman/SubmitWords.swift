// The two notations of HTCondor for arguments and for environments. Pure.

enum SubmitWords {
  /// Arguments; nil where quotes are not closed. In double quotes it is the new notation: blanks
  /// divide, single quotes hold together, and a doubled quote stands for itself.
  static func arguments(_ text: String) -> [String]? {
    guard let inner = unwrapped(text) else { return nil }
    return inner.isNew ? words(inner.text) : oldWords(inner.text)
  }

  /// Variables; nil where one has no name or quotes are not closed. In the old notation semicolons
  /// divide.
  static func environment(_ text: String) -> [(name: String, value: String)]? {
    guard let inner = unwrapped(text) else { return nil }
    let parts =
      inner.isNew
      ? words(inner.text)
      : inner.text.utf8.split(separator: UInt8(ascii: ";")).map {
        String(decoding: $0, as: UTF8.self).trimmed
      }
    guard let parts else { return nil }
    var pairs: [(name: String, value: String)] = []
    for part in parts where !part.isEmpty {
      guard let sign = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let name = String(part[..<sign])
      guard isVariableName(name) else { return nil }
      pairs.append((name, String(part[part.utf8.index(after: sign)...])))
    }
    return pairs
  }

  /// Without the double quotes of the new notation; nil if the last one is missing.
  private static func unwrapped(_ text: String) -> (text: String, isNew: Bool)? {
    guard text.hasPrefix("\"") else { return (text, false) }
    var found: [UInt8] = []
    let bytes = Array(text.utf8)
    var at = 1
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "\"") {
        guard at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "\"") else {
          return at == bytes.count - 1 ? (String(decoding: found, as: UTF8.self), true) : nil
        }
        at += 1
      }
      found.append(bytes[at])
      at += 1
    }
    return nil
  }

  private static func words(_ text: String) -> [String]? {
    var words: [String] = []
    var word: [UInt8]?
    let bytes = Array(text.utf8)
    let quote = UInt8(ascii: "'")
    var isQuoted = false
    var at = 0
    while at < bytes.count {
      let byte = bytes[at]
      if byte == quote {
        if isQuoted, at + 1 < bytes.count, bytes[at + 1] == quote {
          word = (word ?? []) + [quote]
          at += 1
        } else {
          isQuoted.toggle()
          word = word ?? []
        }
      } else if isBlank(byte), !isQuoted {
        if let done = word { words.append(String(decoding: done, as: UTF8.self)) }
        word = nil
      } else {
        word = word ?? []
        word?.append(byte)
      }
      at += 1
    }
    if isQuoted { return nil }
    if let done = word { words.append(String(decoding: done, as: UTF8.self)) }
    return words
  }

  private static func oldWords(_ text: String) -> [String] {
    text.words.map { $0.replacing("\\\"", with: "\"") }
  }
}
