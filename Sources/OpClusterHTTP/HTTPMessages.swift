// What is asked over HTTP and what is answered, as values.

/// A request. Its size is bounded by the server: 32 KiB of head, `HTTPServer.Settings.bodyBytes` of
/// body.
public struct HTTPRequest: Sendable {
  public var method: String
  /// Begins with a slash; decoded, without the query.
  public var path: String
  /// Decoded, in the order of the address.
  public var query: [(name: String, value: String)]
  /// Names as they were sent.
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]

  public init(
    method: String = "GET", path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  /// The first header of this name, whatever its case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The first value of this name in the query.
  public func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

public struct HTTPResponse: Sendable {
  public enum Body: Sendable {
    case bytes([UInt8])
    /// Sent as it comes, until it ends.
    case stream(HTTPStream)
  }

  public var status: Int
  public var headers: [(name: String, value: String)]
  public var body: Body

  public init(_ status: Int, headers: [(name: String, value: String)], _ body: Body) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
