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
      html.element("head") { writeHead(&$0) }
      html.markup("\n")
      var attributes: [HTMLText.Attribute] = []
      if let live { attributes = [("data-live", live)] }
      html.element("body", attributes) { html in writeBody(frame, note, &html) }
    }
    html.markup("\n")
    return html.text
  }

  private func writeHead(_ html: inout HTMLText) {
    html.meta([("charset", "utf-8")])
    html.meta([("name", "viewport"), ("content", "width=device-width")])
    html.element("title", "\(title) · OpCluster")
    html.link([("rel", "stylesheet"), ("href", "/style.css")])
    html.link([("rel", "icon"), ("type", "image/svg+xml"), ("href", "/icon.svg")])
    html.empty("script", [("src", "/live.js"), ("defer", "")])
  }

  private func writeBody(_ frame: WebFrame, _ note: String?, _ html: inout HTMLText) {
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
