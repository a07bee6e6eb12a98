// The terminal: its number of lines, asked for every frame since it may be resized; and its keys.

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

/// A terminal whose keys are read as they are pressed, and that shows a screen of its own.
struct TerminalKeys {
  private let before: termios

  /// nil: standard input is no terminal.
  init?() {
    var settings = termios()
    guard unsafe tcgetattr(0, &settings) == 0 else { return nil }
    before = settings
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // Ctrl-Z and Ctrl-\ would leave the other screen in view of the shell: no character suspends
    // (VSUSP) or quits (VQUIT).
    settings.c_cc.10 = 0
    settings.c_cc.1 = 0
    guard unsafe tcsetattr(0, TCSADRAIN, &settings) == 0 else { return nil }
  }

  /// As it was.
  func restore() {
    var settings = before
    _ = unsafe tcsetattr(0, TCSADRAIN, &settings)
  }

  /// The bytes that were typed; empty: there are none within that time. nil: the terminal has gone.
  static func next(milliseconds: Int32) -> [UInt8]? {
    guard Descriptor.input.waitUntilReadable(milliseconds: milliseconds) else { return [] }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = unsafe read(0, &bytes, bytes.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return [] }
    return count > 0 ? Array(bytes[..<count]) : nil
  }
}
