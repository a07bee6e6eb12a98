// The only door into a loop's thread: any thread posts, the loop's thread takes everything. The
// loop's poller watches `descriptor`.

import Synchronization

/// Carries messages from any thread to the one that polls `descriptor`; one wake-up per burst.
public final class Mailbox<Message: Sendable>: Sendable {
  /// What became of a posted message.
  public enum PostResult: Hashable, Sendable {
    case posted
    /// `capacity` messages are waiting; this one was not taken.
    case full
  }

  private let messages = Mutex<[Message]>([])
  private let wakeUp: WakeUp
  /// Readable while messages may be waiting.
  public var descriptor: Int32 { wakeUp.descriptor }
  /// The most messages that may wait.
  public let capacity: Int

  /// - Throws: `EMFILE` when the process has no descriptor left.
  public init(capacity: Int) throws(SystemError) {
    precondition(capacity > 0, "a mailbox needs room for a message")
    wakeUp = try WakeUp()
    self.capacity = capacity
  }

  /// Leaves a message for the polling thread and wakes it if it has not been woken already.
  public func post(_ message: Message) -> PostResult {
    let (result, isFirst) = messages.withLock { waiting -> (PostResult, Bool) in
      guard waiting.count < capacity else { return (.full, false) }
      waiting.append(message)
      return (.posted, waiting.count == 1)
    }
    if isFirst { wakeUp.signal() }
    return result
  }

  /// Replaces the content of `batch` by everything that waits, oldest first; on the polling thread.
  /// Keeps the storage of `batch` for the next burst.
  public func takeAll(into batch: inout [Message]) {
    batch.removeAll(keepingCapacity: true)
    // Silence before taking: a message that comes after the taking rings again.
    wakeUp.take()
    messages.withLock { waiting in swap(&waiting, &batch) }
  }
}
