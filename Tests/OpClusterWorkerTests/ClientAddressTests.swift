// Where operations of a worker reach the coordinator as clients.

import OpClusterZeroMQ
import Testing

@testable import OpClusterWorker

@Suite struct ClientAddressTests {
  // A coordinator that serves clients at every interface names none of them.
  @Test func clientsConnectWhereTheWorkerDoes() throws {
    let coordinator = try Endpoint("tcp://127.0.0.3:7421")
    for told in ["tcp://0.0.0.0:7420", "tcp://*:7420", "tcp://[::]:7420"] {
      #expect(ClientAddress.reachable(told, beside: coordinator) == "tcp://127.0.0.3:7420")
      #expect(
        ClientAddress.reachable(told, beside: try Endpoint("tcp://[::1]:7421"))
          == "tcp://[::1]:7420")
      #expect(
        ClientAddress.reachable(told, beside: try Endpoint("ipc:///tmp/w"))
          == "tcp://127.0.0.1:7420")
    }
    for told in ["tcp://127.0.0.1:7420", "ipc:///tmp/c", "inproc://c", "tcp://10.0.0.0:1"] {
      #expect(ClientAddress.reachable(told, beside: coordinator) == told)
    }
  }
}
