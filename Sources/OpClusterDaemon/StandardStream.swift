// How a daemon speaks to whoever started it. Any thread.

import OpClusterModel
import OpClusterSystem

public enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// One line in one write, so that lines of several threads do not mix; what others wrote in it
  /// cannot steer a terminal, nor pretend to be another line (G38).
  public func write(_ line: String) {
    FileDescriptor(rawValue).writeOnce(Array((line.withoutTerminalOrders() + "\n").utf8))
  }
}
