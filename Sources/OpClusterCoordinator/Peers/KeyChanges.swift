// Applies changes of keys while the coordinator serves: ends connections of removed keys, and adds
// keys of invitation holders. On the loop's thread; a separate thread writes files.

import Logging
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

extension CoordinatorLoop {
  /// The present principal of a connection. Over TCP there is none without a key.
  func principal(of sender: Sender, at endpoint: Endpoint) -> Principal {
    guard let key = sender.key else { return endpoint.transport == .tcp ? .removed : .local }
    return keys.access?.principal(of: key) ?? .removed
  }

  /// Adds the submitter's name to a submission: as a label for people, and in front of its key, so
  /// that equal keys of two submitters do not collide (G19).
  func owned(_ request: ClientRequest, by peer: PeerID) -> ClientRequest {
    switch request {
    case .locate(let digests, let reader): return .locate(digests, reader: owned(reader, by: peer))
    case .bring(let content, let unreached, let reader):
      return .bring(content, unreached: unreached, reader: owned(reader, by: peer))
    case .place(let contents, let avoided, let writer):
      return .place(contents, avoided: avoided, writer: owned(writer, by: peer))
    case .submit(let graph): return .submit(graph.owned(by: clients.peers[peer]?.principal.name))
    case .reusable(let graph):
      return .reusable(graph.owned(by: clients.peers[peer]?.principal.name))
    default: return request
    }
  }

  /// Who has proved a key is known by that; a local peer, which may do all, is known by what it
  /// says.
  private func owned(_ asker: ContentAsker, by peer: PeerID) -> ContentAsker {
    if let key = clients.peers[peer]?.key { return ContentAsker(key: key.bytes) }
    guard clients.peers[peer]?.principal == .local else { return ContentAsker() }
    return ContentAsker(key: asker.key, isLocal: true)
  }

  /// Once per turn: keeps the gate open and applies changes of the list (G37).
  func attendToKeys() {
    keys.access?.keepOpen(at: now)
    guard keys.access?.refresh(at: now, logger) == true else { return }
    for peer in workers.peers.all {
      let changed =
        hasChanged(peer) ? Authorization.keyChanged(peer.principal, principal(of: peer)) : nil
      guard let refusal = changed ?? lostName(peer) else { continue }
      _ = carryOut(.turnedAway(.none, refusal), .worker, peer.id)
    }
    for peer in clients.peers.all where hasChanged(peer) && !peer.isPutOut {
      let refusal = Authorization.keyChanged(peer.principal, principal(of: peer))
      _ = carryOut(.putOut(.none, refusal), .client, peer.id)
    }
  }

  /// The refusal of a worker whose name now belongs to an added key.
  private func lostName(_ peer: Peer) -> Refusal? {
    guard let name = peer.workerName, !peer.isPutOut else { return nil }
    return Authorization.nameRefusal(of: name, keys.access?.key(owning: name), by: peer.principal)
  }

  private func principal(of peer: Peer) -> Principal {
    peer.key.map { keys.access?.principal(of: $0) ?? .removed } ?? peer.principal
  }

  private func hasChanged(_ peer: Peer) -> Bool {
    // The holder of a spent invitation must still be answered.
    !keys.enrolling.contains(peer.id) && principal(of: peer) != peer.principal
  }

  /// Writes the list on another thread; the answer returns as a notice.
  func enrol(_ name: String, _ bytes: [UInt8], _ peer: PeerID, _ request: RequestID) {
    guard case .invited(let invitation)? = clients.peers[peer]?.principal,
      let folder = keys.access?.keys.folder, let key = PublicKey(bytes: bytes)
    else {
      return sendReply(
        .refused(Refusal(.badRequest, "there is nothing to enrol")), to: peer, request)
    }
    guard keys.enrolling.insert(peer).inserted else {
      return sendReply(.refused(Refusal(.busy, "a key is being added already")), to: peer, request)
    }
    do throws(SystemError) {
      let notices = wakeups.notices
      _ = try startThread(name: "opcoord-keys") {
        let result: Result<AllowedKey, KeyError>
        do throws(KeyError) {
          result = .success(
            try folder.changeAllowed { list throws(KeyError) in
              try list.redeem(invitation, name: name, key: key, at: .now)
            })
        } catch {
          result = .failure(error)
        }
        _ = notices.post(.enrolled(Enrolment(peer: peer, request: request, result: result)))
      }
    } catch {
      keys.enrolling.remove(peer)
      sendReply(.refused(Refusal(.busy, "\(error)", hint: "try again later")), to: peer, request)
    }
  }

  func take(_ enrolment: Enrolment) {
    keys.enrolling.remove(enrolment.peer)
    switch enrolment.result {
    case .success(let added):
      logger.notice(
        "a key was added by invitation",
        metadata: [
          "name": "\(added.name)", "role": "\(added.role.rawValue)", "key": "\(added.key)",
        ])
      sendReply(
        .enrolled(name: added.name, role: added.role), to: enrolment.peer, enrolment.request)
    case .failure(let error):
      let refusal = Refusal(
        error.kind == .refused ? .forbidden : .busy, error.message, hint: .text(error.hint))
      sendReply(.refused(refusal), to: enrolment.peer, enrolment.request)
    }
  }
}

extension GraphSubmission {
  /// The submission with the name that its submitter has proved, if any: as a label for people, and
  /// in front of its key.
  func owned(by name: String?) -> GraphSubmission {
    var submission = self
    // Removes the client's own label: workers may run the operations under the account of that
    // name.
    submission.labels.removeAll { $0.key == Self.submitterLabel }
    guard let name else { return submission }
    if !submission.key.text.isEmpty {
      submission.key = SubmissionKey("\(name)/\(submission.key.text)")
    }
    submission.labels.append(Label(key: Self.submitterLabel, value: name))
    return submission
  }
}
