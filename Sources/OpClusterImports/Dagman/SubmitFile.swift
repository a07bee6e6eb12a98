// A submit description of HTCondor: its assignments and its queue statements, with macros expanded
// on demand. What the commands mean is in `SubmitJob`.

import OpClusterModel

/// A job of a submit file before its macros are expanded.
struct SubmitFile {
  struct Value {
    var text: String
    var place: SourcePlace
  }
  /// By the name in small letters.
  var values: [String: Value] = [:]
  /// The elements of all queue statements.
  var elements: [Element] = []
  /// The one variable of the elements, if all of them have that one and come from one statement.
  var onlyVariable: String?
  /// Names in the order in which they are there.
  var order: [String] = []

  /// The macros that any value names, in small letters. Costs the text.
  var namedMacros: Set<String> {
    var found: Set<String> = []
    for value in values.values {
      var reader = ByteReader(value.text)
      while !reader.isAtEnd {
        _ = reader.text { $0 != UInt8(ascii: "$") }
        guard reader.take("$(") else {
          _ = reader.take(UInt8(ascii: "$"))
          continue
        }
        found.insert(
          reader.text { $0 != UInt8(ascii: ")") && $0 != UInt8(ascii: ":") }.trimmed.lowercased())
      }
    }
    return found
  }

  struct Element {
    /// Values of the queue statement's variables, by names in small letters.
    var variables: [String: String] = [:]
    /// Assignments between several queue statements.
    var values: [String: Value]?
  }

  init(
    _ lines: [String], _ file: String, first: Int, folder: String, _ session: ImportSession
  ) throws(ImportStop) {
    var queues = 0
    var at = 0
    while at < lines.count {
      let place = SourcePlace(file, first + at)
      var text = lines[at].trimmed
      at += 1
      if text.isEmpty || text.hasPrefix("#") { continue }
      while text.hasSuffix("\\"), at < lines.count {
        text = String(text.dropLast()) + lines[at].trimmed
        at += 1
      }
      try session.spend(text: text.utf8.count, place)
      let word = text.words.first?.lowercased() ?? ""
      if word == "queue" {
        queues += 1
        try queue(String(text.dropFirst(5)), lines, &at, place, folder, session)
      } else if let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
        let name = text[..<sign].trimmed
        set(name, Value(text: text[text.utf8.index(after: sign)...].trimmed, place: place))
      } else if ["if", "elif", "else", "endif", "include", "use"].contains(word) {
        throw session.stop(
          place, "'\(word)' is not read; 'condor_submit -dry-run' shows what it becomes")
      } else {
        throw session.stop(place, "neither an assignment nor 'queue'")
      }
    }
    if queues > 1 { onlyVariable = nil }
    // DAGMan queues a description without a statement once.
    if queues == 0 { elements = [Element()] }
  }

  private mutating func set(_ name: String, _ value: Value) {
    let key = name.lowercased()
    var value = value
    // What names itself means what it was before.
    for spelling in Set([name, key, name.uppercased()]) where value.text.contains("$(\(spelling))")
    {
      let former = values[key]?.text ?? ""
      value.text = value.text.replacing("$(\(spelling))", with: former)
    }
    if values.updateValue(value, forKey: key) == nil { order.append(key) }
  }

  /// `queue [N] [a,b in|from|matching …]`
  private mutating func queue(
    _ text: String, _ lines: [String], _ at: inout Int, _ place: SourcePlace, _ folder: String,
    _ session: ImportSession
  ) throws(ImportStop) {
    var reader = ByteReader(text.trimmed)
    let former = elements.isEmpty ? nil : values
    let count = try count(&reader, place, session)
    reader.skipBlanks()
    var names: [String] = []
    var keyword = ""
    while keyword.isEmpty, !reader.isAtEnd {
      let word = reader.text { !isBlank($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "(") }
      if ["in", "from", "matching"].contains(word.lowercased()) {
        keyword = word.lowercased()
      } else if !word.isEmpty {
        names.append(word.lowercased())
      }
      reader.skipBlanks()
      _ = reader.take(UInt8(ascii: ","))
      reader.skipBlanks()
      if word.isEmpty, keyword.isEmpty { break }
    }
    if keyword.isEmpty {
      guard names.isEmpty, reader.isAtEnd else {
        throw session.stop(place, "'queue \(text.trimmed)' is not understood")
      }
      try session.spend(operations: 1, place)
      guard elements.count.saturatingAdd(count) <= Limits.operationsPerGraph else {
        throw session.stop(place, "more than \(Limits.operationsPerGraph) jobs")
      }
      elements += Array(repeating: Element(values: former), count: count)
      return
    }
    if keyword == "matching" {
      throw session.stop(place, "'queue … matching' is not read; write the names 'in (…)'")
    }
    if names.isEmpty { names = ["item"] }
    var items = try items(reader.rest, keyword, lines, &at, place, folder, session)
    items.removeAll { $0.trimmed.isEmpty }
    guard elements.count.saturatingAdd(items.count.saturatingMultiply(count)) <= 100_000 else {
      throw session.stop(place, "more than 100000 items")
    }
    onlyVariable = names.count == 1 && count == 1 && elements.isEmpty ? names[0] : nil
    for item in items {
      var variables: [String: String] = [:]
      var parts = ByteReader(item.trimmed)
      for (number, name) in names.enumerated() {
        // The last variable takes the rest of the line.
        let isLast = number == names.count - 1
        let value =
          isLast
          ? parts.rest.trimmed
          : parts.text { !isBlank($0) && $0 != UInt8(ascii: ",") }
        parts.skipBlanks()
        _ = parts.take(UInt8(ascii: ","))
        parts.skipBlanks()
        variables[name] = value
      }
      elements += Array(repeating: Element(variables: variables, values: former), count: count)
    }
  }

  /// The number behind `queue`; 1 if there is none.
  private func count(
    _ reader: inout ByteReader, _ place: SourcePlace, _ session: ImportSession
  ) throws(ImportStop) -> Int {
    var count = 1
    let start = reader.at
    if let word = reader.word(), word.hasPrefix("$(") || word.utf8.allSatisfy(isDigit) {
      var scope = SubmitScope(values: values, session: session)
      scope.place = place
      guard let number = Int(try scope.expand(word).trimmed), number >= 0,
        number <= Limits.operationsPerGraph
      else {
        throw session.stop(place, "'queue' needs a number up to \(Limits.operationsPerGraph)")
      }
      count = number
    } else {
      reader.at = start
    }
    return count
  }

  private func items(
    _ text: String, _ keyword: String, _ lines: [String], _ at: inout Int, _ place: SourcePlace,
    _ folder: String, _ session: ImportSession
  ) throws(ImportStop) -> [String] {
    var text = text.trimmed
    if text.hasPrefix("[") { throw session.stop(place, "slices of items are not read") }
    guard text.hasPrefix("(") else {
      if keyword == "in" {
        return text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map {
          String($0)
        }
      }
      if text.hasSuffix("|") {
        throw session.stop(place, "items from a program are not read; write them to a file")
      }
      let file = path(text, in: folder)
      guard let lines = try session.lines(of: file, for: place) else {
        throw session.stop(place, "there is no file \(file)")
      }
      return lines.filter { !$0.trimmed.hasPrefix("#") }
    }
    text = String(text.dropFirst())
    var parts: [String] = []
    while !text.contains(")") {
      parts.append(text)
      guard at < lines.count else { throw session.stop(place, "'(' without ')'") }
      text = lines[at].trimmed
      at += 1
    }
    parts.append(text.split(separator: ")", omittingEmptySubsequences: false)[0].trimmed)
    if keyword == "from" { return parts }
    return parts.flatMap { part in
      part.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { String($0) }
    }
  }
}

extension Int {
  func saturatingMultiply(_ other: Int) -> Int {
    let (product, overflows) = multipliedReportingOverflow(by: other)
    return overflows ? .max : product
  }
}

/// Expands `$(NAME)` and `$(NAME:default)`.
struct SubmitScope {
  /// By names in small letters; the first table that has a name gives its value.
  var values: [String: SubmitFile.Value]
  var given: [String: String] = [:]
  let session: ImportSession
  var place = SourcePlace("", 0)

  /// What may stand behind a dollar instead of a macro; each wants something that is not here.
  private static let functions = [
    "ENV", "INT", "REAL", "STRING", "EVAL", "CHOICE", "RANDOM_CHOICE", "RANDOM_INTEGER", "SUBSTR",
    "BASENAME", "DIRNAME",
  ]

  func expand(_ text: String, depth: Int = 0) throws(ImportStop) -> String {
    guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
    guard depth <= Limits.importDepth else {
      throw session.stop(place, "macros name each other more than \(Limits.importDepth) deep")
    }
    var result = ""
    var reader = ByteReader(text)
    while !reader.isAtEnd {
      result += reader.text { $0 != UInt8(ascii: "$") }
      try session.check(text: result.utf8.count, place)
      guard reader.take(UInt8(ascii: "$")) else { break }
      if reader.take("$(") || reader.take("$[") {
        throw session.stop(
          place, "'$$(…)' is of the machine that is found, which nobody knows here")
      }
      guard reader.take(UInt8(ascii: "(")) else {
        let name = reader.text { isLetter($0) || $0 == UInt8(ascii: "_") }
        if reader.next == UInt8(ascii: "("),
          Self.functions.contains(name.uppercased()) || name.hasPrefix("F")
        {
          throw session.stop(place, "the function '$\(name)(…)' is not read; write its value")
        }
        result += "$" + name
        continue
      }
      let name = reader.text { $0 != UInt8(ascii: ")") && $0 != UInt8(ascii: ":") }
      var fallback: String?
      if reader.take(UInt8(ascii: ":")) { fallback = reader.text { $0 != UInt8(ascii: ")") } }
      guard reader.take(UInt8(ascii: ")")) else {
        throw session.stop(place, "'$(\(name)' without ')'")
      }
      result += try value(name.trimmed, fallback, depth)
    }
    try session.spend(text: result.utf8.count, place)
    return result
  }

  private func value(
    _ name: String, _ fallback: String?, _ depth: Int
  ) throws(ImportStop) -> String {
    let key = name.lowercased()
    if key == "dollar" { return "$" }
    if let value = given[key] { return try expand(value, depth: depth + 1) }
    if let value = values[key] { return try expand(value.text, depth: depth + 1) }
    if let fallback { return try expand(fallback, depth: depth + 1) }
    session.lost(place, "the macro '\(name)' is not defined, and counts as empty")
    return ""
  }
}
