// The parts of a relay's loop: what wakes it, and the way to its end. `RelayLoop` changes them.

import OpClusterModel
import OpClusterSystem
import OpClusterZeroMQ

/// Everything that wakes the loop.
struct RelayWakeups: ~Copyable {
  var poller = SocketPoller()
  var coordinator: SocketPoller.Item?
  var signal: SocketPoller.Item?
  var lifeline: SocketPoller.Item?
  let signals: SignalDescriptor

  init(signals: consuming SignalDescriptor) { self.signals = signals }
}

/// The way of the relay to its end.
struct RelayEnding {
  /// Orders to stop so far.
  var stops = 0
  /// Whether the program that started the relay is still there.
  var hasLifeline: Bool
  /// The end of a drain that a signal began; nil: there is none.
  var drainEnd: Instant?
  /// The moment when the goodbye has certainly left.
  var leaveAt: Instant?
}
