// Where errors go that nobody takes.

import Glibc

enum StandardError {
  static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      // Nothing can be done if nobody listens.
      _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}
