// Decodes `array`: numbers, or items from the manifest, a file, or file names. Called by the
// operation decoder.
// Files are read now, at the submitter's machine: later changes of them do not change the graph.

import OpClusterModel

/// Five sources become one form: columns of texts, or runs of numbers.
struct ArrayDecoder {
  let findings: Findings

  /// Returns the elements (nil after a finding) and the maximum that may run at once (0: no limit).
  func decode(_ node: ManifestNode) -> DecodedElements {
    // Short form: `array: 1-100`.
    guard case .mapping = node.value else {
      return DecodedElements(columns: range(node, "'array'"))
    }
    guard let fields = Fields(node, ManifestKeys.array, findings) else { return DecodedElements() }
    let parallel = fields.integer("max_parallel", 1...Int(UInt32.max)) ?? 0
    let failures = fields.failureBound()
    // Refused, and yet counted among the sources, so that it is not reported as a missing source
    // too.
    fields.refuse("csv", hint: "'lines' gives a line at a time")
    let sources = ["range", "items", "lines", "glob", "json", "csv"].filter { fields[$0] != nil }
    guard sources.count == 1 else {
      findings.error(
        sources.isEmpty ? "'array' has no elements" : "'array' has more than one source",
        node.place, hint: "one of range, items, lines, glob, json")
      return DecodedElements()
    }
    return DecodedElements(
      columns: columns(fields, sources[0]), parallel: UInt32(parallel), failures: failures)
  }

  /// The caller has chosen one of the sources, so the last case is unreachable but for `csv`, which
  /// was refused.
  private func columns(_ fields: Fields, _ source: String) -> ElementColumns? {
    guard let node = fields.node(source) else { return nil }
    switch source {
    case "range": return range(node, "'range'")
    case "items": return items(node, "'items'")
    case "lines": return lines(node)
    case "glob": return glob(node)
    case "json": return json(node)
    default: return nil
    }
  }

  /// Numbers need no argument per element: a million of them cost a few bytes.
  private func range(_ node: ManifestNode, _ what: String) -> ElementColumns? {
    guard let text = findings.text(node, what) else { return nil }
    switch RangeText.parse(text, maximum: Limits.operationsPerGraph) {
    case .success(let runs):
      return ElementColumns(runs: runs)
    case .failure(.malformed):
      findings.error("'\(text)' is not a range", node.place, hint: "like 1-100, 0-9:2, 1-3,7")
    case .failure(.tooMany):
      findings.error(ElementColumns.tooMany, node.place)
    case .failure(.repeated(let number)):
      findings.error("the range has \(number) twice", node.place)
    }
    return nil
  }

  /// Stops at the first item that is no text: each further one would be the same mistake.
  private func items(_ node: ManifestNode, _ what: String) -> ElementColumns? {
    guard let nodes = findings.list(node, what) else { return nil }
    var values: [String] = []
    for node in nodes {
      guard let text = findings.text(node, "an item") else { return nil }
      values.append(text)
    }
    return columns(values, node)
  }

  /// Appends one element each; stops at the first that is too large, or too many.
  private func columns(_ values: some Sequence<String>, _ node: ManifestNode) -> ElementColumns? {
    var columns = ElementColumns(keys: ["item"], isMatrix: false)
    for value in values {
      if let problem = columns.append([value]) {
        findings.error(problem, node.place)
        return nil
      }
    }
    return columns
  }

  /// Reads one element per line. Skips empty lines; accepts CR LF line ends.
  /// Bytes are split, not characters: in Swift's eyes CR LF is one character.
  private func lines(_ node: ManifestNode) -> ElementColumns? {
    guard let text = fileText(node, "'lines'") else { return nil }
    let lines = text.utf8.split(separator: 0x0A).compactMap { line -> String? in
      let line = line.last == 0x0D ? line.dropLast() : line
      return line.isEmpty ? nil : String(Substring(line))
    }
    return columns(lines, node)
  }

  /// Relative names stay relative in the items; the command sees them as they match.
  private func glob(_ node: ManifestNode) -> ElementColumns? {
    guard let pattern = findings.text(node, "'glob'") else { return nil }
    let glob = Glob(
      files: findings.surroundings.files, maximumMatches: Limits.operationsPerGraph)
    guard let paths = glob.paths(pattern, in: findings.surroundings.baseFolder) else {
      findings.error(ElementColumns.tooMany, node.place)
      return nil
    }
    // No match is no error: the array has no elements then.
    if paths.isEmpty { findings.warning("no file matches '\(pattern)'", node.place) }
    return columns(paths, node)
  }

  /// Reads a file with a JSON list of strings, numbers or booleans.
  /// JSON is read as YAML, of which it is a subset, with the same limits. Numbers and booleans
  /// become the texts that they were written as.
  private func json(_ node: ManifestNode) -> ElementColumns? {
    guard let text = fileText(node, "'json'") else { return nil }
    let (root, problems) = YAMLReader.read(text)
    guard problems.isEmpty, case .sequence(let items)? = root?.value else {
      let reason = problems.first.map { ": \($0.message) (line \($0.line))" } ?? ""
      findings.error("the file holds no JSON list\(reason)", node.place)
      return nil
    }
    var values: [String] = []
    for item in items {
      guard case .scalar(let value, _) = item.value, !item.isNull else {
        // Counted from 1, as people count items.
        findings.error("item \(values.count + 1) of the file is \(item.kind)", node.place)
        return nil
      }
      values.append(value)
    }
    return columns(values, node)
  }

  /// A finding about the file stands at the place that names it.
  private func fileText(_ node: ManifestNode, _ what: String) -> String? {
    guard let path = findings.text(node, what) else { return nil }
    switch findings.file(path) {
    case .success(let text): return text
    case .failure(let unreadable):
      findings.error("cannot read '\(path)': \(unreadable.reason)", node.place)
      return nil
    }
  }
}
