// A host that nobody can look up is not one that is silent.

import Testing

@testable import opbatch

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
    #expect(ThisProcess.problem(ofHost: "127.0.0.1") == nil)
    #expect(ThisProcess.problem(ofHost: "::1") == nil)
    // Longer than a name can be: no server is asked.
    #expect(ThisProcess.problem(ofHost: String(repeating: "x", count: 300)) != nil)
  }
}
