// The folders of `--results`, in GNU parallel's layout: a name and a value for each argument. Pure.

package enum ResultFolder {
  /// The path of a job's folder below the one that was named; without a slash at its end.
  ///
  /// - Parameter names: The headers of the input sources; numbers stand for those that are missing.
  package static func path(_ arguments: JobArguments, names: [String]) -> String {
    var parts: [String] = []
    for record in arguments.records {
      let columns = record.indices.map { at in
        (name: names.indices.contains(at) ? names[at] : String(at + 1), value: record[at])
      }
      let sorted = columns.enumerated().sorted { a, b in
        let first = key(a.element.name)
        let second = key(b.element.name)
        return (first.number, first.name, a.offset) < (second.number, second.name, b.offset)
      }
      for column in sorted {
        parts += [escaped(column.element.name), escaped(column.element.value)]
      }
    }
    return parts.joined(separator: "/")
  }

  /// Headers are sorted as numbers first.
  private static func key(_ name: String) -> (number: Int, name: String) {
    let digits = name.prefix { $0.isASCII && $0.isNumber }
    return (Int(digits.prefix(9)) ?? 0, name)
  }

  /// No slash is left, so that a value names one folder; `.` and `..` are none of their own.
  private static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": text += "\\\\"
      case "\t": text += "\\t"
      case "\0": text += "\\0"
      case "/": text += "\\_"
      default: text.unicodeScalars.append(scalar)
      }
    }
    if text == "." || text == ".." { return "\\" + text }
    // The longest name that file systems have.
    guard text.utf8.count > Self.nameBytes else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: Self.nameBytes)
    while end > text.startIndex, text.unicodeScalars.indices.contains(end) == false {
      end = text.utf8.index(before: end)
    }
    return String(text[..<end])
  }

  private static let nameBytes = 240
}
