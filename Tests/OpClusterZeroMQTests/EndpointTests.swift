// Which addresses are accepted, how they are spelled afterwards, and what is said about the rest.

import Citations
import OpClusterZeroMQ
import Testing

@Suite struct EndpointTests {
  @Test(arguments: [
    ("tcp://127.0.0.1:7700", "tcp://127.0.0.1:7700", Endpoint.Transport.tcp),
    ("tcp://127.255.0.9:65535", "tcp://127.255.0.9:65535", .tcp),
    ("tcp://localhost:1", "tcp://127.0.0.1:1", .tcp),
    ("tcp://127.0.0.1:*", "tcp://127.0.0.1:0", .tcp),
    ("tcp://127.0.0.1:0", "tcp://127.0.0.1:0", .tcp),
    ("tcp://[::1]:7700", "tcp://[::1]:7700", .tcp),
    ("tcp://[0:0:0:0:0:0:0:1]:7700", "tcp://[::1]:7700", .tcp),
    ("tcp://192.0.2.1:7700", "tcp://192.0.2.1:7700", .tcp),
    ("tcp://*:7700", "tcp://0.0.0.0:7700", .tcp),
    ("tcp://[2001:DB8::0:1]:7700", "tcp://[2001:db8::1]:7700", .tcp),
    ("tcp://node-1.my_net.example:7700", "tcp://node-1.my_net.example:7700", .tcp),
    ("ipc:///run/op cluster/ü.sock", "ipc:///run/op cluster/ü.sock", .ipc),
    ("inproc://a", "inproc://a", .inproc),
  ])
  func accepted(text: String, address: String, transport: Endpoint.Transport) throws {
    let endpoint = try Endpoint(text)
    #expect(endpoint.address == address)
    #expect(endpoint.transport == transport)
    #expect((endpoint.path != nil) == (transport == .ipc))
    #expect((endpoint.port != nil) == (transport == .tcp))
    // The canonical spelling means the same.
    #expect(try Endpoint(address) == endpoint)
  }

  // Schemes that libzmq itself would take.
  @Test(
    .checks("A22"),
    arguments: ["udp", "pgm", "epgm", "norm", "tipc", "vmci", "ws", "wss", "TCP", "", "http"])
  func otherSchemes(scheme: String) {
    #expect(throws: EndpointError.unsupportedScheme(scheme)) {
      try Endpoint("\(scheme)://127.0.0.1:7700")
    }
  }

  @Test(arguments: [
    "127.1", "127.0.0.256", "127.0.0.01", "127.0.0.", "1.2.3", "[::1%lo]", "[::1", "[]", "::1",
    "[1.2.3.4]", "127.0.0.1:1;127.0.0.1", "user@127.0.0.1", "eth0;10.0.0.1", "-a", "a-", "a..b",
    ".a", "a.", "a.1", "h\u{F6}st", "a b", "",
  ])
  func invalidHosts(host: String) throws {
    let expected = host.isEmpty ? EndpointError.noHost(":7700") : .invalidHost(host)
    #expect(throws: expected) { try Endpoint("tcp://\(host):7700") }
    #expect(expected.description.contains("write"))
  }

  @Test func longestHosts() throws {
    let part = String(repeating: "a", count: 63)
    let longest = "\(part).\(part).\(part).\(String(repeating: "a", count: 61))"
    #expect(try Endpoint("tcp://\(longest):1").address == "tcp://\(longest):1")
    for host in ["\(longest)a", "\(part)a"] {
      #expect(throws: EndpointError.invalidHost(host)) { try Endpoint("tcp://\(host):1") }
    }
  }

  // What a server at all interfaces is proved by, and what only this machine can reach.
  @Test func whereItIs() throws {
    let any = try Endpoint("tcp://*:7700")
    #expect(any.isWildcard && !any.isLoopback && any.isNumeric)
    #expect(any.seenFromHere.address == "tcp://127.0.0.1:7700")
    #expect(try Endpoint("tcp://[::]:7700").seenFromHere.address == "tcp://[::1]:7700")
    let named = try Endpoint("tcp://localhost.evil.org:7700")
    #expect(!named.isNumeric && !named.isLoopback && named.seenFromHere == named)
    for host in ["127.0.0.1", "127.9.9.9", "[::1]", "localhost"] {
      #expect(try Endpoint("tcp://\(host):1").isLoopback, "\(host)")
    }
    for host in ["128.0.0.1", "[::ffff:127.0.0.1]", "127.0.0.1.evil.org"] {
      #expect(try !Endpoint("tcp://\(host):1").isLoopback, "\(host)")
    }
  }

  @Test(arguments: ["65536", "-1", "+5", "", "08", "1e3", " 1", "99999999999999999999", "x"])
  func invalidPorts(port: String) {
    #expect(throws: EndpointError.invalidPort(port)) { try Endpoint("tcp://127.0.0.1:\(port)") }
  }

  @Test func brokenAddresses() {
    #expect(throws: EndpointError.noScheme("127.0.0.1:7700")) { try Endpoint("127.0.0.1:7700") }
    #expect(throws: EndpointError.noScheme("")) { try Endpoint("") }
    #expect(throws: EndpointError.noPort("127.0.0.1")) { try Endpoint("tcp://127.0.0.1") }
    #expect(throws: EndpointError.noHost(":7700")) { try Endpoint("tcp://:7700") }
    #expect(throws: EndpointError.controlCharacter) { try Endpoint("ipc:///run/a\0b") }
    #expect(throws: EndpointError.tooLong(bytes: 513, limit: 512)) {
      try Endpoint("ipc:///" + String(repeating: "a", count: 506))
    }
  }

  @Test func socketPaths() throws {
    for path in ["relative/op.sock", "@abstract", "*", "", "/", "/run/"] {
      #expect(throws: EndpointError.pathNotAbsolute(path)) { try Endpoint("ipc://\(path)") }
    }
    let longest = "/" + String(repeating: "a", count: 106)
    #expect(try Endpoint("ipc://\(longest)").path == longest)
    #expect(throws: EndpointError.pathTooLong(bytes: 108, limit: 107)) {
      try Endpoint("ipc://\(longest)a")
    }
  }

  @Test func names() throws {
    let longest = String(repeating: "n", count: 200)
    #expect(try Endpoint("inproc://\(longest)").address == "inproc://\(longest)")
    #expect(throws: EndpointError.invalidName(bytes: 201, limit: 200)) {
      try Endpoint("inproc://\(longest)n")
    }
    #expect(throws: EndpointError.invalidName(bytes: 0, limit: 200)) { try Endpoint("inproc://") }
  }
}
