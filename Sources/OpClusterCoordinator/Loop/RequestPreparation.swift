// The thread that decodes large messages of clients and prepares what they submit, so that the loop
// does for a large graph only what needs its state. One message at a time; the loop holds back what
// its client says behind it (`FairRequestQueue`).

import OpClusterModel
import OpClusterScheduling
import OpClusterSystem
import OpClusterWire
import Synchronization

/// A message that is too large for the loop to decode.
struct LargeMessage: Sendable {
  private var bytes: [UInt8]
  private let byteCount: Int
  let peer: PeerID
  let holder: QuotaHolder
  /// The name of the submitter, if the peer has proved one.
  let submitter: String?
  /// Whether it may submit at all; else nothing is prepared, and admission refuses it.
  let maySubmit: Bool
  /// The room for graphs when it began.
  let memory: MemoryRoom

  init(
    bytes: [UInt8], peer: PeerID, holder: QuotaHolder, submitter: String?, maySubmit: Bool,
    memory: MemoryRoom
  ) {
    (self.bytes, byteCount) = (bytes, bytes.count)
    (self.peer, self.holder, self.submitter) = (peer, holder, submitter)
    (self.maySubmit, self.memory) = (maySubmit, memory)
  }

  /// Costs what the message is large, and leaves its bytes behind: the same in two other forms is
  /// in memory then.
  mutating func prepare() -> PreparedMessage {
    let start = Instant.now
    let content: Result<ClientMessage, WireError>
    var submission: PreparedSubmission?
    var failedRequest: RequestID?
    do throws(WireError) {
      let message = try Wire.decodeClientMessage(bytes)
      bytes = []
      if case .request(_, .submit(let sent)) = message, maySubmit, hasRoom(for: sent) {
        let owned = sent.owned(by: submitter)
        submission = PreparedSubmission(owned, encoded: EncodedSubmission(owned))
      }
      content = .success(message)
    } catch {
      content = .failure(error)
      failedRequest = RequestGlance(bytes)?.id
    }
    return PreparedMessage(
      content: content, failedRequest: failedRequest, submission: submission,
      byteCount: byteCount, peer: peer, holder: holder, time: Instant.now - start)
  }
}

extension LargeMessage {
  /// Whether the plan of a graph may be made: one for which there is no room takes none.
  private func hasRoom(for graph: GraphSubmission) -> Bool {
    let cost = MemoryRoom.cost(
      templates: graph.templates.count, operations: graph.operationCount, bytes: byteCount)
    return memory.lackOfRoom(for: cost) == nil
  }
}

/// A large message as the loop hears it.
struct PreparedMessage: Sendable {
  let content: Result<ClientMessage, WireError>
  /// The number of the request that could not be decoded, if it could be read.
  let failedRequest: RequestID?
  /// What it submits, if it does.
  var submission: PreparedSubmission?
  let byteCount: Int
  let peer: PeerID
  let holder: QuotaHolder
  /// The time that preparing it took.
  let time: Span
}

final class RequestPreparation: Sendable {
  private struct State {
    var message: LargeMessage?
    var prepared: PreparedMessage?
    /// What is to be freed.
    var past: [any Sendable] = []
    var isStopping = false
  }

  /// The state shared by the two threads.
  private final class Shared: Sendable {
    let state = Mutex(State())
    /// Rings for any number of changes.
    let bell: Mailbox<Void>
    init() throws(SystemError) { bell = try Mailbox(capacity: 1) }
  }

  /// What may wait to be freed; what is beyond that the loop frees itself.
  private static let mostPast = 16

  private let shared: Shared
  private let thread: ThreadHandle

  /// - Parameter ring: Called on the thread when a message is prepared.
  init(ring: @escaping @Sendable () -> Void) throws(SystemError) {
    let shared = try Shared()
    self.shared = shared
    thread = try startThread(name: "requests") { RequestPreparation.run(shared, ring) }
  }

  /// Begins with a message. Expects that none is being prepared.
  func begin(_ message: LargeMessage) {
    shared.state.withLock { $0.message = message }
    _ = shared.bell.post(())
  }

  /// Moves the prepared message out: nobody else holds its plan, which then changes in place.
  func take() -> PreparedMessage? { shared.state.withLock { $0.prepared.take() } }

  /// Frees on the thread what would keep the loop from others. Moved out, since the last one to
  /// have it frees it.
  func free(_ past: inout (some Sendable)?) {
    shared.state.withLock { state in
      if state.past.count < Self.mostPast, let past = past.take() { state.past.append(past) }
    }
    _ = shared.bell.post(())
  }

  /// Ends the thread, behind the message that it has.
  func stop() {
    shared.state.withLock { $0.isStopping = true }
    _ = shared.bell.post(())
    thread.join()
  }

  private static func run(_ shared: Shared, _ ring: () -> Void) {
    var poller = Poller()
    _ = poller.add(descriptor: shared.bell.descriptor)
    var rung: [Void] = []
    while true {
      // Polling one descriptor fails only because of a bug; the thread continues.
      _ = try? poller.wait(until: nil)
      shared.bell.takeAll(into: &rung)
      if shared.state.withLock({ $0.isStopping }) { return }
      var message = shared.state.withLock { $0.message.take() }
      if let prepared = message?.prepare() {
        shared.state.withLock { $0.prepared = prepared }
        ring()
      }
      // Freed here, outside the lock.
      var past: [any Sendable] = []
      shared.state.withLock { swap(&past, &$0.past) }
    }
  }
}
