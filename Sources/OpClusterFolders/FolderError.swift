// What is wrong with a folder or a file that only its user may reach. Plain values.

/// Why a path is not used, with what to do about it.
public struct FolderError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// Others could read it, change it or put something else in its place; or it is no folder, no
    /// file, or a link.
    case exposed
    /// A file has more bytes than it may.
    case tooLong
    /// The system refused; carries its `errno`.
    case machine(code: Int32)
  }

  public var kind: Kind
  /// What is wrong, and with which path.
  public var message: String
  /// What to do about it.
  public var hint: String

  public init(_ kind: Kind, _ message: String, hint: String) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
  public var isExposed: Bool { kind == .exposed }
}
