// One mapping of the manifest, opened with the table of its keys. Reports unknown keys and reads
// typed values. Used by all decoders.
// Unknown keys are reported at opening, and once. Each typed reading below reports what is wrong
// and returns nil, so that a decoder keeps its default and goes on.

import OpClusterModel

/// A mapping with its table is the only way to read keys: a key that a decoder reads is one that
/// the table, and so the schema, has.
struct Fields {
  let table: KeyTable
  let place: Place
  let findings: Findings
  /// Entries with keys of the table; all entries if the table is open.
  let entries: [ManifestNode.Entry]
  /// Keys of the table that unknown keys, which are reported, probably mean.
  private let meant: Set<String>
  /// From a key to its entry, for O(1) look-ups.
  private let positions: [String: Int]

  /// Returns nil, and reports a finding, if the node is no mapping. `name` replaces the table's
  /// name in messages.
  /// - Parameter table: The keys that are allowed here. Of an open table all keys are kept.
  init?(_ node: ManifestNode, _ table: KeyTable, name: String? = nil, _ findings: Findings) {
    let name = name ?? table.name
    guard case .mapping(let all) = node.value else {
      findings.error("\(name) must be a mapping, not \(node.kind)", node.place)
      return nil
    }
    var kept: [ManifestNode.Entry] = []
    var positions: [String: Int] = [:]
    var meant: Set<String> = []
    for entry in all {
      // Keys with `x-` are free at the root, for anchors that operations use.
      if table == ManifestKeys.graph, entry.key.hasPrefix("x-") { continue }
      if table.isOpen || table.keys.contains(entry.key) {
        positions[entry.key] = kept.count
        kept.append(entry)
      } else {
        findings.error(
          "unknown key '\(entry.key)' in \(name)", entry.place,
          hint: ManifestKeys.hint(for: entry.key, in: table))
        if let near = NearNames.nearest(to: entry.key, among: table.keys) { meant.insert(near) }
      }
    }
    self.table = table
    self.place = node.place
    self.findings = findings
    self.entries = kept
    self.meant = meant
    self.positions = positions
  }

  /// Whether an unknown key, which is reported, probably means this one.
  func probablyMeans(_ key: String) -> Bool { meant.contains(key) }

  /// Stops the program for a key that the table lacks: that is a mistake of a decoder, and never of
  /// a manifest.
  subscript(key: String) -> ManifestNode.Entry? {
    precondition(table.keys.contains(key), "the key '\(key)' is in no table")
    return positions[key].map { entries[$0] }
  }
  func node(_ key: String) -> ManifestNode? { self[key]?.value }

  /// Entries with keys that the user chose; for open tables.
  /// In the order of the text.
  var chosen: [ManifestNode.Entry] { entries.filter { !table.keys.contains($0.key) } }

  /// Refuses a key of the schema that this version does not support.
  /// Nothing is decoded then; the value may have any form.
  func refuse(_ key: String, hint: String = "") {
    if let entry = self[key] {
      findings.error("'\(key)' is not supported yet", entry.place, hint: hint)
    }
  }
  /// Warns of an unsupported key that does not change the result.
  func passOver(_ key: String, _ meaning: String) {
    if let entry = self[key] {
      findings.warning("'\(key)' is not supported yet: \(meaning)", entry.place)
    }
  }

  // Readings by key; the key in quotes is what findings call the value.
  func text(_ key: String) -> String? {
    node(key).flatMap { findings.text($0, "'\(key)'") }
  }
  func bool(_ key: String) -> Bool? { node(key).flatMap { findings.bool($0, "'\(key)'") } }
  func integer(_ key: String, _ range: ClosedRange<Int>) -> Int? {
    node(key).flatMap { findings.integer($0, "'\(key)'", range) }
  }
  func duration(_ key: String) -> Span? {
    node(key).flatMap { findings.duration($0, "'\(key)'") }
  }
  func bytes(_ key: String) -> Int64? { node(key).flatMap { findings.bytes($0, "'\(key)'") } }
  func signal(_ key: String) -> Int32? { node(key).flatMap { findings.signal($0, "'\(key)'") } }
  func name(_ key: String) -> String? { node(key).flatMap { findings.name($0, "'\(key)'") } }
  func choice<Value>(_ key: String, _ values: [(String, Value)]) -> Value? {
    node(key).flatMap { findings.choice($0, "'\(key)'", values) }
  }
  /// Returns the items of a list; nil after a finding.
  func list(_ key: String) -> [ManifestNode]? {
    node(key).flatMap { findings.list($0, "'\(key)'") }
  }
}

// Typed values.
// Readings of a node, which also serve for items of lists. Every one fills in parameters first.
extension Findings {
  func list(_ node: ManifestNode, _ what: String) -> [ManifestNode]? {
    guard case .sequence(let items) = node.value else {
      error("\(what) must be a list, not \(node.kind)", node.place)
      return nil
    }
    return items
  }

  /// Accepts `true` and `false` only: `yes` and `no` are texts.
  func bool(_ node: ManifestNode, _ what: String) -> Bool? {
    guard case .scalar = node.value, !node.isNull else {
      error("\(what) must be true or false, not \(node.kind)", node.place)
      return nil
    }
    guard let text = text(node, what) else { return nil }
    if mayBeTyped(node), text == "true" || text == "false" { return text == "true" }
    error("\(what) must be true or false, not \(node.kind)", node.place)
    return nil
  }

  /// The bounds are told in the finding; the largest numbers of a type are told as no bound.
  func integer(_ node: ManifestNode, _ what: String, _ range: ClosedRange<Int>) -> Int? {
    guard let text = number(node, what) else { return nil }
    if let value = Int(text), range.contains(value) { return value }
    // Bounds that only say how wide the type is would confuse.
    let most = range.upperBound == Int(UInt32.max) || range.upperBound == Int.max
    let bounds = most ? "from \(range.lowerBound) on" : "\(range.lowerBound) to \(range.upperBound)"
    error("\(what) must be a whole number, \(bounds), not \(node.kind)", node.place)
    return nil
  }

  /// Reads an amount: a number from 0 on with at most four decimals.
  /// Amounts are exact in ten-thousandths, so more decimals would be cut.
  func amount(_ node: ManifestNode, _ what: String) -> ResourceAmount? {
    guard let text = number(node, what) else { return nil }
    if let amount = Quantities.amount(text) { return amount }
    error(
      "\(what) must be a number from 0 on with at most four decimals, not \(text)", node.place)
    return nil
  }

  /// Returns the text of a number.
  /// Quoted numbers are texts, and refused: quotes say that a text is meant.
  func number(_ node: ManifestNode, _ what: String) -> String? {
    guard case .scalar = node.value, !node.isNull else {
      error("\(what) must be a number, not \(node.kind)", node.place)
      return nil
    }
    guard let text = text(node, what) else { return nil }
    if mayBeTyped(node), ManifestNode.isNumber(text) { return text }
    error("\(what) must be a number, not '\(text)'", node.place)
    return nil
  }

  /// A number without a unit could be seconds or minutes, so it needs one. At most a hundred years.
  func duration(_ node: ManifestNode, _ what: String) -> Span? {
    guard let text = text(node, what, of: "a duration like 90s or 1h30m") else { return nil }
    if let span = Quantities.duration(text) { return span }
    let hint = ManifestNode.isNumber(text) ? "did you mean '\(text)s'?" : "like 90s, 15m, 1h30m, 2d"
    error("\(what) must be a duration, not '\(text)'", node.place, hint: hint)
    return nil
  }

  /// Reads a delay or a time (S150).
  /// A delay starts when the submission is accepted; a time is by the coordinator's clock.
  func moment(_ node: ManifestNode, _ what: String) -> NotBefore? {
    guard let text = text(node, what, of: "a delay or a time") else { return nil }
    if let span = Quantities.duration(text) {
      if span <= Limits.longestDelay { return .after(span) }
      error("\(what) is at most ten years away", node.place)
      return nil
    }
    if let time = CalendarTime.wallTime(text) { return .at(time) }
    error(
      "\(what) must be a delay or a time, not '\(text)'", node.place,
      hint: "like 90s, 1h30m, 2026-11-21T18:00:00Z or 2026-11-21T18:00:00+01:00")
    return nil
  }

  /// A plain number is bytes. `512M` could be either of two units, and is answered with a question.
  func bytes(_ node: ManifestNode, _ what: String) -> Int64? {
    guard let text = text(node, what, of: "a size like 512MiB or 4GB") else { return nil }
    if let bytes = Quantities.bytes(text) { return bytes }
    let near =
      Quantities.bytes(text + "iB") == nil ? "like 512MiB or 4GB" : "did you mean '\(text)iB'?"
    error("\(what) must be a size, not '\(text)'", node.place, hint: near)
    return nil
  }

  /// Names as `kill -l` has them, with or without `SIG`.
  func signal(_ node: ManifestNode, _ what: String) -> Int32? {
    guard let text = text(node, what) else { return nil }
    if let number = Quantities.signal(text) { return number }
    let bare = text.after("SIG") ?? text
    error(
      "\(what) must be a signal, not '\(text)'", node.place,
      hint: NearNames.hint(for: bare, among: Quantities.signals.keys.sorted()))
    return nil
  }

  /// For names that the user chose: operations, queues, outputs.
  func name(_ node: ManifestNode, _ what: String) -> String? {
    guard let text = text(node, what) else { return nil }
    if Names.isName(text) { return text }
    error("\(what) must be a name, not '\(text)'", node.place, hint: Self.nameHint)
    return nil
  }
  static let nameHint = "a letter or '_', then letters, digits, '_', '.', '-'; at most 128"

  /// Words are compared exactly; the nearest one is the hint, or the list of all.
  func choice<Value>(
    _ node: ManifestNode, _ what: String, _ values: [(String, Value)]
  ) -> Value? {
    guard let text = text(node, what) else { return nil }
    if let found = values.first(where: { $0.0 == text }) { return found.1 }
    let all = values.map { $0.0 }
    let near = NearNames.hint(for: text, among: all)
    let list = "one of " + all.joined(separator: ", ")
    error("\(what) cannot be '\(text)'", node.place, hint: near.isEmpty ? list : near)
    return nil
  }
}
