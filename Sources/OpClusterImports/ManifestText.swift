// Writes an imported graph as a manifest, for people to read and for `opbatch submit`. Texts are
// quoted so that YAML and JSON read them alike. Pure.

import OpClusterModel

package struct ManifestText {
  /// A manifest has no escape for its own placeholder, and a parameter's default is literal.
  private static let braces = "braces"
  private static let placeholder = "${{"
  private var usesBraces = false
  private var lines: [String] = []
  private var workingFolder = ""

  /// The manifest of a graph.
  package static func of(_ graph: ImportedGraph) -> String {
    var writer = ManifestText()
    writer.workingFolder = graph.workingFolder
    let head = writer.head(graph)
    writer.section("operations", graph.operations)
    if !graph.finally.isEmpty { writer.section("finally", graph.finally) }
    var parameters: [String] = []
    if writer.usesBraces {
      parameters = ["params:", "  \(braces): {default: \"{{\"}"]
    }
    return (head + parameters + writer.lines).joined(separator: "\n") + "\n"
  }

  private mutating func head(_ graph: ImportedGraph) -> [String] {
    var head = ["# \(Self.comment(graph.origin))", "version: 1"]
    head.append("name: \(Self.plain(OperationNames.valid(graph.name)))")
    if let word = graph.onFailure { head.append("on_failure: \(word)") }
    if let most = graph.maximumFailures { head.append("max_failures: \(most)") }
    let all = graph.operations + graph.finally
    var defaults = ["workdir: \(text(graph.workingFolder))"]
    let hasShell = all.contains { if case .shell = $0.work { true } else { false } }
    if hasShell { defaults.append("shell: [/bin/sh, -c]") }
    head.append("defaults: {\(defaults.joined(separator: ", "))}")
    if !graph.inherited.isEmpty {
      head.append("env: {inherit: [\(graph.inherited.map(Self.quoted).joined(separator: ", "))]}")
    }
    if !graph.queues.isEmpty {
      head.append("queues:")
      head += graph.queues.map { "  \(Self.plain($0.name)): {max_concurrent: \($0.limit)}" }
    }
    return head
  }

  private mutating func section(_ name: String, _ operations: [ImportedOperation]) {
    lines.append("\(name):")
    for operation in operations {
      lines.append("  \(Self.plain(operation.name)):")
      add(operation)
    }
  }

  private mutating func add(_ operation: ImportedOperation) {
    key("description", operation.description.isEmpty ? nil : Self.quoted(operation.description))
    key("needs", needs(operation.needs))
    key("array", array(operation))
    switch operation.work {
    case .barrier: key("barrier", "true")
    case .words(let words): key("run", list(words))
    // A placeholder in a shell's text would be quoted for it.
    case .shell(let text) where text.contains(Self.placeholder):
      key("run", list(["/bin/sh", "-c", text]))
    case .shell(let text): block("run", text)
    }
    key("queue", operation.queue.map(Self.quoted))
    key("priority", operation.priority.map { "\($0)" })
    key("resources", resources(operation))
    key("retry", operation.retry.flatMap(retry))
    key(
      "ok_exit_codes",
      operation.successCodes.isEmpty ? nil : "\(operation.successCodes)")
    key("allow_failure", operation.mayFail ? "true" : nil)
    key("max_lost", operation.maximumLosses.map { "\($0)" })
    key("on_worker_lost", operation.restartsWhenLost ? nil : "fail")
    key("env", environment(operation))
    let isElsewhere = operation.workingFolder != workingFolder
    key("workdir", isElsewhere ? operation.workingFolder.map { text($0) } : nil)
    key(
      "stdin",
      operation.inputText.map { text($0) }
        ?? operation.inputFile.map { "{file: \(text($0))}" })
    key("stdout", operation.outputFile.map { text($0) })
    key("stderr", operation.errorFile.map { text($0) })
    key("timeout", operation.timeoutSeconds.map(Self.duration))
    key("cancel", operation.stopSignal.map { "{signal: \(Self.quoted($0))}" })
    key("labels", mapping(operation.labels))
  }

  private mutating func key(_ name: String, _ value: String?) {
    if let value { lines.append("    \(name): \(value)") }
  }

  /// A text of several lines as lines, where YAML takes it as it is.
  private mutating func block(_ name: String, _ text: String) {
    let rows = text.split(separator: "\n", omittingEmptySubsequences: false)
    let isSimple = rows.allSatisfy { row in
      !row.isEmpty && !isBlank(row.utf8.first ?? 0)
        && row.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F }
    }
    guard rows.count > 1, isSimple else { return key(name, self.text(text)) }
    lines.append("    \(name): |-")
    lines += rows.map { "      \($0)" }
  }

  private func needs(_ needs: [ImportedOperation.Need]) -> String? {
    if needs.isEmpty { return nil }
    if needs.allSatisfy({ !$0.whenFinished }) {
      return "[" + needs.map { Self.plain($0.name) }.joined(separator: ", ") + "]"
    }
    let pairs = needs.map {
      "\(Self.plain($0.name)): \($0.whenFinished ? "finished" : "succeeded")"
    }
    return "{" + pairs.joined(separator: ", ") + "}"
  }

  private mutating func array(_ operation: ImportedOperation) -> String? {
    guard let elements = operation.elements else { return nil }
    var parts: [String]
    switch elements {
    case .range(let first, let last): parts = ["range: \(Self.quoted("\(first)-\(last)"))"]
    case .numbers(let numbers):
      parts = ["range: \(Self.quoted(numbers.map { "\($0)" }.joined(separator: ",")))"]
    case .items(let items): parts = ["items: \(list(items))"]
    }
    if let most = operation.maximumParallel { parts.append("max_parallel: \(most)") }
    if let most = operation.maximumFailures { parts.append("max_failures: \(most)") }
    return "{\(parts.joined(separator: ", "))}"
  }

  private func resources(_ operation: ImportedOperation) -> String? {
    var parts: [String] = []
    if let cpus = operation.cpus { parts.append("cpus: \(Self.decimal(cpus))") }
    if let memory = operation.memoryBytes { parts.append("memory: \(memory)") }
    if let gpus = operation.gpus { parts.append("gpus: \(Self.decimal(gpus))") }
    for (name, amount) in operation.resources.sorted(by: { $0.key < $1.key }) {
      parts.append("\(Self.quoted(name)): \(Self.decimal(amount))")
    }
    return parts.isEmpty ? nil : "{\(parts.joined(separator: ", "))}"
  }

  private func retry(_ retry: ImportedOperation.Retry) -> String? {
    if retry.count <= 0 { return nil }
    if retry.reasons.isEmpty { return "\(retry.count)" }
    let reasons = retry.reasons.map(Self.quoted).joined(separator: ", ")
    return "{max: \(retry.count), reasons: [\(reasons)]}"
  }

  private mutating func environment(_ operation: ImportedOperation) -> String? {
    var pairs: [String] = []
    for (name, value) in operation.environment.sorted(by: { $0.key < $1.key }) {
      pairs.append("\(Self.quoted(name)): \(text(value))")
    }
    if !operation.inherited.isEmpty {
      pairs.append("inherit: [\(operation.inherited.map(Self.quoted).joined(separator: ", "))]")
    }
    return pairs.isEmpty ? nil : "{\(pairs.joined(separator: ", "))}"
  }

  private mutating func mapping(_ pairs: [String: String]) -> String? {
    if pairs.isEmpty { return nil }
    var parts: [String] = []
    for (name, value) in pairs.sorted(by: { $0.key < $1.key }) {
      parts.append("\(Self.quoted(name)): \(text(value))")
    }
    return "{\(parts.joined(separator: ", "))}"
  }

  private mutating func list(_ words: [String]) -> String {
    var parts: [String] = []
    for word in words { parts.append(text(word)) }
    return "[\(parts.joined(separator: ", "))]"
  }

  /// A text of the other system, with the values that it holds.
  private mutating func text(_ text: String) -> String {
    var escaped = text
    if text.contains(Self.placeholder) {
      usesBraces = true
      escaped = text.replacing(Self.placeholder, with: "$${{ params.\(Self.braces) }}")
    }
    guard escaped.utf8.contains(0) else { return Self.quoted(escaped) }
    var result = ""
    for piece in RuntimePiece.pieces(of: escaped) {
      switch piece {
      case .bytes(let bytes): result += String(decoding: bytes, as: UTF8.self)
      case .value(let value): result += value.manifestText ?? ""
      }
    }
    return Self.quoted(result)
  }

  /// Between double quotes, in the escapes that YAML and JSON share.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      case _ where scalar.value < 0x20 || scalar.canSteerTerminal || isForeignToYAML(scalar):
        let digits = String(scalar.value, radix: 16)
        let width = scalar.value <= 0xFFFF ? 4 : 8
        result += scalar.value <= 0xFFFF ? "\\u" : "\\U"
        result += String(repeating: "0", count: width - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// Signs that YAML does not take as they are.
  private static func isForeignToYAML(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x7F...0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF: true
    default: false
    }
  }

  /// A name without quotes where YAML would not take it for something else.
  private static func plain(_ name: String) -> String {
    let words: Set = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "inherit"]
    return words.contains(name.lowercased()) ? quoted(name) : name
  }

  private static func comment(_ text: String) -> String {
    String(quoted(text).dropFirst().dropLast())
  }

  /// Without an exponent, with at most three decimals.
  static func decimal(_ value: Double) -> String {
    let bounded = value.isFinite ? min(max(value, 0), 1e12) : 0
    let thousandths = Int(saturating: (bounded * 1000).rounded())
    let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 1000)
    if rest == 0 { return "\(whole)" }
    var digits = "\(rest + 1000)".dropFirst()
    while digits.last == "0" { digits = digits.dropLast() }
    return "\(whole).\(digits)"
  }

  /// At least a millisecond.
  private static func duration(_ seconds: Double) -> String {
    let bounded = seconds.isFinite ? min(max(seconds, 0.001), 3e9) : 3e9
    return "\(Int(saturating: (bounded * 1000).rounded()))ms"
  }
}
