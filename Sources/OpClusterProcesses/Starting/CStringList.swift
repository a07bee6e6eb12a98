// Passes lists of strings to C in one block of memory. Used by `ProcessHost.start`.

/// A null-terminated list of null-terminated strings.
struct CStringList {
  private var bytes: [UInt8] = []
  private var offsets: [Int] = []

  /// Appends a string; false if it contains a NUL byte, which would end it early.
  mutating func append(_ text: String) -> Bool {
    offsets.append(bytes.count)
    return appendPart(text, end: 0)
  }

  /// Appends `name=value`.
  mutating func append(name: String, value: String) -> Bool {
    offsets.append(bytes.count)
    return appendPart(name, end: UInt8(ascii: "=")) && appendPart(value, end: 0)
  }

  private mutating func appendPart(_ text: String, end: UInt8) -> Bool {
    let start = bytes.count
    bytes.append(contentsOf: text.utf8)
    guard !bytes[start...].contains(0) else { return false }
    bytes.append(end)
    return true
  }

  /// Passes the list to C code that only reads it, for the duration of the call.
  mutating func withConstantPointers<Result>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let count = offsets.count + 1
    return unsafe withPointers { pointers in
      unsafe UnsafeRawPointer(pointers).withMemoryRebound(
        to: UnsafePointer<CChar>?.self, capacity: count
      ) { list in unsafe body(list) }
    }
  }

  /// Passes the list as `argv` or `environ`, for the duration of the call.
  mutating func withPointers<Result>(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeMutableBytes { buffer in
      let first = unsafe buffer.assumingMemoryBound(to: CChar.self).baseAddress!
      var pointers: [UnsafeMutablePointer<CChar>?] = unsafe []
      unsafe pointers.reserveCapacity(offsets.count + 1)
      for offset in offsets { unsafe pointers.append(first + offset) }
      unsafe pointers.append(nil)
      return unsafe pointers.withUnsafeBufferPointer { list in unsafe body(list.baseAddress!) }
    }
  }
}
