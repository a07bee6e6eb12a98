// The one function that decides what a peer may say. Whoever adds roles adds them here. Pure.

import OpClusterModel

/// What a peer has said, as far as the door must know.
enum Saying {
  case workerHello
  case workerWord
  case clientHello(ClientHello)
  case request(ClientRequest)
}

/// How full the house is.
struct Load {
  /// Greeted clients.
  var clients: Int
  /// Subscriptions of the client that speaks.
  var subscriptions: Int
  /// The journal's disk is nearly full (G8).
  var isDiskFull: Bool
}

enum Door {
  enum Verdict: Equatable {
    case allowed
    case refused(Refusal)
    /// It was put out: no answer either.
    case ignored
  }

  /// Whether `peer` may say this now. Workers are judged further by the scheduler, which knows
  /// their sessions and versions.
  static func verdict(on saying: Saying, from peer: Peer, _ load: Load) -> Verdict {
    if peer.isPutOut { return .ignored }
    switch saying {
    case .workerHello, .workerWord:
      return .allowed
    case .clientHello(let hello):
      return verdict(on: hello, isGreeted: peer.isGreeted, load)
    case .request(let request):
      guard peer.isGreeted else {
        return .refused(
          Refusal(.badRequest, "a client says hello first", hint: "connect again"))
      }
      return verdict(on: request, from: peer, load)
    }
  }

  private static func verdict(
    on hello: ClientHello, isGreeted: Bool, _ load: Load
  ) -> Verdict {
    let ours = ProtocolVersions.current
    guard ours.common(with: hello.versions) != nil else {
      return .refused(
        Refusal(
          .versionMismatch,
          "this coordinator speaks protocol \(ours.lowest) to \(ours.highest), the client "
            + "\(hello.versions.lowest) to \(hello.versions.highest)",
          hint: "install the same release on both sides"))
    }
    if !isGreeted, load.clients >= Limits.clients {
      return .refused(
        Refusal(
          .busy, "\(Limits.clients) clients are connected already", hint: "try again later",
          retryAfter: .seconds(2)))
    }
    return .allowed
  }

  private static func verdict(
    on request: ClientRequest, from peer: Peer, _ load: Load
  ) -> Verdict {
    if peer.requestsInFlight >= Limits.requestsInFlightPerClient {
      return .refused(
        Refusal(
          .busy, "\(Limits.requestsInFlightPerClient) requests of this client are unanswered",
          hint: "wait for an answer before asking again", retryAfter: .milliseconds(100)))
    }
    switch request {
    case .submit where load.isDiskFull:
      return .refused(
        Refusal(
          .busy, "the disk of the coordinator's journal is nearly full",
          hint: "make room there; submissions are taken again as soon as there is some"))
    case .subscribe where load.subscriptions >= CoordinatorLimits.subscriptionsPerClient:
      return .refused(
        Refusal(
          .limitExceeded,
          "a client has at most \(CoordinatorLimits.subscriptionsPerClient) subscriptions"))
    default:
      return .allowed
    }
  }
}
