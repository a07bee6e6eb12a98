// Lets others read from a store, and leave contents there: one thread with one socket. It knows who
// may do what, because the coordinator has told; whoever else asks is refused.

package import Logging
package import OpClusterModel
package import OpClusterStore
package import OpClusterSystem
import OpClusterWire
package import OpClusterZeroMQ
import Synchronization

/// The server of one store. Any thread may tell it of grants; it ends with `end`.
package final class ContentServer: Sendable {
  /// The address at which it listens, with the port that was found.
  package let endpoint: Endpoint
  private let orders: Mailbox<ServerOrder>
  private let thread: ThreadHandle
  private static let lastDomain = Atomic<UInt64>(0)

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - keys: Our own key, by which readers over TCP know us; nil: there is no TCP.
  ///   - allowance: What it sends at most, together with whoever has it as well.
  ///   - unheardBytes: What a connection may have sent that was not heard.
  ///   - left: Called on the server's thread for each content that somebody has left in the store;
  ///     it has to stay there.
  /// - Throws: What binding answered.
  package init(
    _ store: ContentStore, at endpoint: Endpoint, keys: KeyPair?, logger: Logger,
    allowance: SharedSendAllowance = .init(), unheardBytes: Int = Limits.unheardBytes,
    left: @escaping @Sendable (StoredContent) -> Void = { _ in }
  ) throws(SystemError) {
    let orders = try Mailbox<ServerOrder>(capacity: Self.waitingOrders)
    let opening = try Opening<Endpoint>()
    // Each server asks its own gate, also where several are in one process.
    let number = Self.lastDomain.wrappingAdd(1, ordering: .relaxed).newValue
    let domain = "contents-\(number)"
    thread = try startThread(name: "contents", takesSignals: false) {
      do throws(SystemError) {
        let loop = try ServerLoop(
          store, at: endpoint, keys, domain: domain, orders, logger, allowance,
          unheardBytes: UInt64(unheardBytes), left)
        opening.succeed(loop.endpoint)
        loop.run()
      } catch {
        opening.fail(error)
      }
    }
    self.endpoint = try opening.wait()
    self.orders = orders
  }

  deinit { _ = orders.post(.stop) }

  /// Tells who may read what. False: it has not kept up; tell it again.
  package func grant(_ grants: [ContentGrant]) -> Bool { orders.post(.grant(grants)) == .posted }

  /// Ends what a reader may read, and its transfers.
  package func revoke(_ reader: ContentReader) -> Bool { orders.post(.revoke(reader)) == .posted }

  /// Stops to listen, and returns when the thread has ended.
  package func end() {
    _ = orders.post(.stop)
    if !thread.isCurrent { thread.join() }
  }

  private static let waitingOrders = 65_536
}

enum ServerOrder: Sendable {
  case grant([ContentGrant])
  case revoke(ContentReader)
  case stop
}

/// Hands the result of a thread's beginning to the thread that started it.
final class Opening<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, SystemError>?>(nil)
  private let wakeUp: WakeUp

  init() throws(SystemError) { wakeUp = try WakeUp() }

  func succeed(_ value: Value) { set(.success(value)) }
  func fail(_ error: SystemError) { set(.failure(error)) }

  private func set(_ value: Result<Value, SystemError>) {
    result.withLock { $0 = value }
    wakeUp.signal()
  }

  func wait() throws(SystemError) -> Value {
    while true {
      if let result = result.withLock({ $0 }) { return try result.get() }
      wakeUp.wait()
    }
  }
}
