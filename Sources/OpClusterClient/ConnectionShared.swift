// The state that a connection's owner and its thread share; neither holds the other.

import OpClusterModel
import OpClusterSystem
import Synchronization

/// The orders of the owner to the thread.
enum ConnectionOrder: Sendable {
  case request(PendingRequest)
  /// The caller no longer waits for this request.
  case abandon(RequestID)
  case subscribe(EventSubscription, any EventSink)
  /// A feed was read or released.
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
  /// Orders for the thread, several per request; it takes them all at once.
  let mailbox: Mailbox<ConnectionOrder>
  let welcome = Mutex(WelcomeValues())
  /// Filled when the first welcome has come, or will not come.
  let opened = ReplySlot<Void>()
  /// Filled when the thread has ended.
  let ended = ReplySlot<Void>()
  private let finalError = Mutex<ClientError?>(nil)
  /// A struct, since a bare function in a lock is wrapped again at each access, until calling it
  /// overflows the stack.
  struct BusyHandler {
    var call: (@Sendable (Refusal, Span) -> Void)?
    var diskWaits: (@Sendable (Span) -> Void)?
  }
  let whenBusy = Mutex(BusyHandler())

  init(address: String) throws(SystemError) {
    self.address = address
    mailbox = try Mailbox(capacity: 4 * ClusterConnection.maximumRequests)
  }

  /// Tells the handler that a request has to wait.
  func tell(_ postponement: PendingRequests.Postponement) {
    whenBusy.withLock { $0.call }?(postponement.refusal, postponement.pause)
  }

  /// Tells the handler that the coordinator waits for its disk.
  func tell(diskWait: Span) { whenBusy.withLock { $0.diskWaits }?(diskWait) }

  /// Posts an order; returns whether the thread will see it.
  func post(_ order: ConnectionOrder) -> Bool {
    finalError.withLock { error in error == nil && mailbox.post(order) == .posted }
  }

  /// Makes `post` fail from now on. The thread takes the orders posted before, then ends.
  func end(with error: ClientError) { finalError.withLock { $0 = $0 ?? error } }

  /// The reason why `post` failed.
  var endError: ClientError {
    finalError.withLock { $0 } ?? .busy("\(mailbox.capacity) orders")
  }
}

extension Instant {
  static var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }
}
