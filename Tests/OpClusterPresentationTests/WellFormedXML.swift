// Checks that a text is well-formed XML as far as our pictures go: every tag closed in order,
// attributes quoted and unique, no stray < & or control characters.

enum WellFormedXML {
  /// nil when all is well, else what is wrong.
  static func problem(_ document: String) -> String? {
    var rest = document[...]
    if rest.hasPrefix("<?xml"), let end = rest.range(of: "?>") { rest = rest[end.upperBound...] }
    var open: [String] = []
    var roots = 0
    while let next = rest.firstIndex(where: { $0 == "<" || $0 == "&" || $0 == "\u{1b}" }) {
      if rest[..<next].contains(">") { return "a stray >" }
      if rest[next] == "\u{1b}" { return "a control character" }
      if rest[next] == "&" {
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;"]
        guard let entity = entities.first(where: { rest[next...].hasPrefix($0) }) else {
          return "a stray &"
        }
        rest = rest[rest.index(next, offsetBy: entity.count)...]
        continue
      }
      guard let end = rest[next...].firstIndex(of: ">") else { return "a tag without end" }
      let tag = rest[rest.index(after: next)..<end]
      rest = rest[rest.index(after: end)...]
      if tag.hasPrefix("/") {
        guard open.popLast() == String(tag.dropFirst()) else { return "</\(tag) closes another" }
        continue
      }
      let name = String(tag.prefix { $0.isLetter || $0.isNumber })
      if let wrong = attributes(tag.dropFirst(name.count)) { return "<\(name)>: \(wrong)" }
      if open.isEmpty { roots += 1 }
      if !tag.hasSuffix("/") { open.append(name) }
    }
    if !open.isEmpty { return "\(open) not closed" }
    return roots == 1 ? nil : "\(roots) roots"
  }

  private static func attributes(_ text: Substring) -> String? {
    var rest = text.hasSuffix("/") ? text.dropLast() : text
    var names: Set<String> = []
    while let first = rest.firstIndex(where: { $0 != " " }) {
      rest = rest[first...]
      guard let equals = rest.firstIndex(of: "=") else { return "no = in '\(rest)'" }
      let name = String(rest[..<equals])
      guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0 == "-" || $0.isNumber }),
        names.insert(name).inserted
      else { return "attribute '\(name)'" }
      rest = rest[rest.index(after: equals)...]
      guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else {
        return "'\(name)' is not quoted"
      }
      rest = rest[rest.index(after: end)...]
    }
    return nil
  }
}

extension Substring {
  fileprivate func range(of text: String) -> Range<Index>? {
    var at = startIndex
    while at < endIndex {
      if self[at...].hasPrefix(text) { return at..<index(at, offsetBy: text.count) }
      at = index(after: at)
    }
    return nil
  }
}
