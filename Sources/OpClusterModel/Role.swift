// The permissions of keys.

/// The role of a key (G36). The coordinator decides in one place which message needs which role.
public enum Role: String, Hashable, Sendable, CaseIterable {
  /// Runs operations and reports about them, under a name of its own.
  case worker
  /// Submits and steers graphs and queues, and reads everything.
  case submitter
  /// Reads and follows, changes nothing.
  case observer
  /// Has all permissions, and drains workers.
  case admin
}

extension String {
  /// `[A-Za-z0-9._:-]{1,128}` (G38).
  public var isValidName: Bool {
    !isEmpty && utf8.count <= Limits.nameBytes
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: ":"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// Whether it can name a graph, an operation or a label: 1 to 128 bytes, none of which ends a
  /// path, moves a cursor or turns the writing direction.
  public var isPlainName: Bool {
    !isEmpty && utf8.count <= Limits.nameBytes && isPlainText
      && !utf8.contains(UInt8(ascii: "/"))
  }

  /// Whether it has no control characters, and none that show other text than is there.
  public var isPlainText: Bool {
    // Most names and values are ASCII, which needs no look at the tables of Unicode.
    if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return true }
    return unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
      default: true
      }
    }
  }

  /// Whether a worker key of this name may serve under `name`: the same name, or one that continues
  /// it behind `.`, `:` or `-`, so that several workers share a key.
  public func covers(workerName name: String) -> Bool {
    guard name.hasPrefix(self) else { return false }
    guard let next = name.utf8.dropFirst(utf8.count).first else { return true }
    return ".:-".utf8.contains(next)
  }

  /// Returns the key that owns this worker name: the longest of those that cover it. Checks the
  /// prefixes of this name, not all keys.
  public func owningKey(among names: Set<String>) -> String? {
    if names.contains(self) { return self }
    var rest = self[...]
    while let end = rest.lastIndex(where: { ".:-".contains($0) }) {
      rest = rest[..<end]
      if names.contains(String(rest)) { return String(rest) }
    }
    return nil
  }
}
