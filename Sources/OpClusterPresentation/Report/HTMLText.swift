// The text of an HTML document. What comes from elsewhere is escaped, and made safe before: a name
// of an operation never becomes markup.

struct HTMLText {
  typealias Attribute = (name: StaticString, value: String)

  private(set) var text = ""

  /// `<tag attributes>`, what `body` writes, `</tag>`. Attributes are escaped.
  mutating func element(
    _ tag: StaticString, _ attributes: [Attribute] = [], _ body: (inout HTMLText) -> Void
  ) {
    begin(tag, attributes)
    body(&self)
    text += "</\(tag)>"
  }

  private mutating func begin(
    _ tag: StaticString, _ attributes: [Attribute], end: String = ">"
  ) {
    text += "<\(tag)"
    for attribute in attributes {
      text += " \(attribute.name)=\"\(xmlEscaped(safe(attribute.value)))\""
    }
    text += end
  }

  /// An element that has only text.
  mutating func element(_ tag: StaticString, _ attributes: [Attribute], _ words: String) {
    element(tag, attributes) { $0.words(words) }
  }

  mutating func element(_ tag: StaticString, _ words: String) {
    element(tag) { $0.words(words) }
  }

  mutating func words(_ words: String) { text += xmlEscaped(safe(words)) }

  /// Has no end tag in HTML.
  mutating func meta(_ attributes: [Attribute]) {
    begin("meta", attributes, end: "/>")
  }

  /// Neither has one of these.
  mutating func link(_ attributes: [Attribute]) { begin("link", attributes, end: "/>") }
  mutating func input(_ attributes: [Attribute]) { begin("input", attributes, end: "/>") }

  /// An element without content.
  mutating func empty(_ tag: StaticString, _ attributes: [Attribute]) {
    element(tag, attributes) { _ in }
  }

  /// Several lines, for `pre`.
  mutating func lines(_ lines: [String]) {
    text += lines.map { xmlEscaped(safe($0)) }.joined(separator: "\n")
  }

  /// Markup that was made here, of which nothing comes from elsewhere unescaped.
  mutating func markup(_ markup: String) { text += markup }

  /// A table whose first row is a head, and whose columns but the first are numbers where `numeric`
  /// says so.
  mutating func table(_ head: [String], numeric: Set<Int> = [], _ rows: [[String]]) {
    func attributes(_ column: Int) -> [Attribute] {
      numeric.contains(column) ? [("class", "number")] : []
    }
    element("table") { html in
      html.element("thead") { html in
        html.element("tr") { html in
          for (column, title) in head.enumerated() {
            html.element("th", attributes(column) + [("scope", "col")], title)
          }
        }
      }
      html.element("tbody") { html in
        for row in rows {
          html.element("tr") { html in
            for (column, cell) in row.enumerated() { html.element("td", attributes(column), cell) }
          }
        }
      }
    }
  }
}
