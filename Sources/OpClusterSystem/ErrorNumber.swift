// What a system call answered that failed. A plain value.

import Glibc

/// An `errno`.
package struct ErrorNumber: Error, Hashable, Sendable {
  package let code: Int32

  package init(_ code: Int32) { self.code = code }

  /// That of the last call of this thread that failed.
  package static var last: ErrorNumber { ErrorNumber(errno) }

  /// What the C library says of it.
  package var text: String { unsafe String(cString: strerror(code)) }

  /// The file does not exist.
  package var isAbsence: Bool { code == ENOENT || code == ENOTDIR }
  /// The file exceeds the limit.
  package var isTooLarge: Bool { code == EFBIG }
}
