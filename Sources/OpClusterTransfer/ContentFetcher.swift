// Brings contents from other stores into the own one: one thread with a socket for each holder.

package import Logging
package import OpClusterModel
package import OpClusterStore
package import OpClusterSystem
package import OpClusterZeroMQ

/// The fetcher of one store. Any thread may tell it what is wanted; it ends with `end`.
package final class ContentFetcher: Sendable {
  private let orders: Mailbox<FetcherOrder>
  private let thread: ThreadHandle

  /// The end of a fetch: nil where the content is in the store now, and has to stay there.
  package typealias Ended = @Sendable (StoredContent, FetchFailure?) -> Void

  /// - Parameters:
  ///   - keys: Our own key, by which holders over TCP know us; nil: there is no TCP.
  ///   - patience: A holder that sends nothing for so long is given up, and so is a search.
  ///   - hearsOfHolders: Whether the coordinator tells us of further holders of what we want.
  ///   - ended: Called on the fetcher's thread, once for each content that was wanted and not
  ///     dropped.
  /// - Throws: `EMFILE`, `EAGAIN` if the machine has no room for a thread.
  package init(
    into store: ContentStore, keys: KeyPair?, patience: OpClusterModel.Span = .seconds(10),
    hearsOfHolders: Bool = false, logger: Logger, unheardBytes: Int = Limits.unheardBytes,
    ended: @escaping Ended
  ) throws(SystemError) {
    let orders = try Mailbox<FetcherOrder>(capacity: Self.waitingOrders)
    self.orders = orders
    thread = try startThread(name: "fetcher", takesSignals: false) {
      FetcherLoop(
        store, keys, orders, logger, patience: patience, hearsOfHolders: hearsOfHolders,
        unheardBytes: UInt64(unheardBytes), ended
      ).run()
    }
  }

  deinit { _ = orders.post(.stop) }

  /// Wants a content from these holders, the best first. At once if the store has it. False: it has
  /// not kept up, and was not told.
  package func fetch(_ content: StoredContent, from sources: [ContentSource]) -> Bool {
    orders.post(.fetch(content, sources)) == .posted
  }

  /// Wants it no more.
  package func drop(_ digest: ContentDigest) { _ = orders.post(.drop(digest)) }

  /// Ends all fetches, without a word, and returns when the thread has ended.
  package func end() {
    _ = orders.post(.stop)
    if !thread.isCurrent { thread.join() }
  }

  private static let waitingOrders = 1 << 20
}

enum FetcherOrder: Sendable {
  case fetch(StoredContent, [ContentSource])
  case drop(ContentDigest)
  case stop
}
