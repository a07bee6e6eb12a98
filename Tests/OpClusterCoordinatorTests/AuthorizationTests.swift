// What a peer may say, case by case (G27, G32, G36): authorization is one pure function.

import Citations
import OpClusterModel
import OpClusterZeroMQ
import Testing

@testable import OpClusterCoordinator

@Suite struct AuthorizationTests {
  private static let submit = ClientRequest.submit(GraphSubmission(name: "g"))

  private func verdict(
    _ saying: Saying, greeted: Bool = true, inFlight: Int = 0, load: Load = Load.none,
    isPutOut: Bool = false, by principal: Principal = .local
  ) -> Authorization.Verdict {
    var peer = Peer(
      id: PeerID(1), Sender(connection: RoutingID(number: 1), key: nil), principal, at: .zero)
    peer.isGreeted = greeted
    peer.requestsInFlight = inFlight
    peer.isPutOut = isPutOut
    return Authorization.verdict(on: saying, from: peer, load)
  }

  private func code(_ verdict: Authorization.Verdict) -> Refusal.Code? {
    if case .refused(let refusal) = verdict { refusal.code } else { nil }
  }

  @Test func workersAreLetThrough() {
    #expect(verdict(.workerHello(name: "w", owner: nil), greeted: false) == .allowed)
    #expect(verdict(.workerWord) == .allowed)
  }

  @Test func helloComesFirst() {
    #expect(code(verdict(.request(.ping), greeted: false)) == .badRequest)
    #expect(verdict(.request(.ping)) == .allowed)
  }

  @Test(.checks("G32")) func versionsMustMeet() {
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

  /// Only what needs new room is refused.
  @Test(.checks("G8")) func aFullDiskRefusesSubmissions() {
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

  // MARK: - Roles (G36)

  /// Everything that can be said, by every role, strangers and those who were removed: allowed
  /// exactly where the table says so.
  @Test(.checks("G36")) func rolesByMessage() {
    for saying in EverySaying.all {
      let allowed = saying.allowedTo
      for role in Role.allCases {
        let verdict = verdict(saying.saying, by: .known(name: "w", role: role))
        let isAllowed = allowed.contains(role)
        #expect((verdict == .allowed) == isAllowed, "\(role) says \(saying.kind)")
        if !isAllowed {
          #expect(code(verdict) == .forbidden, "\(role) says \(saying.kind)")
          guard case .refused(let refusal) = verdict else { continue }
          #expect(refusal.message.contains("'w' has the role \(role.rawValue)"))
          #expect(!refusal.hint.isEmpty)
        }
      }
      let isLocal = verdict(saying.saying, by: .local) == .allowed
      #expect(isLocal == saying.kind.isForLocals, "a local user says \(saying.kind)")
      #expect(code(verdict(saying.saying, by: .removed)) == .forbidden, "\(saying.kind)")
    }
  }

  /// An invitation says hello, enrols, and nothing else.
  @Test(.checks("G36")) func invitations() {
    let invited = Principal.invited(KeyPair.random().publicKey)
    for saying in EverySaying.all {
      let isAllowed = verdict(saying.saying, greeted: true, by: invited) == .allowed
      let isMeant = saying.kind == .enrol || saying.kind == .clientHello
      #expect(isAllowed == isMeant, "an invitation says \(saying.kind)")
    }
  }

  /// A worker's key serves under its own name only; an admin's under any.
  @Test(.checks("G36")) func workersServeUnderTheirOwnName() {
    let key = Principal.known(name: "w1", role: .worker)
    for name in ["w1", "w1-2", "w1.gpu", "w1:3"] {
      #expect(verdict(.workerHello(name: name, owner: "w1"), by: key) == .allowed, "\(name)")
    }
    for name in ["w2", "w11", "", "w"] {
      #expect(
        code(verdict(.workerHello(name: name, owner: "w1"), by: key)) == .forbidden, "\(name)")
    }
    // A name that continues ours, but belongs to a longer key.
    let foreign = verdict(.workerHello(name: "w1-2", owner: "w1-2"), by: key)
    #expect(code(foreign) == .forbidden)
    if case .refused(let refusal) = foreign { #expect(refusal.message.contains("'w1-2'")) }
    let admin = Principal.known(name: "root", role: .admin)
    #expect(verdict(.workerHello(name: "w2", owner: "w2"), by: admin) == .allowed)
  }

  /// Who was put out is told which of the two it was.
  @Test(.checks("G37")) func changesAreTold() {
    let before = Principal.known(name: "anna", role: .admin)
    let removed = Authorization.keyChanged(before, .removed)
    #expect(removed.code == .forbidden)
    #expect(removed.message.contains("'anna' was removed"))
    let changed = Authorization.keyChanged(before, .known(name: "anna", role: .observer))
    #expect(changed.message.contains("another name or role"))
  }

  @Test func submissionKeysAreBounded() {
    var submission = GraphSubmission(name: "g")
    submission.key = SubmissionKey(String(repeating: "k", count: Limits.submissionKeyBytes))
    #expect(verdict(.request(.submit(submission))) == .allowed)
    submission.key = SubmissionKey(submission.key.text + "k")
    #expect(code(verdict(.request(.submit(submission)))) == .limitExceeded)
  }
}

extension Load {
  fileprivate static let none = Load(clients: 0, subscriptions: 0, isDiskFull: false)
}
