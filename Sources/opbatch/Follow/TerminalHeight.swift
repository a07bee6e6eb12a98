// The number of lines of a terminal; asked for every frame, since the terminal may be resized.

import Glibc

extension Descriptor {
  /// Lines of the terminal; nil without a terminal, or if it does not say. Only stdout is asked:
  /// the table is drawn there.
  var lines: Int? {
    var size = winsize()
    guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
    return Int(size.ws_row)
  }
}
