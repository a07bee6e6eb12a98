// The page about the manifest against the schema and the sources: the same keys and defaults, every
// variable and every value, and examples that compile.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct ManifestPage {
  private let page: Document
  private let schema: SchemaPart

  init() throws {
    page = try Package.document("Sources/OpCluster/OpCluster.docc/Manifest.md")
    let bytes = Data(ManifestSchema.text.utf8)
    schema = try JSONDecoder().decode(SchemaPart.self, from: bytes)
  }

  /// The tables of keys by their names. What an operation may say is in two of them.
  private var tables: [String: [String: String]] {
    var tables = page.tables("keys: ").mapValues { rows in
      Dictionary(rows.map { ($0.key, $0.standard) }, uniquingKeysWith: { first, _ in first })
    }
    let settings = tables["settings"] ?? [:]
    tables["operation"]?.merge(settings) { first, _ in first }
    return tables
  }

  @Test func noKeyIsMissingAndNoneIsInvented() {
    let wanted = Set(schema.mappings.map { Set($0.keys) })
    let found = Set(tables.values.map { Set($0.keys) })
    #expect(wanted.count > 20)
    for keys in wanted.subtracting(found) {
      Issue.record("no table of the page has exactly these keys: \(keys.sorted())")
    }
    for keys in found.subtracting(wanted) {
      Issue.record("no mapping of the schema has exactly these keys: \(keys.sorted())")
    }
  }

  @Test func noKeyIsInATableTwice() {
    for (name, rows) in page.tables("keys: ") {
      let keys = rows.map(\.key)
      #expect(keys.count == Set(keys).count, "the table '\(name)' has a key twice")
    }
  }

  @Test func defaultsAreThoseOfTheSchema() {
    var compared = 0
    for mapping in schema.mappings {
      for table in tables.values where Set(table.keys) == Set(mapping.keys) {
        for (key, part) in mapping {
          guard let standard = schema.standard(of: part) else { continue }
          #expect(table[key]?.contains("`\(standard)`") == true, "the default of '\(key)'")
          compared += 1
        }
      }
    }
    #expect(compared > 10)
  }

  /// Those that the schema does not know.
  @Test func defaultsAreThoseOfTheSources() throws {
    let settings = try #require(tables["settings"])
    #expect(settings["max_lost"] == "`\(Limits.lossesBeforeGivingUp)`")
    #expect(settings["cancel"] == "TERM, \(Timing().grace.nanoseconds / 1_000_000_000) s")
    #expect(DeclaredSettings().stopSignal == Quantities.signal("TERM"))
    #expect(DeclaredSettings().retry.maximum == 0 && settings["retry"] == "`0`")
    #expect(RetryPolicy().maximumBackoff == .seconds(3600))
    #expect(tables["retry"]?["backoff_max"] == "one hour")
    let bytes = CommandSpecification(form: .arguments([])).maximumOutputBytes
    #expect(tables["logs"]?["max"] == "`1GiB`" && Quantities.bytes("1GiB") == Int64(bytes))
  }

  /// The worker's own words for what it tells a command, and those for who is told of a graph.
  @Test func everyVariableIsNamed() throws {
    var told: Set<String> = []
    for path in try Package.files(in: "Sources/OpClusterAttempts/Commands", suffix: ".swift")
      + Package.files(in: "Sources/opbatch/Notify", suffix: ".swift")
    {
      for text in try Package.document(path).spans("\"OP_", "\"") {
        told.insert(String(text.prefix { $0.isUppercase || $0 == "_" }))
      }
    }
    #expect(told.isSuperset(of: ["GRAPH", "OUTPUT", "MATRIX_", "VALUE_"]))
    let named = page.spans("`OP_", "`")
    for name in told {
      let isNamed = named.contains { $0 == name || (name.hasSuffix("_") && $0.hasPrefix(name)) }
      #expect(isNamed, "OP_\(name)")
    }
    for name in named {
      let isTold = told.contains { $0 == name || ($0.hasSuffix("_") && name.hasPrefix($0)) }
      #expect(isTold, "nobody tells a command OP_\(name)")
    }
  }

  @Test func everyKindOfValueIsNamed() {
    var kinds: Set<String> = []
    for row in page.tables("values").values.joined() {
      let pieces = TextPiece.parse(
        row.key, locate: { _ in Place(line: 1, column: 1) },
        report: { problem, _ in Issue.record("\(problem)") })
      #expect(pieces.count == 1)
      for case .value(let value) in pieces { kinds.insert(kind(value)) }
    }
    #expect(kinds == ["raw", "parameter", "item", "index", "matrix", "output"])
  }

  /// Without a `default`: a further one does not compile before it is named here.
  private func kind(_ value: TextPiece.PlacedValue) -> String {
    if value.isRaw { return "raw" }
    switch value.reference {
    case .parameter: return "parameter"
    case .item: return "item"
    case .index: return "index"
    case .matrix: return "matrix"
    case .output: return "output"
    }
  }

  @Test func theLimitsAreTheLimits() {
    let text = page.lines.joined(separator: " ")
    let limits = [
      "\(YAMLReader.maximumBytes >> 20) MiB and \(grouped(YAMLReader.maximumNodes)) nodes",
      "\(grouped(Limits.operationsPerGraph)) operations", "\(Limits.queuesPerGraph) queues",
      "\(Limits.labelsPerThing) labels", "\(Limits.payloadBytes >> 10) KiB, an item",
      "an item \(Limits.elementArgumentBytes >> 10) KiB",
      "together \((Limits.messageBytes * 3 / 4) >> 20) MiB",
      "outputs; \(Limits.outputBytes >> 10) KiB",
    ]
    for limit in limits {
      let isThere = text.contains(limit)
      #expect(isThere, "\(limit)")
    }
  }

  /// `4,000,000`, of a number that is not negative.
  private func grouped(_ number: Int) -> String {
    let digits = Array(String(number))
    return String(
      digits.indices.flatMap { at -> [Character] in
        at > 0 && (digits.count - at) % 3 == 0 ? [",", digits[at]] : [digits[at]]
      })
  }

  /// What a page or the README shows as YAML is a whole manifest.
  @Test func examplesCompile() throws {
    var count = 0
    for document in try Package.documents() {
      for block in document.fenced("yaml") {
        let surroundings = Surroundings(
          baseFolder: "/base",
          files: FileAccess(
            read: { _ in .success(Array("one\ntwo\n".utf8)) }, list: { _ in ["a.log", "b.log"] }),
          variable: { _ in nil })
        let compiler = ManifestCompiler(
          source: block.text, fileName: "graph.yaml", surroundings: surroundings)
        let nothing = PayloadEncoders(
          command: { _ in [] }, callInput: { _ in [] }, blocks: { _ in [] },
          blockElement: { _ in [] })
        let findings = compiler.compile(encoders: nothing).diagnostics
        let told = findings.map { "\($0.line): \($0.message)" }
        #expect(findings.isEmpty, "\(block.place): \(told)")
        count += 1
      }
    }
    #expect(count > 10)
  }
}

/// As much of a JSON Schema as the page can be compared with.
private indirect enum SchemaPart: Decodable {
  case other
  case scalar(String)
  case list([SchemaPart])
  case object([String: SchemaPart])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .other
    } else if let bool = try? value.decode(Bool.self) {
      self = .scalar(String(bool))
    } else if let number = try? value.decode(Int.self) {
      self = .scalar(String(number))
    } else if let number = try? value.decode(Double.self) {
      self = .scalar(String(number))
    } else if let text = try? value.decode(String.self) {
      self = .scalar(text)
    } else if let list = try? value.decode([SchemaPart].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: SchemaPart].self))
    }
  }

  /// What stands under a key; nil for anything but an object that has it.
  subscript(key: String) -> SchemaPart? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  /// Every list of properties, here and below.
  var mappings: [[String: SchemaPart]] {
    switch self {
    case .other, .scalar: return []
    case .list(let parts): return parts.flatMap(\.mappings)
    case .object(let members):
      var found = members.values.flatMap(\.mappings)
      if case .object(let properties)? = members["properties"] { found.append(properties) }
      return found
    }
  }

  /// The default of one property, its own or that of the definition it names.
  func standard(of part: SchemaPart) -> String? {
    if case .scalar(let standard)? = part["default"] { return standard }
    guard case .scalar(let reference)? = part["$ref"] else { return nil }
    var target: SchemaPart? = self
    for step in reference.split(separator: "/").dropFirst() { target = target?[String(step)] }
    guard case .scalar(let standard)? = target?["default"] else { return nil }
    return standard
  }
}
