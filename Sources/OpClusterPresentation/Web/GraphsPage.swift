// The list of graphs: newest first, with a search, states and an order.

public import OpClusterModel

/// What a list of graphs shows.
public struct GraphListing: Hashable, Sendable {
  public enum Order: String, CaseIterable, Sendable {
    case newest, name, failures, size
  }
  /// A part of the name or a label, or a number.
  public var search: String
  /// `active`, the word of a state, or empty for all.
  public var state: String
  public var order: Order

  /// Understands what a form of ours sends; what is not understood is left out.
  public init(search: String, state: String, order: String) {
    self.search = String(search.prefix(Limits.nameBytes))
    self.state = Self.states.contains(state) ? state : ""
    self.order = Order(rawValue: order) ?? .newest
  }

  static let states = ["active"] + GraphRow.State.allCases.map(\.rawValue)

  /// The address of this list.
  public var address: String {
    "/graphs?search=\(percentEncoded(search))&state=\(percentEncoded(state))"
      + "&order=\(order.rawValue)"
  }

  public func shows(_ row: GraphRow) -> Bool {
    switch state {
    case "": break
    case "active": guard GraphOutcome(row.state) == nil else { return false }
    default: guard row.state.rawValue == state else { return false }
    }
    let wanted = search.lowercased()
    return wanted.isEmpty || row.name.lowercased().contains(wanted)
      || "\(row.graph.number)" == wanted
      || row.labels.contains { "\($0.key)=\($0.value)".lowercased().contains(wanted) }
  }

  func sorted(_ rows: [GraphRow]) -> [GraphRow] {
    rows.sorted { one, other in
      let isNewer = one.graph > other.graph
      switch order {
      case .newest: return isNewer
      case .name: return one.name == other.name ? isNewer : one.name < other.name
      case .failures:
        let (left, right) = (one.counts.failures, other.counts.failures)
        return left == right ? isNewer : left > right
      case .size:
        let (left, right) = (one.counts.total, other.counts.total)
        return left == right ? isNewer : left > right
      }
    }
  }
}

public struct GraphsView: Sendable {
  public var listing: GraphListing
  /// Those that the listing shows, in any order.
  public var rows: [GraphRow]
  /// Whether older ones were not looked at.
  public var hasMore: Bool
  public var now: WallTime

  public init(listing: GraphListing, rows: [GraphRow], hasMore: Bool, now: WallTime) {
    self.listing = listing
    self.rows = rows
    self.hasMore = hasMore
    self.now = now
  }

  private static let mostRows = 300

  public var page: WebPage {
    WebPage(
      title: "Graphs", place: .graphs,
      panels: [WebPanel("search", search), WebPanel("list", list)],
      live: "/live?page=" + percentEncoded(listing.address))
  }

  private func search(_ html: inout HTMLText) {
    html.element("h1", "Graphs")
    html.element("form", [("method", "get"), ("action", "/graphs"), ("class", "filter")]) { html in
      html.element("label") { html in
        html.words("Name, number or label ")
        html.input([("type", "search"), ("name", "search"), ("value", listing.search)])
      }
      html.element("label") { html in
        html.words("State ")
        html.choice("state", [("", "any")] + GraphListing.states.map { ($0, $0) }, listing.state)
      }
      html.element("label") { html in
        html.words("Order ")
        html.choice(
          "order", GraphListing.Order.allCases.map { ($0.rawValue, $0.rawValue) },
          listing.order.rawValue)
      }
      html.element("button", [("type", "submit")], "Show")
    }
  }

  private func list(_ html: inout HTMLText) {
    guard !rows.isEmpty else {
      return html.element(
        "p", [("class", "faint")], "No graph is like this; 'any' state shows all.")
    }
    graphTable(listing.sorted(rows).prefix(Self.mostRows), now: now, &html)
    if rows.count > Self.mostRows || hasMore {
      let older = hasMore ? "Older ones are not shown" : "Others are not shown"
      html.element("p", [("class", "faint")], "\(older): search for a name or a number.")
    }
  }
}
