// What a peer may say, case by case (G27, G32, G36): the door is one pure function.

import OpClusterModel
import OpClusterZeroMQ
import Testing

@testable import OpClusterCoordinator

@Suite struct DoorTests {
  private static let submit = ClientRequest.submit(GraphSubmission(name: "g"))

  private func verdict(
    _ saying: Saying, greeted: Bool = true, inFlight: Int = 0, load: Load = Load.none,
    isPutOut: Bool = false
  ) -> Door.Verdict {
    var peer = Peer(id: PeerID(1), route: RoutingID(number: 1), at: .zero)
    peer.isGreeted = greeted
    peer.requestsInFlight = inFlight
    peer.isPutOut = isPutOut
    return Door.verdict(on: saying, from: peer, load)
  }

  private func code(_ verdict: Door.Verdict) -> Refusal.Code? {
    if case .refused(let refusal) = verdict { refusal.code } else { nil }
  }

  @Test func workersAreLetThrough() {
    #expect(verdict(.workerHello, greeted: false) == .allowed)
    #expect(verdict(.workerWord) == .allowed)
  }

  @Test func helloComesFirst() {
    #expect(code(verdict(.request(.ping), greeted: false)) == .badRequest)
    #expect(verdict(.request(.ping)) == .allowed)
  }

  @Test func versionsMustMeet() {
    let newer = ClientHello(versions: ProtocolVersions(lowest: 2, highest: 3))
    let both = ClientHello(versions: ProtocolVersions(lowest: 1, highest: 3))
    #expect(code(verdict(.clientHello(newer), greeted: false)) == .versionMismatch)
    #expect(verdict(.clientHello(both), greeted: false) == .allowed)
  }

  @Test func clientsAreBounded() {
    var load = Load.none
    load.clients = Limits.clients - 1
    #expect(verdict(.clientHello(ClientHello()), greeted: false, load: load) == .allowed)
    load.clients = Limits.clients
    #expect(code(verdict(.clientHello(ClientHello()), greeted: false, load: load)) == .busy)
    // Who is in already may say hello again.
    #expect(verdict(.clientHello(ClientHello()), load: load) == .allowed)
  }

  @Test func requestsInFlightAreBounded() {
    let limit = Limits.requestsInFlightPerClient
    #expect(verdict(.request(.ping), inFlight: limit - 1) == .allowed)
    #expect(code(verdict(.request(.ping), inFlight: limit)) == .busy)
  }

  /// G8: only what needs new room is refused.
  @Test func aFullDiskRefusesSubmissions() {
    var load = Load.none
    load.isDiskFull = true
    #expect(code(verdict(.request(Self.submit), load: load)) == .busy)
    #expect(verdict(.request(.ping), load: load) == .allowed)
    #expect(verdict(.workerWord, load: load) == .allowed)
    #expect(verdict(.request(Self.submit)) == .allowed)
  }

  @Test func subscriptionsAreBounded() {
    let wish = EventSubscription(number: 1, selection: Selection(graphs: .all))
    var load = Load.none
    load.subscriptions = CoordinatorLimits.subscriptionsPerClient - 1
    #expect(verdict(.request(.subscribe(wish)), load: load) == .allowed)
    load.subscriptions += 1
    #expect(code(verdict(.request(.subscribe(wish)), load: load)) == .limitExceeded)
  }

  @Test func whoWasPutOutIsNotHeard() {
    #expect(verdict(.request(.ping), isPutOut: true) == .ignored)
    #expect(verdict(.clientHello(ClientHello()), isPutOut: true) == .ignored)
  }
}

extension Load {
  fileprivate static let none = Load(clients: 0, subscriptions: 0, isDiskFull: false)
}
