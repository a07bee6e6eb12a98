// Receives messages of workers: decodes frames and passes allowed messages on. A turn takes a
// limited number from each socket, so that neither side starves the other. Also contains the parts
// common to both sides; clients are in `ClientMessages`. On the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

extension CoordinatorLoop {
  func hear() {
    var heard = 0
    frames: for _ in 0..<(Limits.framesPerTurn / 2) where heard < Limits.frameBytesPerTurn / 2 {
      switch next(workers.receive(), .worker) {
      case .nothing: break frames
      case .invalid(let byteCount): heard += byteCount
      case .message(let bytes, let sender):
        heard += bytes.count
        takeWorker(bytes, sender)
      }
    }
    hearClients()
  }

  /// A frame of a socket.
  enum NextFrame {
    case message([UInt8], Sender)
    /// Of a form that no message has, which is noted already, or without a sender: its bytes were
    /// received all the same, and count toward the bound of the turn.
    case invalid(byteCount: Int)
    /// No frame is left, or the socket failed.
    case nothing
  }

  func next(_ result: ReceiveResult, _ side: Side) -> NextFrame {
    switch result {
    case .nothing: return .nothing
    case .message(let bytes, let sender?): return .message(bytes, sender)
    case .message(let bytes, nil): return .invalid(byteCount: bytes.count)
    case .malformed(let sender):
      let peer = sender.flatMap { side == .worker ? worker(of: $0) : client(of: $0) }
      if let peer {
        drop(side, peer, "several frames")
      } else {
        noteMalformed(sender?.connection, "several frames")
      }
      return .invalid(byteCount: 0)
    case .failed(let error):
      logger.error("a socket failed", metadata: ["error": "\(error)"])
      return .nothing
    }
  }

  // MARK: - Workers

  private func takeWorker(_ bytes: [UInt8], _ sender: Sender) {
    guard let peer = worker(of: sender), admits(.workerFrame(bytes: bytes.count), .worker, peer)
    else { return }
    let message: WorkerMessage
    do {
      message = try Wire.decodeWorkerMessage(bytes)
    } catch {
      return drop(.worker, peer, error.description)
    }
    var saying = Saying.workerWord
    var name = workers.peers[peer]?.workerName
    if case .hello(let hello) = message {
      name = hello.name
      saying = .workerHello(name: hello.name, owner: keys.access?.key(owning: hello.name))
    }
    guard admits(.workerWord(saying), .worker, peer) else { return }
    workers.peers.update(peer) { known in
      known.lastHeard = now
      known.workerName = name
      if case .workerHello = saying { known.isGreeted = true }
    }
    if case .logChunk(let chunk) = message, let answer = sources.logs.take(chunk, from: peer) {
      sendReply(answer.reply, to: answer.client, answer.request)
    }
    work.hasInput = true
    scheduler.handle(.worker(peer, message), into: &work.turn)
  }

  /// The conversation with a sender; nil for a new sender if the table is full (G27).
  func worker(of sender: Sender) -> PeerID? {
    if let known = workers.peers.find(sender.connection) { return known }
    return workers.peers.isFull ? nil : addPeer(sender, to: &workers)
  }

  /// Logs workers that report impossible things, and puts them out after some reports.
  func answerLies() {
    for lie in work.turn.lies {
      guard let known = workers.peers[lie.peer], !known.isPutOut else { continue }
      operatorLog.lies += 1
      let count = known.lies + 1
      let isLast = count >= Limits.liesPerWorker
      if isLast || count.nonzeroBitCount == 1 {
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
      }
      _ = admits(.falseReport, .worker, lie.peer)
    }
  }

  // MARK: - Both

  var configuration: ConfigurationValues {
    var values = ConfigurationValues(
      timing: settings.timing, clientEndpoint: clients.endpoint.address,
      workerEndpoint: workers.endpoint.address, stateFolder: settings.stateFolder)
    values.wall = .now
    values.diskFreeBytes = admission.disk.free
    values.diskReserveBytes = settings.diskReserveBytes
    values.storesAreWanted = now < scheduler.storesWantedUntil
    values.historyProblem = sources.historyProblem.map {
      String($0.prefix(CoordinatorLimits.problemLength))
    }
    return values
  }
}
