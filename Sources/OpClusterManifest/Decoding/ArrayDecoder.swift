// Decodes `array`: numbers, or items from the manifest, a file, or file names. Called by the
// operation decoder.

import OpClusterModel

struct ArrayDecoder {
  let findings: Findings

  /// Returns the elements (nil after a finding) and the maximum that may run at once (0: no limit).
  func decode(_ node: ManifestNode) -> DecodedElements {
    guard case .mapping = node.value else {
      return DecodedElements(columns: range(node, "'array'"))
    }
    guard let fields = Fields(node, ManifestKeys.array, findings) else { return DecodedElements() }
    let parallel = fields.integer("max_parallel", 1...Int(UInt32.max)) ?? 0
    let failures = fields.failureBound()
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

  private func items(_ node: ManifestNode, _ what: String) -> ElementColumns? {
    guard let nodes = findings.list(node, what) else { return nil }
    var values: [String] = []
    for node in nodes {
      guard let text = findings.text(node, "an item") else { return nil }
      values.append(text)
    }
    return columns(values, node)
  }

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
  private func lines(_ node: ManifestNode) -> ElementColumns? {
    guard let text = fileText(node, "'lines'") else { return nil }
    let lines = text.utf8.split(separator: 0x0A).compactMap { line -> String? in
      let line = line.last == 0x0D ? line.dropLast() : line
      return line.isEmpty ? nil : String(Substring(line))
    }
    return columns(lines, node)
  }

  private func glob(_ node: ManifestNode) -> ElementColumns? {
    guard let pattern = findings.text(node, "'glob'") else { return nil }
    let glob = Glob(
      files: findings.surroundings.files, maximumMatches: Limits.operationsPerGraph)
    guard let paths = glob.paths(pattern, in: findings.surroundings.baseFolder) else {
      findings.error(ElementColumns.tooMany, node.place)
      return nil
    }
    if paths.isEmpty { findings.warning("no file matches '\(pattern)'", node.place) }
    return columns(paths, node)
  }

  /// Reads a file with a JSON list of strings, numbers or booleans.
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
        findings.error("item \(values.count + 1) of the file is \(item.kind)", node.place)
        return nil
      }
      values.append(value)
    }
    return columns(values, node)
  }

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
