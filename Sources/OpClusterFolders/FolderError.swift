// Errors of folders and files that must be private to a user. Plain values.

/// The reason why a path is not used, with a remedy.
public struct FolderError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// Others could read, change or replace it; or it is not a folder, not a file, or a link.
    case exposed
    /// The file exceeds its limit of bytes.
    case tooLong
    /// The system refused; contains its `errno`.
    case machine(code: Int32)
  }

  public var kind: Kind
  /// The problem, and the path.
  public var message: String
  /// The remedy.
  public var hint: String

  public init(_ kind: Kind, _ message: String, hint: String) {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
  public var isExposed: Bool { kind == .exposed }
}
