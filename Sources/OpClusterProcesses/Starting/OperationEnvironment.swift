// Builds the small clean environment of an operation (G38). The worker's body calls it before a
// start, on any thread; pure.

/// Makes environments without the worker's variables and without dangerous ones of a caller.
public enum OperationEnvironment {
  /// The default folders of executables.
  public static let standardPath = "/usr/local/bin:/usr/bin:/bin"

  /// Maximum variables of one operation.
  public static let variableLimit = 1_024

  /// Maximum bytes of one value: the kernel's limit of one string.
  public static let valueLimit = 128 << 10 - 1

  /// The reason why a variable was refused.
  public enum Refusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name is not `[A-Za-z_][A-Za-z0-9_]*`, or longer than 256 bytes.
    case name(String)
    /// The variable controls the dynamic loader, or is the mark by which the worker finds the tree.
    case reserved(String)
    /// The value has a NUL byte, or too many bytes.
    case value(name: String)
    /// `PATH` has an entry that is not absolute.
    case relativePath(entry: String)
    case tooMany(Int)

    public var description: String {
      switch self {
      case .name(let name):
        "\(quoted(name)) is not a variable name; use letters, digits and _ without a leading digit"
      case .reserved(let name):
        "\(quoted(name)) may not be set for an operation; set it inside the command if you must"
      case .value(let name):
        "the value of \(quoted(name)) holds a NUL byte or exceeds \(valueLimit) bytes; use a file"
      case .relativePath(let entry):
        "PATH may hold absolute folders only, not \(quoted(entry))"
      case .tooMany(let count):
        "\(count) variables are more than the \(variableLimit) an operation may have"
      }
    }
  }

  /// Returns the environment of an operation: `PATH`, `HOME`, `LANG`, `USER` and `TMPDIR`,
  /// overridden and followed by the given variables. Each name appears once; the last value wins
  /// (G38).
  public static func clean(
    given: [(name: String, value: String)],
    home: String,
    user: String,
    language: String = "C.UTF-8",
    temporaryFolder: String
  ) throws(Refusal) -> [(name: String, value: String)] {
    guard given.count <= variableLimit else { throw .tooMany(given.count) }
    var result: [(name: String, value: String)] = [
      ("PATH", standardPath), ("HOME", home), ("LANG", language), ("USER", user),
      ("TMPDIR", temporaryFolder),
    ]
    var places: [String: Int] = [:]
    for (place, variable) in result.enumerated() { places[variable.name] = place }
    for variable in given {
      try check(variable.name, variable.value)
      if let place = places[variable.name] {
        result[place].value = variable.value
      } else {
        places[variable.name] = result.count
        result.append(variable)
      }
    }
    return result
  }

  static func check(_ name: String, _ value: String) throws(Refusal) {
    guard isName(name) else { throw .name(name) }
    if name.hasPrefix("LD_") || name == "GLIBC_TUNABLES" || name == ProcessFence.variable {
      throw .reserved(name)
    }
    guard value.utf8.count <= valueLimit, !value.utf8.contains(0) else { throw .value(name: name) }
    guard name == "PATH" else { return }
    for entry in value.split(separator: ":", omittingEmptySubsequences: false)
    where !entry.hasPrefix("/") {
      throw .relativePath(entry: String(entry))
    }
  }

  /// Whether the text is `[A-Za-z_][A-Za-z0-9_]*` of at most 256 bytes.
  static func isName(_ text: String) -> Bool {
    let letters = text.utf8
    guard let first = letters.first, letters.count <= 256, !isDigit(first) else { return false }
    return letters.allSatisfy { isDigit($0) || isLetter($0) }
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  static func isLetter(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "_")
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
