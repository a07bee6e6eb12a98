// What a connection's owner and its thread both hold; neither holds the other.

import OpClusterModel
import OpClusterZeroMQ
import Synchronization

/// What the owner asks of the thread.
enum ConnectionOrder: Sendable {
  case request(PendingRequest)
  /// Nobody waits for this request any more.
  case abandon(RequestID)
  case subscribe(EventSubscription, any EventSink)
  /// A feed was read or let go of.
  case look
  case close
}

struct WelcomeValues: Sendable {
  var version: UInt32 = 0
  var build = ""
  var epoch = Epoch(0)
}

final class ConnectionShared: Sendable {
  let address: String
  /// Several orders for each request; the thread takes them all at once.
  let mailbox: Mailbox<ConnectionOrder>
  let welcome = Mutex(WelcomeValues())
  /// Filled when the first welcome came, or will not come.
  let opened = ReplySlot<Void>()
  /// Filled when the thread is done.
  let ended = ReplySlot<Void>()
  private let finalError = Mutex<ClientError?>(nil)
  /// In a value of its own: a bare function in a lock is wrapped anew at each look, until calling
  /// it overflows the stack.
  struct BusyHandler {
    var call: (@Sendable (Refusal, Span) -> Void)?
    var diskWaits: (@Sendable (Span) -> Void)?
  }
  let whenBusy = Mutex(BusyHandler())

  init(address: String) throws(SocketError) {
    self.address = address
    mailbox = try Mailbox(capacity: 4 * ClusterConnection.maximumRequests)
  }

  /// Tells whoever wants to know that a request has to wait.
  func tell(_ postponement: PendingRequests.Postponement) {
    whenBusy.withLock { $0.call }?(postponement.refusal, postponement.pause)
  }

  /// Tells whoever wants to know that the coordinator waits for its disk.
  func tell(diskWait: Span) { whenBusy.withLock { $0.diskWaits }?(diskWait) }

  /// Whether the thread will see it.
  func post(_ order: ConnectionOrder) -> Bool {
    finalError.withLock { error in error == nil && mailbox.post(order) == .posted }
  }

  /// From now on `post` fails: the thread takes what was posted before and ends.
  func end(with error: ClientError) { finalError.withLock { $0 = $0 ?? error } }

  /// Why `post` failed.
  var endError: ClientError {
    finalError.withLock { $0 } ?? .busy("\(mailbox.capacity) orders")
  }
}

extension Instant {
  static var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }
}
