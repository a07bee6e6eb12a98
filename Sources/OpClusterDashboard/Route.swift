// What an address of the dashboard means. Pure.

import OpClusterHTTP
import OpClusterModel
import OpClusterPresentation

/// A page, or a part of one.
enum Route: Equatable, Sendable {
  case overview
  case graphs(GraphListing)
  case graph(GraphID, ElementStates.Filter)
  case operation(GraphID, index: UInt32)
  case workers
  case queues
  /// Rows of a graph's list, from a position on.
  case rows(GraphID, ElementStates.Filter, from: Int)
  /// The changes of a page.
  indirect case live(Route)
  case asset(Asset)
  case act(Action)

  enum Asset: String, CaseIterable, Sendable {
    case style = "/style.css"
    case script = "/live.js"
    case icon = "/icon.svg"
  }

  enum Action: String, CaseIterable, Sendable {
    case cancel = "/act/cancel"
    case suspend = "/act/suspend"
    case priority = "/act/priority"
    case retry = "/act/retry"
    case suspendQueue = "/act/suspend-queue"
    case queueLimit = "/act/queue-limit"
  }

  /// nil: there is nothing at this address.
  init?(path: String, query: (String) -> String?) {
    if let asset = Asset(rawValue: path) {
      self = .asset(asset)
      return
    }
    if let action = Action(rawValue: path) {
      self = .act(action)
      return
    }
    let parts = path.split(separator: "/").map(String.init)
    let filter = ElementStates.Filter(state: query("state") ?? "", name: query("name") ?? "")
    switch parts.count {
    case 0: self = .overview
    case 1 where parts[0] == "graphs":
      self = .graphs(
        GraphListing(
          search: query("search") ?? "", state: query("state") ?? "", order: query("order") ?? ""))
    case 1 where parts[0] == "workers": self = .workers
    case 1 where parts[0] == "queues": self = .queues
    case 1 where parts[0] == "live":
      guard let page = query("page"), let route = Route(address: page), route.isPage else {
        return nil
      }
      self = .live(route)
    case 2...4 where parts[0] == "graphs":
      guard let number = UInt32(parts[1]) else { return nil }
      let graph = GraphID(number)
      switch (parts.count, parts.count > 2 ? parts[2] : "") {
      case (2, _): self = .graph(graph, filter)
      case (3, "rows"): self = .rows(graph, filter, from: Int(query("from") ?? "") ?? 0)
      case (4, "operations"):
        guard let index = UInt32(parts[3]) else { return nil }
        self = .operation(graph, index: index)
      default: return nil
      }
    default: return nil
    }
  }

  /// A path with a query, as a link has it.
  init?(address: String) {
    let parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let fields = FormFields(parts.count > 1 ? String(parts[1]) : "")
    self.init(path: String(parts.first ?? ""), query: { fields[$0] })
  }

  /// Whether its changes can be followed.
  private var isPage: Bool {
    switch self {
    case .overview, .graphs, .graph, .operation, .workers, .queues: true
    case .rows, .live, .asset, .act: false
    }
  }
}

/// `name=value&…`, as forms and queries are encoded.
struct FormFields {
  private var fields: [(name: String, value: String)] = []
  private static let mostFields = 64

  init(_ text: String) {
    for pair in text.split(separator: "&").prefix(Self.mostFields) {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      fields.append((Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : ""))
    }
  }

  subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  /// What is no valid code stays as it is; what is no UTF-8 is replaced.
  static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "+") {
        bytes.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%"), rest.count >= 2,
        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
