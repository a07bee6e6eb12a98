// Hands lists of strings to C in one block of memory. Used by `ProcessHost.start`.

/// A null-terminated list of null-terminated strings.
struct CStringList {
  private var bytes: [CChar] = []
  private var offsets: [Int] = []

  /// Nil if a string holds a NUL byte, which would end it early.
  mutating func append(_ parts: String...) -> Bool {
    offsets.append(bytes.count)
    for part in parts {
      guard !part.utf8.contains(0) else { return false }
      bytes.append(contentsOf: part.utf8.lazy.map(CChar.init(bitPattern:)))
    }
    bytes.append(0)
    return true
  }

  /// The list as `argv` or `environ`, for the duration of the call.
  mutating func withPointers<Result>(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var pointers: [UnsafeMutablePointer<CChar>?] = unsafe []
      unsafe pointers.reserveCapacity(offsets.count + 1)
      for offset in offsets { unsafe pointers.append(buffer.baseAddress! + offset) }
      unsafe pointers.append(nil)
      return unsafe pointers.withUnsafeBufferPointer { list in unsafe body(list.baseAddress!) }
    }
  }
}
