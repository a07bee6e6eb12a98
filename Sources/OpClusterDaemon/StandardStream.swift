// How a daemon speaks to whoever started it: the only file of this target with words of C. Any
// thread.

import Glibc
import OpClusterModel

public enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// One line in one write, so that lines of several threads do not mix; what others wrote in it
  /// cannot steer a terminal, nor pretend to be another line (G38).
  public func write(_ line: String) {
    let bytes = Array((line.withoutTerminalOrders() + "\n").utf8)
    _ = unsafe bytes.withUnsafeBytes { bytes in
      unsafe Glibc.write(rawValue, bytes.baseAddress, bytes.count)
    }
  }
}
