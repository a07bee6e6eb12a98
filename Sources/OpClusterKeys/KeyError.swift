// Errors of stored keys, with the exit status of a program. Plain values.

import OpClusterFolders

/// The reason why keys cannot be used; names the path, never a secret.
public struct KeyError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// A file or folder is open to others, not ours, or of the wrong kind (F59, G39).
    case exposed
    /// There is no key yet.
    case missing
    /// A file is malformed.
    case malformed
    /// The given text is no token.
    case notUnderstood
    /// The request is invalid: a name that is taken, or an unknown one.
    case refused
    /// The operating system refused.
    case machine
  }

  public var kind: Kind
  /// The problem, and its place.
  public var message: String
  /// The remedy.
  public var hint: String

  public init(_ kind: Kind, _ message: String, hint: String = "") {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }

  /// The status of the process (Operating.md, exit codes).
  public var status: Int32 {
    switch kind {
    case .exposed, .missing, .malformed: 78
    case .notUnderstood: 64
    case .refused: 5
    case .machine: 74
    }
  }
}

extension KeyError {
  /// Converts a problem of the folder, or of a file in it.
  init(_ error: FolderError) {
    let kind: Kind =
      switch error.kind {
      case .exposed: .exposed
      case .tooLong: .malformed
      case .machine: .machine
      }
    self.init(kind, error.message, hint: error.hint)
  }
}
