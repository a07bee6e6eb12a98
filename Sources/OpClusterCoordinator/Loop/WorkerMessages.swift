// What workers say: frames in, words out, past admission, to whom they concern. A turn takes a
// bounded number from each socket, so that neither side starves the other. What both sides have in
// common is here, too; clients are in `ClientMessages`. On the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

extension CoordinatorLoop {
  func hear() {
    var heard = 0
    for _ in 0..<(Limits.framesPerTurn / 2) where heard < Limits.frameBytesPerTurn / 2 {
      guard let (bytes, sender) = next(workers.receive(), isWorker: true) else { break }
      heard += bytes?.count ?? 0
      if let bytes, let sender { takeWorker(bytes, sender) }
    }
    hearClients()
  }

  /// nil: nothing more is there. Without bytes: a frame that was not understood.
  func next(
    _ result: ReceiveResult, isWorker: Bool
  ) -> (bytes: [UInt8]?, sender: Sender?)? {
    switch result {
    case .nothing: return nil
    case .message(let bytes, let sender): return (bytes, sender)
    case .malformed(let sender):
      if let sender, isWorker {
        dropWorker(sender, "several frames")
      } else {
        noteMalformed(sender?.connection, "several frames")
        if let sender { dropClient(sender) }
      }
      return (nil, nil)
    case .failed(let error):
      logger.error("a socket failed", metadata: ["error": "\(error)"])
      return nil
    }
  }

  // MARK: - Workers

  private func takeWorker(_ bytes: [UInt8], _ sender: Sender) {
    let id = workers.peers.find(sender.connection)
    if id == nil, workers.peers.isFull { return }
    guard id.flatMap({ workers.peers[$0] })?.isGreeted ?? false || bytes.count <= Limits.helloBytes
    else { return dropWorker(sender, "a first message of \(bytes.count) bytes") }
    let message: WorkerMessage
    do {
      message = try Wire.decodeWorkerMessage(bytes)
    } catch {
      return dropWorker(sender, error.description)
    }
    let peer = id ?? addPeer(sender, to: &workers)
    guard let known = workers.peers[peer] else { return }
    var saying = Saying.workerWord
    var isHello = false
    var name = known.workerName
    if case .hello(let hello) = message {
      name = hello.name
      saying = .workerHello(name: hello.name, owner: access?.key(owning: hello.name))
      isHello = true
    }
    switch Authorization.verdict(on: saying, from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      send(.refused(refusal), toWorker: peer)
      if refusal.code == .forbidden { workers.peers.update(peer) { $0.isPutOut = true } }
      return
    case .allowed: break
    }
    workers.peers.update(peer) { known in
      known.lastHeard = now
      known.workerName = name
      if isHello { known.isGreeted = true }
    }
    if case .logChunk(let chunk) = message, let answer = logs.take(chunk, from: peer) {
      reply(answer.reply, to: answer.client, answer.request)
    }
    hasInput = true
    scheduler.handle(.worker(peer, message), into: &turn)
  }

  /// Ends the conversation with a worker that cannot be understood; it begins anew.
  private func dropWorker(_ sender: Sender, _ problem: String) {
    noteMalformed(sender.connection, problem)
    let known = workers.peers.find(sender.connection)
    if known.flatMap({ workers.peers[$0] })?.isPutOut == true { return }
    let peer = known ?? addPeer(sender, to: &workers)
    send(
      .refused(Refusal(.unknownWorker, "a message was not understood: \(problem)")),
      toWorker: peer)
    forgetWorker(peer)
  }

  /// Names workers that say what they cannot know, and puts them out after some of it.
  func answerLies() {
    for lie in turn.lies {
      guard let known = workers.peers[lie.peer], !known.isPutOut else { continue }
      lies += 1
      let count = known.lies + 1
      workers.peers.update(lie.peer) { $0.lies = count }
      let isLast = count >= Limits.liesPerWorker
      guard isLast || count.nonzeroBitCount == 1 else { continue }
      let operation = lie.attempt.operation
      logger.warning(
        isLast
          ? "a worker that reports what was never given to it is put out"
          : "a worker reports an attempt that was never given to it",
        metadata: [
          "worker": "\(scheduler.workerName(at: lie.peer) ?? "unknown")",
          "key": "\(known.principal.name ?? "none")",
          "attempt": "\(operation.numbered) \(lie.attempt.attempt)",
          "so_far": "\(count)",
        ])
      if isLast { putOutWorker(lie.peer) }
    }
  }

  /// Nothing more of it is heard; what it holds is given to others as soon as it is lost.
  private func putOutWorker(_ peer: PeerID) {
    send(
      .refused(
        Refusal(
          .forbidden,
          "\(Limits.liesPerWorker) reports were about attempts never given to this worker",
          hint: "two workers may share one session or one folder; start it anew")),
      toWorker: peer)
    workers.peers.update(peer) { known in
      known.isPutOut = true
      known.isGreeted = false
    }
    for answer in logs.workerGone(peer) { reply(answer.reply, to: answer.client, answer.request) }
    pendingGone.append(peer)
  }

  func forgetWorker(_ peer: PeerID) {
    workers.peers.remove(peer)
    for answer in logs.workerGone(peer) { reply(answer.reply, to: answer.client, answer.request) }
    pendingGone.append(peer)
  }

  // MARK: - Both

  /// Counts it; the log gets fewer and fewer lines of the same (G33).
  func noteMalformed(_ route: RoutingID?, _ problem: String) {
    malformed += 1
    guard malformed.nonzeroBitCount == 1 else { return }
    logger.warning(
      "a message was not understood",
      metadata: [
        "peer": "\(route.map { "\($0)" } ?? "unnamed")", "problem": "\(problem)",
        "so_far": "\(malformed)",
      ])
  }

  func addPeer(_ sender: Sender, to port: inout Port) -> PeerID {
    lastPeer += 1
    let id = PeerID(lastPeer)
    port.peers.add(id, sender, principal(of: sender, at: port.endpoint), at: now)
    return id
  }

  func load(of peer: PeerID) -> Load {
    Load(
      clients: clients.peers.greeted,
      subscriptions: subscriptions.isEmpty ? 0 : subscriptions.count(of: peer),
      isDiskFull: isDiskFull)
  }

  var configuration: ConfigurationValues {
    var values = ConfigurationValues(
      timing: settings.timing, clientEndpoint: clients.endpoint.address,
      workerEndpoint: workers.endpoint.address, stateFolder: settings.stateFolder)
    values.wall = .now
    values.diskFreeBytes = diskFreeBytes
    values.diskReserveBytes = settings.diskReserveBytes
    values.historyProblem = historyProblem.map {
      String($0.prefix(CoordinatorLimits.problemLength))
    }
    return values
  }
}
