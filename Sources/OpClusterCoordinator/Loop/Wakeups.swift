// What ends the loop's sleep beside its two sockets: other threads' notices, signals, the end of
// the program that started this one. On the loop's thread.

import OpClusterModel
import OpClusterZeroMQ

struct Wakeups: ~Copyable {
  /// Other threads post here.
  let notices: Mailbox<Notice>
  var poller = Poller()
  private let signals: StopSignals?
  private let lifeline: (descriptor: Int32, item: Poller.Item)?
  private var batch: [Notice] = []

  /// - Parameters:
  ///   - signals: Orders to stop; nil: they are somebody else's.
  ///   - lifeline: The loop ends when the other end of this descriptor is closed.
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

  /// Something else to wait for.
  mutating func add(_ descriptor: Int32) { _ = poller.add(descriptor: descriptor) }

  func nextSignal() -> DeliveredSignal? { signals?.next() }

  /// As of the last sleep: the program that started this one has ended.
  var hasLostLifeline: Bool {
    guard let lifeline, !poller.readiness(of: lifeline.item).isEmpty else { return false }
    return Kernel.hasEnded(lifeline.descriptor)
  }

  /// Everything that was posted since the last call.
  mutating func takeNotices() -> [Notice] {
    notices.takeAll(into: &batch)
    return batch
  }
}
