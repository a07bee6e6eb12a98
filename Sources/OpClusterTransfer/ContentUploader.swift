// Leaves files with one store: a thread with one socket, for as long as it takes.

package import OpClusterModel
package import OpClusterStore
package import OpClusterSystem
package import OpClusterZeroMQ

/// Why a file was not left.
package enum UploadFailure: Hashable, Sendable, CustomStringConvertible {
  /// The store cannot be reached, or does not answer.
  case unreachable
  case notGranted
  case full
  /// The bytes were not those that were announced.
  case changed
  case busy
  /// The store cannot write it.
  case failed
  /// It cannot be read here.
  case unreadable(String)

  package var description: String {
    switch self {
    case .unreachable: "the store cannot be reached"
    case .notGranted: "the store was not told that it may be left there"
    case .full: "the store has no room for it"
    case .changed: "it has changed since its digest was made"
    case .busy: "somebody else is leaving the same"
    case .failed: "the store cannot write it"
    case .unreadable(let reason): reason
    }
  }

  /// Whether another store may take it.
  package var mayGoElsewhere: Bool {
    switch self {
    case .unreachable, .full, .failed: true
    case .notGranted, .busy, .changed, .unreadable: false
    }
  }

  /// Whether the same store may take it later: somebody else is leaving it, or too much time has
  /// passed since the coordinator was asked.
  package var mayComeLater: Bool { self == .notGranted || self == .busy }
}

/// Files on their way to one store.
package final class ContentUploader: Sendable {
  private let orders: Mailbox<UploadOrder>

  /// Begins to leave files.
  ///
  /// - Parameters:
  ///   - keys: Our own key; nil where there is no TCP.
  ///   - patience: A store from which nothing comes for so long is given up.
  ///   - allowance: What it sends at most, together with whoever has it as well.
  ///   - sent: Called on its thread with bytes that have been sent, or need not be; negative: they
  ///     will be sent again.
  ///   - ended: Called once, on its thread, with those that were not left.
  /// - Throws: If there is no room for a thread.
  package init(
    _ files: [LocalFile], to store: ContentSource, keys: KeyPair?,
    patience: OpClusterModel.Span = .seconds(20), allowance: SharedSendAllowance = .init(),
    sent: @escaping @Sendable (Int64) -> Void,
    ended: @escaping @Sendable ([LocalFile: UploadFailure]) -> Void
  ) throws(SystemError) {
    let orders = try Mailbox<UploadOrder>(capacity: 4)
    self.orders = orders
    _ = try startThread(name: "uploader", takesSignals: false) {
      ended(
        UploaderLoop(
          files, store, keys, orders, patience, allowance, sent
        ).run())
    }
  }

  /// Ends it; what has not been left is told as `unreachable`.
  package func stop() { _ = orders.post(.stop) }
}

enum UploadOrder: Sendable { case stop }
