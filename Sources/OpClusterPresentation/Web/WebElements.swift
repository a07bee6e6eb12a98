// Elements that several pages have: forms, bars, pairs, links. What comes from elsewhere is escaped
// by `HTMLText`.

import OpClusterModel

extension HTMLText {
  /// A button that changes something, as a form of its own.
  /// - Parameter fields: Hidden.
  mutating func action(
    _ address: String, _ words: String, _ fields: [(name: String, value: String)] = [],
    kind: String = "", _ frame: WebFrame, _ more: (inout HTMLText) -> Void = { _ in }
  ) {
    element("form", [("method", "post"), ("action", address)]) { html in
      html.hidden("form-token", frame.formToken)
      for field in fields { html.hidden(field.name, field.value) }
      more(&html)
      html.element("button", [("type", "submit"), ("class", kind)], words)
    }
  }

  /// A button behind a question.
  mutating func question(
    _ words: String, id: String, _ explanation: String, _ body: (inout HTMLText) -> Void
  ) {
    element("details", [("class", "question"), ("id", id)]) { html in
      html.element("summary", [("class", "button")], words)
      html.element("div") { html in
        html.element("p", explanation)
        body(&html)
      }
    }
  }

  mutating func hidden(_ name: String, _ value: String) {
    input([("type", "hidden"), ("name", name), ("value", value)])
  }

  /// How much of something is in which state, as a bar with words for those who do not see it.
  mutating func bar(_ counts: [(count: UInt32, kind: String)], of total: UInt32) {
    let words = counts.filter { $0.count > 0 }.map { "\(shownCount($0.count)) \($0.kind)" }
    element(
      "svg",
      [
        ("class", "bar"), ("viewBox", "0 0 100 8"), ("preserveAspectRatio", "none"),
        ("role", "img"),
        ("aria-label", words.isEmpty ? "nothing yet" : words.joined(separator: ", ")),
      ]
    ) { html in
      var left = 0.0
      for part in counts where part.count > 0 && total > 0 {
        let width = Double(part.count) / Double(total) * 100
        html.empty(
          "rect",
          [
            ("class", part.kind), ("x", "\((left * 100).rounded() / 100)"), ("y", "0"),
            ("width", "\((width * 100).rounded() / 100)"), ("height", "8"),
          ])
        left += width
      }
    }
  }

  /// Pairs of a name and a value; those without a value are left out.
  mutating func pairs(_ pairs: [(name: String, value: String?)]) {
    element("dl") { html in
      for pair in pairs {
        guard let value = pair.value, !value.isEmpty else { continue }
        html.element("dt", pair.name)
        html.element("dd", value)
      }
    }
  }

  /// The word of a state, in its colour.
  mutating func state(_ word: String, _ tone: Tone) {
    let kind =
      switch tone {
      case .good: "good"
      case .bad: "bad"
      case .warning: "warning"
      case .active: "other"
      case .plain, .faint, .strong: "plain"
      }
    element("span", [("class", "state \(kind)")], word)
  }
}

extension HTMLText {
  /// A list of which one is chosen.
  mutating func choice(_ name: String, _ options: [(value: String, words: String)], _ now: String) {
    element("select", [("name", name)]) { html in
      for option in options {
        html.element(
          "option",
          [("value", option.value)] + (option.value == now ? [("selected", "")] : []),
          option.words)
      }
    }
  }
}

extension HTMLText {
  /// How much of something is in use.
  mutating func use(_ share: Double, _ words: String) {
    element(
      "svg",
      [
        ("class", "bar"), ("viewBox", "0 0 100 8"), ("preserveAspectRatio", "none"),
        ("role", "img"), ("aria-label", words),
      ]
    ) { html in
      html.empty(
        "rect",
        [
          ("class", share > 1 ? "failed" : "running"), ("x", "0"), ("y", "0"),
          ("width", plotNumber(min(1, max(0, share)) * 100)), ("height", "8"),
        ])
    }
  }
}

/// `1,234`, `0.3`.
func shownRate(_ rate: Double) -> String {
  rate >= 10 || rate == 0 ? shownCount(Int64(saturating: rate.rounded())) : plotNumber(rate)
}

func ago(_ time: WallTime, _ now: WallTime) -> String {
  guard time != .unknown else { return "" }
  return shownDuration(milliseconds: max(0, (now - time).wholeMilliseconds)) + " ago"
}

func operationLink(_ row: OperationRow, _ html: inout HTMLText) {
  html.element(
    "a", [("href", "/graphs/\(row.id.graph.number)/operations/\(row.id.index)")],
    OperationPath(row).description)
}

extension HTMLText {
  /// The head of a table.
  mutating func heads(_ titles: [String], numeric: Set<Int> = []) {
    element("thead") { html in
      html.element("tr") { html in
        for (column, title) in titles.enumerated() {
          html.element(
            "th", [("scope", "col"), ("class", numeric.contains(column) ? "number" : "")], title)
        }
      }
    }
  }
}

extension StateCounts {
  /// For a bar.
  var parts: [(count: UInt32, kind: String)] {
    [
      (self[.succeeded], "succeeded"), (failures, "failed"),
      (self[.cancelled].saturatingAdd(self[.skipped]), "cancelled"),
      (self[.executing].saturatingAdd(self[.stopping]), "running"),
    ]
  }
}

/// For the query of an address.
func percentEncoded(_ text: String) -> String {
  text.utf8.reduce(into: "") { result, byte in
    let isPlain =
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."), UInt8(ascii: "/"):
        true
      default: false
      }
    if isPlain {
      result.unicodeScalars.append(Unicode.Scalar(byte))
    } else {
      let digits = String(byte, radix: 16, uppercase: true)
      result += "%" + (digits.count == 1 ? "0" : "") + digits
    }
  }
}
