// What addresses mean, and what forms say.

import OpClusterHTTP
import OpClusterModel
import OpClusterPresentation
import Testing

@testable import OpClusterDashboard

@Suite struct RouteTests {
  @Test func addresses() {
    #expect(Route(address: "/") == .overview)
    #expect(Route(address: "/graphs/12") == .graph(GraphID(12), ElementStates.Filter()))
    #expect(
      Route(address: "/graphs/12?state=failed,lost&name=a%2Fb")
        == .graph(GraphID(12), ElementStates.Filter(states: [.failed, .lost], stage: "a/b")))
    #expect(Route(address: "/graphs/12/operations/7") == .operation(GraphID(12), index: 7))
    #expect(
      Route(address: "/graphs/12/rows?from=300")
        == .rows(GraphID(12), ElementStates.Filter(), from: 300))
    #expect(
      Route(address: "/live?page=%2Fgraphs%2F3%3Fstate%3Dfailed")
        == .live(.graph(GraphID(3), ElementStates.Filter(states: [.failed]))))
    #expect(Route(address: "/act/cancel") == .act(.cancel))
  }

  /// Nothing else is at any other address, whoever writes it.
  @Test func otherAddresses() {
    for address in [
      "/x", "/graphs/", "/graphs/x", "/graphs/-1", "/graphs/99999999999", "/graphs/1/rows/2",
      "/graphs/1/operations", "/graphs/1/operations/x", "/graphs/1/operations/1/2",
      "/live", "/live?page=", "/live?page=/live?page=/", "/live?page=/style.css",
      "/live?page=/act/cancel", "/live?page=/graphs/1/rows", "/act/other", "/../etc/passwd",
    ] {
      let route = Route(address: address)
      // An empty last part names the list.
      #expect(route == nil || address == "/graphs/" || address == "/live?page=", "\(address)")
    }
    #expect(
      Route(address: "/graphs/1/rows?from=-5")
        == .rows(
          GraphID(1), ElementStates.Filter(), from: -5))
  }

  @Test func forms() {
    let fields = FormFields("a=1&b=x+y%21&c&=&d=%zz%4&e=%C3%28&a=2")
    #expect(fields["a"] == "1" && fields["b"] == "x y!" && fields["c"] == "")
    #expect(fields["d"] == "%zz%4" && fields["e"] == "\u{FFFD}(" && fields["none"] == nil)
    let many = FormFields((0..<1_000).map { "n\($0)=1" }.joined(separator: "&"))
    #expect(many["n63"] == "1" && many["n64"] == nil)
  }

  @Test func sessions() throws {
    let sessions = Sessions(token: "0123456789abcdef", name: "opweb-1", isSecure: true)
    #expect(sessions.begin("0123456789abcdeg") == nil && sessions.begin("") == nil)
    let cookie = try #require(sessions.begin("0123456789abcdef")).value
    #expect(cookie.contains("HttpOnly") && cookie.contains("Secure"))
    let value = String(cookie.prefix { $0 != ";" })
    func session(_ header: String) -> Sessions.Session? {
      sessions.session(of: HTTPRequest(path: "/", headers: [("Cookie", header)]))?.session
    }
    #expect(session("other=1; \(value)") != nil)
    #expect(session("opweb-1=wrong") == nil && session("opweb-2=x") == nil && session("") == nil)
    let (id, _) = try #require(
      sessions.session(of: HTTPRequest(path: "/", headers: [("Cookie", value)])))
    sessions.leave(note: "done", in: id)
    #expect(sessions.takeNote(of: id) == "done" && sessions.takeNote(of: id) == nil)
    // The oldest makes room.
    for _ in 0..<1_000 { _ = sessions.begin("0123456789abcdef") }
    #expect(session(value) == nil)
  }

  @Test func addressesThatOthersReach() throws {
    let open = try #require(HTTPAddress("*:1"))
    #expect(DashboardSettings(address: open).objection?.contains("certificate") == true)
    #expect(DashboardSettings(address: open, isBehindProxy: true).objection == nil)
    #expect(DashboardSettings(address: open, certificate: ("c", "k")).objection == nil)
    let own = try #require(HTTPAddress("127.0.0.1:1"))
    #expect(DashboardSettings(address: own).objection == nil)
    #expect(DashboardSettings(address: own).token != DashboardSettings(address: own).token)
  }

  @Test func charactersThatAreNotWhole() {
    let text = Array("aé€🎉".utf8)
    for count in 0...text.count {
      let end = LogPosition.wholeCharacters(Array(text[..<count]))
      #expect(!String(decoding: text[..<end], as: UTF8.self).contains("\u{FFFD}"))
      #expect(count - end < 4)
    }
    // What is no UTF-8 at all is passed on.
    #expect(LogPosition.wholeCharacters([0x80, 0x80, 0x80, 0x80]) == 4)
  }
}
