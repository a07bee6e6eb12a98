// Somebody who looks at the dashboard without a browser: keeps the cookie, sends forms, follows
// streams.

import RealCluster
import Testing

final class Browser {
  let program: ChildProgram
  let port: UInt16
  private let link: String
  private(set) var cookie = ""

  /// Waits until the dashboard serves, and opens its link.
  init(_ program: ChildProgram) async throws {
    self.program = program
    link = try await eventually("opweb serves", details: { program.error }) {
      program.output.split(separator: " ").last { $0.hasPrefix("http://") }.map {
        $0.split(separator: "\n").first.map(String.init) ?? ""
      }
    }
    let address = link.dropFirst("http://127.0.0.1:".count)
    port = try #require(UInt16(address.prefix { $0 != "/" }))
    let answer = try get("/?\(token)")
    #expect(answer.hasPrefix("HTTP/1.1 303"), "\(answer)")
    let line = answer.split(separator: "\r\n").first { $0.hasPrefix("Set-Cookie: ") }
    cookie = String(try #require(line).dropFirst("Set-Cookie: ".count).prefix { $0 != ";" })
  }

  var token: String { String(link.split(separator: "?").last ?? "") }

  private var headers: String { "Cookie: \(cookie)\r\n" }

  func get(_ path: String) throws -> String {
    try PlainHTTP.send(
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\(headers)\r\n",
      to: port)
  }

  /// Sends a form; with the token of the page that has it.
  func post(_ path: String, _ form: String, more: String = "") throws -> String {
    try PlainHTTP.send(
      "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\(headers)\(more)"
        + "Content-Type: application/x-www-form-urlencoded\r\n"
        + "Content-Length: \(form.utf8.count)\r\n\r\n\(form)", to: port)
  }

  /// The token of a page's forms.
  func formToken(of page: String) throws -> String {
    let parts = page.components(behind: "name=\"form-token\" value=\"")
    return String(try #require(parts).prefix { $0 != "\"" })
  }

  func follow(_ page: String) throws -> OpenHTTP {
    try OpenHTTP(
      "GET /live?page=\(page) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(headers)\r\n", to: port)
  }
}

extension String {
  /// What follows the first of these words; nil: they are not there.
  fileprivate func components(behind words: String) -> Substring? {
    guard let range = firstRange(of: words) else { return nil }
    return self[range.upperBound...]
  }
}
