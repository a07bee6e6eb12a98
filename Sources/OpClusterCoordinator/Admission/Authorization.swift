// Decides what a peer may say, by its role, its versions and the numbers of its resources. New
// roles are added here. Pure.

package import OpClusterModel

/// A message of a peer, as far as its rights depend on it.
package enum Saying {
  /// With the requested name, and the key that owns this name.
  case workerHello(name: String, owner: String?)
  case workerWord
  case clientHello(ClientHello)
  case request(ClientRequest)
}

/// The numbers that limits depend on.
package struct Load {
  /// The number of greeted clients.
  var clients: Int
  /// The number of subscriptions of the client that asks.
  var subscriptions: Int
  /// Whether the journal's disk is nearly full (G8).
  var isDiskFull: Bool

  /// Where only workers connect.
  package static let none = Load(clients: 0, subscriptions: 0, isDiskFull: false)
}

package enum Authorization {
  package enum Verdict: Equatable {
    case allowed
    case refused(Refusal)
    /// It was put out: not even an answer.
    case ignored
  }

  /// Whether `peer` may say this now. The scheduler, which knows sessions and versions, checks
  /// workers further.
  package static func verdict(on saying: Saying, from peer: Peer, _ load: Load) -> Verdict {
    if peer.isPutOut { return .ignored }
    if let refusal = refusal(of: saying, by: peer.principal) { return .refused(refusal) }
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
    case .submit(let submission)
    where submission.key.text.utf8.count > Limits.submissionKeyBytes:
      return .refused(
        Refusal(.limitExceeded, "a key has at most \(Limits.submissionKeyBytes) bytes"))
    case .subscribe where load.subscriptions >= CoordinatorLimits.subscriptionsPerClient:
      return .refused(
        Refusal(
          .limitExceeded,
          "a client has at most \(CoordinatorLimits.subscriptionsPerClient) subscriptions"))
    default:
      return .allowed
    }
  }

  /// Refuses blocks for a graph of another submitter. Steering may stop and order others' work, but
  /// not determine what it runs, since it may run under the submitter's account (G36).
  ///
  /// - Parameter submitter: The submitter of the living graph; nil if there is no such graph.
  static func foreignWork(
    _ graph: GraphID, of submitter: String?, by principal: Principal
  ) -> Refusal? {
    guard let name = principal.name, let submitter, !submitter.isEmpty, submitter != name
    else { return nil }
    return Refusal(
      .forbidden, "graph \(graph.number) was submitted with another key than '\(name)'",
      hint: "add blocks with the key of its submitter")
  }

  // MARK: - Rights

  /// The refusal of a message without the right to it, independent of the load (G36).
  private static func refusal(of saying: Saying, by principal: Principal) -> Refusal? {
    if principal == .removed { return keyChanged(.removed, .removed) }
    switch saying {
    case .workerHello(let name, let owner):
      if !principal.may(.serve) { return forbidden(principal, "serve as a worker") }
      return nameRefusal(of: name, owner, by: principal)
    case .workerWord:
      return principal.may(.serve) ? nil : forbidden(principal, "serve as a worker")
    case .clientHello:
      let isForClients = principal.may(.read) || principal.may(.enrol)
      return isForClients ? nil : forbidden(principal, "connect as a client")
    case .request(let request):
      if principal.may(request.right) { return nil }
      return forbidden(principal, action(request.right))
    }
  }

  /// The refusal of a worker's name: a key serves under its own name and its extensions, unless
  /// these belong to a longer key.
  package static func nameRefusal(
    of name: String, _ owner: String?, by principal: Principal
  ) -> Refusal? {
    guard case .known(let key, .worker) = principal else { return nil }
    if !key.covers(workerName: name) {
      return Refusal(
        .forbidden, "the key '\(key)' is not for a worker of this name",
        hint: "start the worker with --name \(key), or \(key)-2, \(key)-3 for more of them")
    }
    guard let owner, owner != key else { return nil }
    return Refusal(
      .forbidden, "the name of this worker belongs to the key '\(owner)', not to '\(key)'",
      hint: "start the worker with --name \(key), or another that continues it and is no key's")
  }

  private static func action(_ right: Right) -> String {
    switch right {
    case .serve: "serve as a worker"
    case .read: "look at anything"
    case .steer: "submit or change anything"
    case .administer: "drain workers"
    case .enrol: "add keys"
    }
  }

  private static func forbidden(_ principal: Principal, _ action: String) -> Refusal {
    switch principal {
    case .known(let name, let role):
      Refusal(
        .forbidden, "the key '\(name)' has the role \(role.rawValue) and may not \(action)",
        hint: "use a key with another role; 'opcoord key ls' shows all of them")
    case .invited:
      Refusal(
        .forbidden, "an invitation may only be used to join, not to \(action)",
        hint: .join)
    case .local, .removed: Refusal(.forbidden, "this connection may not \(action)")
    }
  }

  /// The refusal for a peer whose key was removed or got another role (G37).
  package static func keyChanged(_ before: Principal, _ after: Principal) -> Refusal {
    let name = before.name.map { " '\($0)'" } ?? ""
    if after == .removed {
      return Refusal(
        .forbidden, "the key\(name) was removed from the coordinator's list",
        hint: "ask the cluster's administrator for an invitation: opcoord key invite")
    }
    return Refusal(
      .forbidden, "the key\(name) was given another name or role", hint: "connect again")
  }
}
