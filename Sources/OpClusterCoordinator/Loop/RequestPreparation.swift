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
  let bytes: [UInt8]
  let peer: PeerID
  let holder: QuotaHolder
  /// The name of the submitter, if the peer has proved one.
  let submitter: String?

  /// Costs what the message is large.
  func prepare() -> PreparedMessage {
    let content: Result<ClientMessage, WireError>
    var submission: PreparedSubmission?
    do throws(WireError) {
      let message = try Wire.decodeClientMessage(bytes)
      if case .request(_, .submit(let sent)) = message {
        let owned = sent.owned(by: submitter)
        submission = PreparedSubmission(owned, encoded: EncodedSubmission(owned))
      }
      content = .success(message)
    } catch {
      content = .failure(error)
    }
    return PreparedMessage(
      content: content, submission: submission, byteCount: bytes.count, peer: peer, holder: holder)
  }
}

/// A large message as the loop hears it.
struct PreparedMessage: Sendable {
  let content: Result<ClientMessage, WireError>
  /// What it submits, if it does.
  var submission: PreparedSubmission?
  let byteCount: Int
  let peer: PeerID
  let holder: QuotaHolder
}

final class RequestPreparation: Sendable {
  private enum Job: Sendable {
    case prepare(LargeMessage)
    case stop
  }

  /// The state shared by the two threads.
  private final class Shared: Sendable {
    /// One message, and the order to stop.
    let jobs: Mailbox<Job>
    let prepared = Mutex<PreparedMessage?>(nil)
    init() throws(SystemError) { jobs = try Mailbox(capacity: 2) }
  }

  private let shared: Shared
  private let thread: ThreadHandle

  /// - Parameter ring: Called on the thread when a message is prepared.
  init(ring: @escaping @Sendable () -> Void) throws(SystemError) {
    let shared = try Shared()
    self.shared = shared
    thread = try startThread(name: "requests") { RequestPreparation.run(shared, ring) }
  }

  /// Begins with a message. Expects that none is being prepared.
  func begin(_ message: LargeMessage) { _ = shared.jobs.post(.prepare(message)) }

  /// Moves the prepared message out: nobody else holds its plan, which then changes in place.
  func take() -> PreparedMessage? {
    shared.prepared.withLock { $0.take() }
  }

  /// Ends the thread, behind the message that it has.
  func stop() {
    _ = shared.jobs.post(.stop)
    thread.join()
  }

  private static func run(_ shared: Shared, _ ring: () -> Void) {
    var poller = Poller()
    _ = poller.add(descriptor: shared.jobs.descriptor)
    var batch: [Job] = []
    while true {
      // Polling one descriptor fails only because of a bug; the thread continues.
      _ = try? poller.wait(until: nil)
      shared.jobs.takeAll(into: &batch)
      for job in batch {
        switch job {
        case .prepare(let message):
          shared.prepared.withLock { $0 = message.prepare() }
          ring()
        case .stop: return
        }
      }
      // Frees the messages: the next one may come much later.
      batch.removeAll(keepingCapacity: true)
    }
  }
}
