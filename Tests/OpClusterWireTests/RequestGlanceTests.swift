// What is said of a request without decoding it, beside what decoding says (G29, G33).

import MessageGenerators
import OpClusterModel
import OpClusterWire
import Testing

@Suite struct RequestGlanceTests {
  private func glance(_ id: UInt64, _ request: ClientRequest) -> RequestGlance? {
    RequestGlance(Wire.encode(ClientMessage.request(RequestID(id), request)))
  }

  @Test func numbersOfRequests() throws {
    for id: UInt64 in [0, 1, 127, 128, 300, .max] {
      #expect(glance(id, .ping)?.id == RequestID(id))
      #expect(glance(id, .drainWorker("w"))?.id == RequestID(id))
    }
    #expect(RequestGlance(Wire.encode(ClientMessage.hello(ClientHello(build: "b")))) == nil)
  }

  /// Nobody who gives something back waits for a quota.
  @Test func whatGivesBack() {
    let operation = OperationID(graph: GraphID(1), index: 2)
    for request in [
      ClientRequest.grantCredit(subscription: 1, events: 2), .unsubscribe(subscription: 3),
      .endWait(operation),
    ] {
      #expect(glance(7, request)?.givesBack == true)
    }
    for request in [
      ClientRequest.ping, .queues(), .submission(GraphID(3)), .drainWorker("w"),
      .submit(GraphSubmission(name: "g")),
    ] {
      let glance = glance(7, request)
      #expect(glance?.id == RequestID(7) && glance?.givesBack == false)
    }
  }

  /// Whatever can be decoded has the same number at a glance; what is cut off has none, or the one
  /// that it has. Nothing traps.
  @Test func sameAsDecoding() throws {
    var generator = MessageGenerator(seed: 29)
    for round in 0..<2_000 {
      let message = generator.clientMessage(round % MessageGenerator.clientMessageKinds)
      let bytes = Wire.encode(message)
      if case .request(let id, _) = message {
        #expect(RequestGlance(bytes)?.id == id)
      } else {
        #expect(RequestGlance(bytes) == nil)
      }
      var broken = bytes
      broken.removeLast(min(broken.count, 1 + generator.below(5)))
      if !broken.isEmpty { broken[generator.below(broken.count)] ^= 0x80 }
      _ = RequestGlance(broken)
    }
    #expect(RequestGlance([]) == nil && RequestGlance([0x12]) == nil)
    #expect(RequestGlance([0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]) == nil)
  }
}
