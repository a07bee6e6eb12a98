// What can be wrong with keys at rest, with the status that a program ends with. Plain values.

import OpClusterFolders

/// Why keys cannot be used; names the path, never a secret.
public struct KeyError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// A file or folder is open to others, not ours, or not what it should be (F59, G39).
    case exposed
    /// There is no key yet.
    case missing
    /// A file is not understood.
    case malformed
    /// What somebody gave us is no token.
    case notUnderstood
    /// The request makes no sense: a name that is taken, an unknown one.
    case refused
    /// The machine refused.
    case machine
  }

  public var kind: Kind
  /// What is wrong, and where.
  public var message: String
  /// What to do about it.
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
  /// What is wrong with the folder, or with a file in it.
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
