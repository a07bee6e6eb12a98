// `opbatch import makeflow`: the rules of a Makeflow file become operations. The classic language
// is read, and not JX.

import OpClusterModel

package struct MakeflowImport {
  /// Where the command is: rules run there.
  package var folder: String
  package var inherited: [String] = ["PATH"]

  package init(folder: String) { self.folder = folder }

  package func read(_ file: String, _ files: SourceFiles) -> ImportResult {
    ImportSession.run(files) { (session) throws(ImportStop) -> ImportedGraph in
      let place = SourcePlace(path(file, in: folder), 0)
      guard let lines = try session.lines(of: place.file, for: place) else {
        throw session.stop(place, "there is no such file")
      }
      if lines.first(where: { !$0.trimmed.isEmpty })?.trimmed.hasPrefix("{") == true {
        throw session.stop(place, "JX is not read; 'makeflow_viz' and 'jx2json' can expand it")
      }
      var reader = MakeflowReader(session: session, file: place.file, folder: folder)
      try reader.read(lines)
      var graph = ImportedGraph(
        name: stem(of: file), origin: "From \(place.file).", workingFolder: folder)
      graph.inherited = inherited
      for name in reader.exportedFromOutside where !graph.inherited.contains(name) {
        graph.inherited.append(name)
      }
      try reader.build(&graph)
      return graph
    }
  }
}

/// A rule with its variables put in.
struct MakeflowRule {
  var place: SourcePlace
  var targets: [String]
  var sources: [String]
  var command = ""
  var category: String
  var variables: [String: String] = [:]
}

struct MakeflowReader {
  let session: ImportSession
  let file: String
  let folder: String
  private var rules: [MakeflowRule] = []
  /// Variables by category; those of all have no name.
  private var variables: [String: [String: String]] = [:]
  private var category = ""
  private var exported: [String] = []
  private(set) var exportedFromOutside: [String] = []
  private var locals = 0
  private var firstLocal: SourcePlace?

  init(session: ImportSession, file: String, folder: String) {
    self.session = session
    self.file = file
    self.folder = folder
  }

  /// The whole file. A line that ends in a backslash goes on.
  mutating func read(_ lines: [String]) throws(ImportStop) {
    var rule: MakeflowRule?
    var at = 0
    while at < lines.count {
      let place = SourcePlace(file, at + 1)
      var text = lines[at]
      at += 1
      while text.hasSuffix("\\"), at < lines.count {
        text = text.dropLast() + " " + lines[at].trimmed
        at += 1
        try session.check(text: text.utf8.count, place)
      }
      let isIndented = text.utf8.first.map(isBlank) ?? false
      let bare = Self.withoutComment(text).trimmed
      if bare.isEmpty { continue }
      if isIndented {
        guard var open = rule else { throw session.stop(place, "a command without a rule") }
        try command(bare, &open, place)
        rules.append(open)
        rule = nil
      } else {
        try statement(bare, &rule, place)
      }
    }
    if let rule { throw session.stop(rule.place, "the rule has no command") }
  }

  private mutating func statement(
    _ text: String, _ rule: inout MakeflowRule?, _ place: SourcePlace
  ) throws(ImportStop) {
    if text.hasPrefix(".") { return try directive(text.words, &rule, place) }
    if text.hasPrefix("export ") || text.hasPrefix("@export ") || text == "export" {
      return try export(text, place)
    }
    if let (name, value, appends) = Self.assignment(text) {
      return try assign(name, value, appends, &rule, place)
    }
    if let open = rule { throw session.stop(open.place, "the rule has no command") }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw session.stop(place, "neither a rule nor a variable")
    }
    try session.spend(operations: 1, place)
    let targets = try expand(String(text[..<colon]), nil, place).words
    let sources = try expand(String(text[text.utf8.index(after: colon)...]), nil, place).words
    for name in targets + sources where name.contains("->") {
      throw session.stop(place, "'\(name)': files have one name, since commands share a folder")
    }
    rule = MakeflowRule(place: place, targets: targets, sources: sources, category: category)
  }

  private mutating func command(
    _ text: String, _ rule: inout MakeflowRule, _ place: SourcePlace
  ) throws(ImportStop) {
    var text = try expand(text, rule, place).trimmed
    if text.hasPrefix("LOCAL ") {
      locals += 1
      firstLocal = firstLocal ?? place
      text = text.dropFirst(6).trimmed
    }
    if text.hasPrefix("MAKEFLOW ") || text.hasPrefix("WORKFLOW ") {
      throw session.stop(place, "a Makeflow inside of a Makeflow is not read")
    }
    try session.spend(text: text.utf8.count, place)
    rule.command = text
  }

  // MARK: - Variables

  /// `NAME=value`, `NAME+=value`, `@NAME=value`; nil for anything else.
  private static func assignment(
    _ text: String
  ) -> (name: String, value: String, appends: Bool)? {
    var reader = ByteReader(text)
    _ = reader.take(UInt8(ascii: "@"))
    let name = reader.text { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    reader.skipBlanks()
    let appends = reader.take(UInt8(ascii: "+"))
    if !appends { _ = reader.take(UInt8(ascii: ":")) }
    guard isVariableName(name), reader.take(UInt8(ascii: "=")) else { return nil }
    return (name, reader.rest.trimmed, appends)
  }

  private mutating func assign(
    _ name: String, _ value: String, _ appends: Bool, _ rule: inout MakeflowRule?,
    _ place: SourcePlace
  ) throws(ImportStop) {
    var value = try expand(Self.unquoted(value), rule, place)
    if appends, let former = lookup(name, rule) { value = "\(former) \(value)" }
    try session.spend(text: value.utf8.count, place)
    if name == "CATEGORY" || name == "SYMBOL" {
      if rule != nil { rule?.category = value } else { category = value }
      return
    }
    if name == "BATCH_OPTIONS" {
      session.lost(place, "BATCH_OPTIONS: options of another batch system are not read")
    }
    if rule != nil {
      rule?.variables[name] = value
    } else {
      variables[category, default: [:]][name] = value
    }
  }

  private func lookup(_ name: String, _ rule: MakeflowRule?) -> String? {
    if let value = rule?.variables[name] { return value }
    let category = rule?.category ?? category
    if name == "CATEGORY" { return category.isEmpty ? "default" : category }
    return variables[category]?[name] ?? variables[""]?[name]
  }

  /// Without the quotes around a whole value.
  private static func unquoted(_ text: String) -> String {
    for quote in ["\"", "'"]
    where text.utf8.count >= 2 && text.hasPrefix(quote) && text.hasSuffix(quote) {
      return String(text.dropFirst().dropLast())
    }
    return text
  }

  /// Puts variables in, but not between single quotes; a backslash leaves a dollar to the shell.
  private func expand(
    _ text: String, _ rule: MakeflowRule?, _ place: SourcePlace
  ) throws(ImportStop) -> String {
    var result = ""
    var reader = ByteReader(text)
    var isQuoted = false
    var isDouble = false
    while let byte = reader.next {
      switch byte {
      case UInt8(ascii: "'") where !isDouble:
        isQuoted.toggle()
        reader.at += 1
        result += "'"
      case UInt8(ascii: "\"") where !isQuoted:
        isDouble.toggle()
        reader.at += 1
        result += "\""
      case UInt8(ascii: "\\") where !isQuoted:
        reader.at += 1
        if reader.take(UInt8(ascii: "$")) {
          result += "$"
        } else if let next = reader.next, next < 0x80 {
          result += "\\" + String(Character(Unicode.Scalar(next)))
          reader.at += 1
        } else {
          result += "\\"
        }
      case UInt8(ascii: "$") where !isQuoted:
        reader.at += 1
        if reader.take(UInt8(ascii: "$")) {
          result += "$"
          break
        }
        let close =
          reader.take("(") ? UInt8(ascii: ")") : reader.take("{") ? UInt8(ascii: "}") : nil
        let name = reader.text { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
        if let close, !reader.take(close) {
          throw session.stop(place, "'$\(name)' is not closed")
        }
        guard let value = lookup(name, rule) else {
          throw session.stop(
            place, "the variable '\(name)' is not defined; '\\$\(name)' leaves it to the shell")
        }
        result += value
      default:
        result += reader.text { ![0x27, 0x22, 0x5C, 0x24].contains($0) }
        // A quote that stands between others is a sign like any other.
        if reader.next == byte, [0x27, 0x22, 0x5C, 0x24].contains(byte) {
          result.unicodeScalars.append(Unicode.Scalar(byte))
          reader.at += 1
        }
      }
      try session.check(text: result.utf8.count, place)
    }
    return result
  }

  /// Up to a `#` outside of quotes.
  private static func withoutComment(_ text: String) -> String {
    var quote: UInt8?
    let bytes = Array(text.utf8)
    var at = 0
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\\"), quote != UInt8(ascii: "'") {
        at += 1
      } else if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
        quote = byte
      } else if byte == UInt8(ascii: "#") {
        return String(decoding: bytes[..<at], as: UTF8.self)
      }
      at += 1
    }
    return text
  }

  private mutating func export(_ text: String, _ place: SourcePlace) throws(ImportStop) {
    let rest = String(text.drop { $0 != " " }).trimmed
    if let (name, value, appends) = Self.assignment(rest) {
      var none: MakeflowRule?
      try assign(name, value, appends, &none, place)
      exported.append(name)
      return
    }
    for name in rest.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "\t" }) {
      guard isVariableName(name) else {
        throw session.stop(place, "export: '\(name)' is no name of a variable")
      }
      exported.append(String(name))
    }
  }

  private mutating func directive(
    _ words: [String], _ rule: inout MakeflowRule?, _ place: SourcePlace
  ) throws(ImportStop) {
    switch words[0] {
    case ".SIZE": session.note(place, ".SIZE: sizes of files are not asked for")
    case ".MAKEFLOW" where words.count >= 3:
      switch words[1] {
      case "CATEGORY":
        if rule != nil { rule?.category = words[2] } else { category = words[2] }
      case "MODE": session.note(place, ".MAKEFLOW MODE: resources are as they are said")
      case "CORES", "MEMORY", "DISK", "WALL_TIME", "MPI_PROCESSES", "GPUS":
        try assign(words[1], words[2], false, &rule, place)
      default: throw session.stop(place, "'.MAKEFLOW \(words[1])' is not known")
      }
    default: throw session.stop(place, "'\(words[0])' is not read")
    }
  }

  // MARK: - Operations

  mutating func build(_ graph: inout ImportedGraph) throws(ImportStop) {
    guard !rules.isEmpty else { throw session.stop(SourcePlace(file, 0), "there are no rules") }
    var names = OperationNames()
    var makers: [String: Int] = [:]
    for (at, rule) in rules.enumerated() {
      for target in rule.targets {
        guard makers.updateValue(at, forKey: NinjaFile.canonical(target)) == nil else {
          throw session.stop(rule.place, "'\(target)' is made by two rules")
        }
      }
    }
    let operationNames = rules.map { names.claim($0.targets.first ?? "rule") }
    let needs = rules.map { rule in
      rule.sources.compactMap { makers[NinjaFile.canonical($0)] }
    }
    if let at = OrderOfNeeds(needs).circle {
      throw session.stop(
        rules[at].place, "'\(operationNames[at])' needs itself, in a circle")
    }
    for (at, rule) in rules.enumerated() {
      var operation = ImportedOperation(name: operationNames[at], work: .shell(rule.command))
      var seen: Set<Int> = []
      for source in rule.sources {
        if let maker = makers[NinjaFile.canonical(source)] {
          if seen.insert(maker).inserted {
            try session.spend(edges: 1, rule.place)
            operation.needs.append(ImportedOperation.Need(name: operationNames[maker]))
          }
        } else if session.files.age(path(source, in: folder)) == nil {
          session.error(rule.place, "'\(source)' is missing, and nothing makes it")
        }
      }
      resources(rule, &operation)
      if !rule.category.isEmpty { operation.labels["category"] = rule.category }
      for name in exported {
        if let value = lookup(name, rule) {
          operation.environment[name] = value
        } else if !exportedFromOutside.contains(name) {
          exportedFromOutside.append(name)
        }
      }
      graph.operations.append(operation)
    }
    for name in exportedFromOutside where !graph.inherited.contains(name) {
      graph.inherited.append(name)
    }
    if let firstLocal {
      session.lost(firstLocal, "LOCAL: runs on any worker, as all do (\(locals) rules)")
    }
    let shown = graph.inherited.joined(separator: ", ")
    session.note(
      SourcePlace(file, 0),
      "commands see \(shown.isEmpty ? "nothing" : shown) of your environment; "
        + "name others with --inherit")
  }

  private func resources(_ rule: MakeflowRule, _ operation: inout ImportedOperation) {
    func amount(_ name: String) -> Double? {
      guard let text = lookup(name, rule) else { return nil }
      if let number = Double(text.trimmed), number.isFinite, 0...1e9 ~= number { return number }
      session.lost(rule.place, "\(name): '\(text)' is no amount")
      return nil
    }
    operation.cpus = amount("CORES")
    operation.gpus = amount("GPUS")
    operation.memoryBytes = amount("MEMORY").map { Int(saturating: $0 * 0x1p20) }
    for name in ["DISK", "WALL_TIME", "MPI_PROCESSES"] where lookup(name, rule) != nil {
      session.lost(rule.place, "\(name) is not asked for")
    }
  }
}
