// How many lines a terminal has; asked for every frame, since it may be resized.

import Glibc

extension Descriptor {
  /// Lines of the terminal; nil where there is none or it does not say.
  var lines: Int? {
    var size = winsize()
    guard unsafe ioctl(number, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
    return Int(size.ws_row)
  }
}
