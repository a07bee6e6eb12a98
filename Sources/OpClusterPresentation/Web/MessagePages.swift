// Pages without a place in the navigation: what is not there, and the question for the token.

/// A page that says one thing.
public func messagePage(_ words: String) -> String {
  plainPage("OpCluster") { html in
    html.element("h1", "OpCluster")
    html.element("p", words)
    html.element("p") { $0.element("a", [("href", "/")], "To the overview") }
  }
}

/// A document that leads to a link.
public func leadingPage(to link: String) -> String {
  var html = HTMLText()
  html.markup("<!DOCTYPE html>\n")
  html.meta([("http-equiv", "refresh"), ("content", "0;url=\(link)")])
  html.element("a", [("href", link)], "OpCluster")
  return html.text
}

/// Asks for the token of the link.
public func tokenPage(isWrong: Bool) -> String {
  plainPage("OpCluster") { html in
    html.element("h1", "OpCluster")
    if isWrong { html.element("p", [("class", "offline")], "This token is not the right one.") }
    html.element(
      "p", "Open the link that 'opbatch page' or 'opweb' has printed, or paste its token here.")
    html.element("form", [("method", "post"), ("action", "/login")]) { html in
      html.element("label") { html in
        html.words("Token ")
        html.input(
          [("type", "password"), ("name", "token"), ("autocomplete", "off"), ("required", "")])
      }
      html.element("button", [("type", "submit")], "Look")
    }
  }
}

private func plainPage(_ title: String, _ body: @escaping (inout HTMLText) -> Void) -> String {
  var html = HTMLText()
  html.markup("<!DOCTYPE html>\n")
  html.element("html", [("lang", "en")]) { html in
    html.element("head") { html in
      html.meta([("charset", "utf-8")])
      html.meta([("name", "viewport"), ("content", "width=device-width")])
      html.element("title", title)
      html.link([("rel", "stylesheet"), ("href", "/style.css")])
    }
    html.element("body") { html in html.element("main", [], body) }
  }
  html.markup("\n")
  return html.text
}
