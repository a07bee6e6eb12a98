// A page for a browser: a frame, and panels that are sent again when they change. Everything works
// without scripts too; then a page is as old as its loading.

/// A part of a page that is sent again alone.
public struct WebPanel: Sendable, Equatable {
  /// Letters and hyphens; unique on its page.
  public var name: String
  public var html: String

  init(_ name: String, _ body: (inout HTMLText) -> Void) {
    self.name = name
    var text = HTMLText()
    body(&text)
    html = text.text
  }
}

/// What all pages of one viewer have in common.
public struct WebFrame: Sendable {
  /// The address of the coordinator.
  public var cluster: String
  /// Whether forms are shown that change something.
  public var mayAct: Bool
  /// Proves that a form comes from a page of ours.
  public var formToken: String

  public init(cluster: String, mayAct: Bool, formToken: String) {
    self.cluster = cluster
    self.mayAct = mayAct
    self.formToken = formToken
  }
}

/// A page with the panels that it has now.
public struct WebPage: Sendable {
  public var title: String
  /// The entry of the navigation that it belongs to.
  var place: Place
  public var panels: [WebPanel]
  /// What does not change while the page is open; behind a panel.
  var inserted: (panel: String, html: String)?
  /// The same behind all panels.
  var rest: String = ""
  /// The address of its changes; nil: there are none.
  public var live: String?

  enum Place: String, CaseIterable {
    case overview = "Overview"
    case graphs = "Graphs"
    case workers = "Workers"
    case queues = "Queues"

    var address: String { self == .overview ? "/" : "/\(rawValue.lowercased())" }
  }

  /// The document.
  /// - Parameter note: What was done just now, or why not.
  public func html(_ frame: WebFrame, note: String? = nil) -> String {
    var html = HTMLText()
    html.markup("<!DOCTYPE html>\n")
    html.element("html", [("lang", "en")]) { html in
      html.element("head") { head(&$0) }
      html.markup("\n")
      var attributes: [HTMLText.Attribute] = []
      if let live { attributes = [("data-live", live)] }
      html.element("body", attributes) { html in body(frame, note, &html) }
    }
    html.markup("\n")
    return html.text
  }

  private func head(_ html: inout HTMLText) {
    html.meta([("charset", "utf-8")])
    html.meta([("name", "viewport"), ("content", "width=device-width")])
    html.element("title", "\(title) · OpCluster")
    html.link([("rel", "stylesheet"), ("href", "/style.css")])
    html.link([("rel", "icon"), ("type", "image/svg+xml"), ("href", "/icon.svg")])
    html.empty("script", [("src", "/live.js"), ("defer", "")])
  }

  private func body(_ frame: WebFrame, _ note: String?, _ html: inout HTMLText) {
    html.element("a", [("class", "skip"), ("href", "#content")], "To the content")
    html.element("header") { html in
      html.element("nav", [("aria-label", "Pages")]) { html in
        for place in Place.allCases {
          let current: [HTMLText.Attribute] =
            place == self.place ? [("aria-current", "page")] : []
          html.element("a", [("href", place.address)] + current, place.rawValue)
        }
      }
      html.element("p", [("class", "faint"), ("id", "cluster")]) { html in
        html.words(frame.cluster)
        html.element(
          "span", [("id", "connection"), ("role", "status")], live == nil ? "" : " · not live")
      }
    }
    html.element("main", [("id", "content")]) { html in
      html.element(
        "p", [("id", "note"), ("role", "status"), ("class", note == nil ? "" : "note")], note ?? "")
      for panel in panels {
        html.element("section", [("id", "panel-\(panel.name)"), ("class", "panel")]) { html in
          html.markup(panel.html)
        }
        if panel.name == inserted?.panel { html.markup(inserted?.html ?? "") }
      }
      html.markup(rest)
    }
  }
}

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
