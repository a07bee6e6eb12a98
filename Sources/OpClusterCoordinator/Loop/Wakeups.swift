// The events besides the two sockets that end the loop's sleep: notices of other threads, signals,
// the end of the parent program. On the loop's thread.

import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

struct Wakeups: ~Copyable {
  /// The mailbox for other threads.
  let notices: Mailbox<Notice>
  var poller = SocketPoller()
  private let signals: StopSignals?
  private let lifeline: (descriptor: Int32, item: SocketPoller.Item)?
  private var batch: [Notice] = []

  /// - Parameters:
  ///   - signals: Orders to stop; nil if another part of the process handles them.
  ///   - lifeline: A descriptor; the loop ends when its other end is closed.
  init(_ notices: Mailbox<Notice>, signals: StopSignals?, lifeline: Int32?) {
    self.notices = notices
    self.signals = signals
    _ = poller.add(descriptor: notices.descriptor)
    if let signals { _ = poller.add(descriptor: signals.descriptor) }
    if let lifeline {
      self.lifeline = (lifeline, poller.add(descriptor: lifeline))
    } else {
      self.lifeline = nil
    }
  }

  /// Adds a descriptor to wait for.
  mutating func add(_ descriptor: Int32) { _ = poller.add(descriptor: descriptor) }

  func nextSignal() -> DeliveredSignal? { signals?.next() }

  /// Whether the parent program had ended at the last sleep.
  var hasLostLifeline: Bool {
    guard let lifeline, !poller.readiness(of: lifeline.item).isEmpty else { return false }
    return FileDescriptor(lifeline.descriptor).hasEnded
  }

  /// All notices since the last call.
  mutating func takeNotices() -> [Notice] {
    notices.takeAll(into: &batch)
    return batch
  }
}
