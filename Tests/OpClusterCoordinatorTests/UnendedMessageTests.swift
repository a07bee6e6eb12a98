// A key that is let in and sends a message that never ends (A4, G33): it is cut, by the bytes that
// the kernel has taken in for it, and nobody else notices.

import Citations
import OpClusterJournal
import OpClusterKeys
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import StoppingRelay
import Testing

@testable import OpClusterCoordinator

@Suite(.checks("G33", "A4")) struct UnendedMessageTests {
  // Who obeys never comes near it.
  @Test func theBoundIsBeyondWhatPeersHaveOnTheirWay() throws {
    let guarded = try GuardedService { settings in
      #expect(settings.unheardBytes == Limits.unheardBytes)
    }
    withExtendedLifetime(guarded) {}
    #expect(Limits.unheardBytes >= 2 * Limits.unacknowledgedBytes)
    #expect(Limits.unheardBytes >= 4 * Limits.requestBytesInFlight)
  }

  @Test func isCut() throws {
    let guarded = try GuardedService { $0.unheardBytes = 1 << 20 }
    let keys = try guarded.key("anna", .submitter)
    let other = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    let relay = try StoppingRelay.start(
      to: guarded.service.ready.clientEndpoint, stoppingAfter: 2 << 20)
    let anna = try Dealer(relay, keys: keys)
    #expect(try anna.nextEvent() == .connected)
    try anna.send(Wire.encode(ClientMessage.hello(ClientHello(build: "test"))))
    _ = try anna.receive()
    // It ends behind what the relay lets through: the coordinator never sees the end.
    try anna.send([UInt8](repeating: 7, count: 8 << 20))
    while try anna.nextEvent() != .disconnected {}
    guard case .pong = try other.ask(.ping) else {
      Issue.record("others go on")
      return
    }
  }

  // At the bound: what is on its way for long is not cut for that.
  @Test func whatFitsIsNotCut() throws {
    let guarded = try GuardedService { $0.unheardBytes = 4 << 20 }
    let keys = try guarded.key("anna", .submitter)
    let relay = try StoppingRelay.start(
      to: guarded.service.ready.clientEndpoint, stoppingAfter: 2 << 20)
    let anna = try Dealer(relay, keys: keys)
    #expect(try anna.nextEvent() == .connected)
    try anna.send([UInt8](repeating: 7, count: 8 << 20))
    let other = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    // The coordinator looks between any two heartbeats, which go to who waits for an answer.
    try #require(guarded.service.journal).hold()
    _ = try other.send(.submit(chainGraph("g")))
    for _ in 0..<3 { try other.awaitHeartbeat() }
    #expect(anna.nextEventNow() == nil)
    try #require(guarded.service.journal).commit()
  }
}
