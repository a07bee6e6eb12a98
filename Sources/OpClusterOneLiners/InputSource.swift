// Where arguments come from: `:::`, `:::+`, `::::`, `::::+`, `-a` and standard input, read off the
// words of a command line. Pure.

/// One input source.
package struct InputSource: Hashable, Sendable {
  package enum Origin: Hashable, Sendable {
    case values([String])
    /// A file with a record a line; `-` is standard input.
    case file(String)
  }
  package var origin: Origin
  /// Read side by side with the source before it (`:::+`).
  package var isLinked: Bool

  package init(_ origin: Origin, isLinked: Bool = false) {
    self.origin = origin
    self.isLinked = isLinked
  }
}

/// A command and its input sources.
package struct OneLiner: Hashable, Sendable {
  package var command: [String]
  package var sources: [InputSource]

  /// Reads the words behind the options. Without a source, standard input is one.
  ///
  /// - Parameters:
  ///   - files: Those of `-a`, which come first.
  ///   - separator: What stands for `:::`.
  package init(
    _ words: [String], files: [String] = [], separator: String = ":::",
    fileSeparator: String = "::::"
  ) {
    sources = files.map { InputSource(.file($0)) }
    let marks = [separator, separator + "+", fileSeparator, fileSeparator + "+"]
    command = Array(words.prefix { !marks.contains($0) })
    var rest = words.dropFirst(command.count)
    while let mark = rest.popFirst() {
      let values = Array(rest.prefix { !marks.contains($0) })
      rest = rest.dropFirst(values.count)
      let isLinked = mark.hasSuffix("+")
      if mark == separator || mark == separator + "+" {
        sources.append(InputSource(.values(values), isLinked: isLinked))
      } else {
        sources += values.map { InputSource(.file($0), isLinked: isLinked) }
      }
    }
    if sources.isEmpty { sources = [InputSource(.file("-"))] }
  }

  /// How often standard input is a source; more than once cannot be.
  package var standardInputs: Int { sources.count { $0.origin == .file("-") } }
}
