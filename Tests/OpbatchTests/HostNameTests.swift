// A host that nobody can look up is not one that is silent.

import Testing

import OpClusterSystem

@Suite struct HostNameTests {
  @Test func theHostOfAnAddress() {
    #expect(HostName.of("tcp://node-1:5555") == "node-1")
    #expect(HostName.of("tcp://[::1]:5555") == "::1")
    #expect(HostName.of("tcp://10.0.0.1:5555") == "10.0.0.1")
    #expect(HostName.of("ipc:///tmp/x") == nil)
    #expect(HostName.of("tcp://:5555") == nil)
    #expect(HostName.of("tcp://nothing") == nil)
  }

  @Test func whoCannotBeLookedUp() {
    #expect(HostName.problem(of: "127.0.0.1") == nil)
    #expect(HostName.problem(of: "::1") == nil)
    // Longer than a name can be: no server is asked.
    #expect(HostName.problem(of: String(repeating: "x", count: 300)) != nil)
  }
}
